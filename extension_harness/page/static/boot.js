// The page's boot: what appears when, by the time line; banner and zombie state.
"use strict";
(() => {
  const simulator = window.__simulator__;
  const { timeline } = simulator;
  const banner = document.querySelector(".connection-status-container");
  const after = (ms) => new Promise((done) => setTimeout(done, ms));

  function showTrouble() {
    const { banner: kind, zombie } = simulator.switches;
    // The text also stays in a container without height, as a false alarm.
    banner.hidden = kind === "none";
    banner.classList.toggle("collapsed", kind === "false_alarm");
    document.body.classList.toggle("zombie", zombie);
  }

  async function bootSdk() {
    if (!simulator.switches.sdk && !simulator.switches.emitter) return;
    await after(timeline.sdk_ms);
    if (simulator.switches.sdk) simulator.buildSdk();
    await after(Math.max(0, timeline.emitter_ms - timeline.sdk_ms));
    if (simulator.switches.emitter) {
      simulator.buildEmitter();
      simulator.startNoise();
    }
  }

  async function bootList() {
    await after(timeline.full_list_ms);
    await simulator.loadList();
    if (timeline.open_first) simulator.chooseFirst();
  }

  simulator.on("switches", showTrouble);
  showTrouble();
  simulator.openSocket();
  Promise.all([bootSdk(), bootList()])
    .catch((error) => console.error("The simulated page did not boot:", error.message))
    .finally(simulator.markReady);
})();
