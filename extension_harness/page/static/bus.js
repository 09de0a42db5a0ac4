// What goes over the event bus: live messages as the server says them, and noise, at
// least five to one.
"use strict";
(() => {
  const simulator = window.__simulator__;
  let turn = 0;

  function noise(count) {
    for (let index = 0; index < count; index += 1) {
      const [name, payload] = simulator.noise[turn % simulator.noise.length];
      turn += 1;
      simulator.emit(name, payload);
    }
  }

  simulator.on("live", ({ event, emission }) => {
    if (!event || !simulator.switches.emitter) return;
    noise(3);
    const emitted = simulator.emit(event.name, event.payload);
    if (emitted) simulator.report({ type: "emitted", emission });
    noise(3);
  });
  simulator.startNoise = () => {
    if (simulator.timeline.noise_every_ms > 0) {
      setInterval(() => noise(1), simulator.timeline.noise_every_ms);
    }
  };
})();
