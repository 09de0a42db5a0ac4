// The simulator's own line to its server: commands in, reports out. The page's other
// scripts register for the commands that concern them. Nothing here imitates OneTalk.
"use strict";
(() => {
  const simulator = window.__simulator__;
  const handlers = new Map();
  let socket = null;
  let ready = false;
  let pause = 100;

  simulator.on = (type, handle) =>
    handlers.set(type, [...(handlers.get(type) ?? []), handle]);
  simulator.report = (report) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(report));
  };
  simulator.markReady = () => {
    ready = true;
    document.documentElement.dataset.ready = "true";
    simulator.report({ type: "ready" });
  };
  simulator.post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return answer.json();
  };
  simulator.on("switches", ({ switches }) => {
    const old = simulator.switches;
    simulator.switches = switches;
    // Another account is another page; other encrypted ids are another list.
    if (old.account !== switches.account) location.reload();
    else if (old.encrypted_generation !== switches.encrypted_generation)
      simulator.loadList();
  });
  simulator.on("reload", () => location.reload());

  function connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(`${scheme}//${location.host}/__simulator__/channel`);
    socket.onopen = () => {
      pause = 100;
      if (ready) simulator.report({ type: "ready" });
    };
    socket.onmessage = ({ data }) => {
      const command = JSON.parse(data);
      for (const handle of handlers.get(command.type) ?? []) handle(command);
    };
    socket.onclose = () => {
      setTimeout(connect, pause);
      pause = Math.min(pause * 2, 3000);
    };
  }
  // As the page's own socket: with one open the browser may not keep the page.
  window.addEventListener("pagehide", () => socket?.close());
  connect();
})();
