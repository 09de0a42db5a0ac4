// The page's own socket (JSON "LWP" frames): always heartbeats and acknowledgements,
// bodies only where the switch says so.
"use strict";
(() => {
  const simulator = window.__simulator__;
  let socket = null;
  let mid = 0;

  function ask(route, body) {
    mid += 1;
    const frame = { lwp: route, headers: { mid: `${mid} 0` }, body };
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }

  simulator.openSocket = () => {
    if (simulator.switches.lwp === "off") return;
    const local = location.protocol !== "https:";
    socket = new WebSocket(
      local ? `ws://${location.host}/` : "wss://wss-icbu.dingtalk.com/",
    );
    socket.onopen = () => {
      ask("/reg", [{ "app-key": "simulated", dt: "j", wv: "im:3", sync: "0,0;0;0;" }]);
      ask("/r/SyncStatus/getState", [{ topic: "sync" }]);
      ask("/r/Conversation/listNewestPagination", [Date.now(), 100]);
    };
    socket.onclose = () => {
      if (simulator.switches.banner === "none") setTimeout(simulator.openSocket, 1000);
    };
  };
  simulator.threadOpened = (row) => {
    const code = row.cid ?? row.conversationCode;
    ask("/r/MessageManager/listUserMessages", [
      code,
      false,
      9007199254740991,
      20,
      false,
    ]);
  };
  simulator.on("drop-socket", () => socket?.close());
  // A browser may keep no page in its cache that has a socket open; it opens again there.
  window.addEventListener("pagehide", () => socket?.close());
  setInterval(() => ask("/!", []), 15000);
})();
