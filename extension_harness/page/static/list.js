// The conversation list: a virtual list of about twenty rows, as the page has it.
"use strict";
(() => {
  const simulator = window.__simulator__;
  const ROW = 64;
  const EXTRA = 4;
  let rows = [];
  let chosen = null;

  const scroller = document.querySelector(".conversation-scroller");
  const canvas = document.querySelector(".conversation-canvas");
  const search = document.querySelector(".search-input");

  const idOf = (row) => row.cid ?? row.conversationCode;

  function visible() {
    const wanted = search.value.trim().toLowerCase();
    if (simulator.switches.zombie) return [];
    return rows.filter(
      (row) => row.visible && (!wanted || row.name.toLowerCase().includes(wanted)),
    );
  }

  function rowElement(row, index) {
    const item = document.createElement("button");
    item.className = "contact-item-container";
    item.style.top = `${index * ROW}px`;
    item.dataset.cid = idOf(row);
    item.dataset.name = row.name;
    item.dataset.aliId = row.aliId;
    item.classList.toggle("chosen", idOf(row) === chosen);
    const avatar = document.createElement("span");
    avatar.className = "avatar";
    avatar.textContent = row.name.slice(0, 1);
    avatar.style.setProperty("--hue", String((Number(row.accountId) * 47) % 360));
    const info = document.createElement("span");
    info.className = "contact-info";
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = row.name;
    const latest = document.createElement("span");
    latest.className = "latest-msg-oneline latest-msg";
    latest.textContent = row.latestMessage?.content || "\u00a0";
    info.append(name, latest);
    item.append(avatar, info);
    if (row.unreadCount > 0) {
      const badge = document.createElement("span");
      badge.className = "unread-badge";
      badge.textContent = String(row.unreadCount);
      item.append(badge);
    }
    item.addEventListener("click", () => choose(row));
    return item;
  }

  function render() {
    const shown = visible();
    canvas.style.height = `${shown.length * ROW}px`;
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - EXTRA);
    const count = Math.ceil((scroller.clientHeight || 600) / ROW) + 2 * EXTRA;
    canvas.replaceChildren(
      ...shown
        .slice(first, first + count)
        .map((row, at) => rowElement(row, first + at)),
    );
  }

  function choose(row) {
    chosen = idOf(row);
    render();
    simulator.openThread(row);
  }

  // The global is a new array object at every change, never the old one changed.
  function publish() {
    if (simulator.switches.full_list && !simulator.switches.zombie) {
      window.__conversationListFullData__ = [...rows];
      window.__conversationListData__ = Object.fromEntries(
        rows.map((r) => [idOf(r), r]),
      );
    }
    render();
  }

  simulator.loadList = async () => {
    rows = await simulator.post("/__simulator__/list", {});
    publish();
  };
  simulator.on("live", ({ listRow }) => {
    if (!listRow) return;
    rows = [listRow, ...rows.filter((row) => row.aliId !== listRow.aliId)];
    publish();
  });
  simulator.on("list", () => simulator.loadList());
  simulator.on("switches", () => publish());
  simulator.chooseFirst = () => visible()[0] && choose(visible()[0]);
  scroller.addEventListener("scroll", () => requestAnimationFrame(render));
  search.addEventListener("input", render);
  window.addEventListener("resize", render);
})();
