// The open conversation: its messages in the document, older ones on scrolling up, and
// the box to send. It reads history with the page's own calls.
"use strict";
(() => {
  const simulator = window.__simulator__;
  const PAGE = 20;
  const header = document.querySelector(".content-header");
  const list = document.querySelector(".message-list");
  const box = document.querySelector(".send-textarea");
  const button = document.querySelector(".send-tool-button");
  const card = document.querySelector(".alicrm-frame");
  let open = null;

  const idOf = (row) => row.cid ?? row.conversationCode;
  const form = (params) => `params=${encodeURIComponent(JSON.stringify(params))}`;

  function request(row, cursor) {
    const code = idOf(row);
    if (simulator.switches.http_recent) {
      return recent({
        pointTimeStamp: cursor,
        forward: false,
        count: PAGE,
        conversationId: code,
      });
    }
    if (simulator.switches.http_legacy) {
      const timeSlide = { forward: false, timeStamp: cursor, pageSize: PAGE };
      return legacy({ cid: code, conversationCode: code, aliId: row.aliId, timeSlide });
    }
    return Promise.resolve({ rows: [], cursor: null });
  }

  async function recent(params) {
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const answer = await fetch("/message/listRecentMessage.htm", {
      method: "POST",
      headers,
      body: form(params),
    });
    const { data } = await answer.json();
    const rows = data.messageList ?? data.list ?? data.dataList ?? [];
    const next = data.nextPointTimeStamp ?? null;
    return { rows, cursor: data.hasMore && next !== null ? Number(next) : null };
  }

  // The older call goes by XMLHttpRequest, as the older scripts of the page do.
  function legacy(params) {
    return new Promise((resolve, reject) => {
      const call = new XMLHttpRequest();
      call.open("POST", "/message/getChatMessageList.htm");
      call.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
      call.setRequestHeader("X-Requested-With", "XMLHttpRequest");
      call.onerror = () => reject(new Error("getChatMessageList.htm failed"));
      call.onload = () => {
        const { data } = JSON.parse(call.responseText);
        const times = data.list
          .map((row) => Number(row?.sendTime))
          .filter((t) => t > 1e11);
        resolve({ rows: data.list, cursor: data.hasMore ? Math.min(...times) : null });
      };
      call.send(form(params));
    });
  }

  function timeOf(row) {
    const value = row.sendTime;
    const number = Number(value);
    if (Number.isNaN(number)) return Date.parse(value) || 0;
    return number < 1e11 ? number * 1000 : number;
  }

  function bodyOf(row) {
    const text = document.createElement("div");
    text.className = "session-rich-content text";
    if (row.status === 2 || row.messageType === "revoke") {
      text.className = "revert-msg";
      text.textContent = "This message was recalled";
      return text;
    }
    const content = row.content ?? "";
    const kind = Number(row.messageType);
    const plain = typeof content === "string" ? content : (content.text ?? "");
    if (kind === 1 || kind === 9999 || Number.isNaN(kind)) {
      text.classList.add("content-with-translation", "text-content");
      text.textContent = plain.length > 4000 ? `${plain.slice(0, 4000)} …` : plain;
      return text;
    }
    text.className = "session-rich-content card";
    text.textContent = cardLine(kind, plain);
    void drawCard(text, row);
    return text;
  }

  // The texts of a card come after its message, by a call of their own.
  async function drawCard(card, row) {
    const messageId = String(row.messageId ?? "").replace(/\.PNM$/, "");
    if (!/^\d+$/.test(messageId)) return;
    const { title, lines } = await simulator.post("/__simulator__/card", { messageId });
    if (title === undefined) return;
    const parts = [["card-title", title], ...lines.map((line) => ["card-line", line])];
    card.replaceChildren(
      ...parts.map(([name, words]) => {
        const part = document.createElement("div");
        part.className = name;
        part.textContent = words;
        return part;
      }),
    );
  }

  // What the customer card knows comes as a script that calls back.
  let customers = 0;
  function askCustomer(row) {
    customers += 1;
    const callback = `jsonp_${customers}`;
    const script = document.createElement("script");
    window[callback] = () => {
      delete window[callback];
      script.remove();
    };
    const query = new URLSearchParams({
      buyerAccountId: row.contact.accountIdEncrypt,
      secReqToken: row.contact.chatToken,
      callback,
    });
    script.src = `/jsonp/customerPluginQueryServiceI/queryCustomerInfo.json?${query}`;
    document.head.append(script);
  }

  function cardLine(kind, content) {
    const names = {
      53: "File",
      57: "Business card",
      60: "Image",
      61: "File",
      62: "Video",
    };
    let body = {};
    try {
      body = JSON.parse(content);
    } catch {
      body = {};
    }
    const detail = body?.params?.name ?? body?.params?.orderId ?? body?.suffix ?? "";
    return `${names[kind] ?? `Card ${body?.cardType ?? kind}`} ${detail}`.trim();
  }

  function element(row) {
    const own = row.messageSendType === "send" || row.messageType === "send";
    const item = document.createElement("div");
    item.className = `message-item-wrapper ${own ? "item-right" : "item-left"}`;
    if (Number(row.messageType) === 9999) item.classList.add("item-system-notice");
    item.dataset.expinfo = JSON.stringify({
      messageId: row.messageId,
      messageType: row.messageType,
      sendTime: row.sendTime,
      senderId: row.senderAliId,
      showTime: row.showTime,
    });
    item.dataset.at = String(timeOf(row));
    const base = document.createElement("div");
    base.className = "item-base-info";
    const at = new Date(timeOf(row));
    base.textContent = Number.isNaN(at.getTime()) ? "" : at.toLocaleString();
    item.append(bodyOf(row), base);
    return item;
  }

  function place(rows, atTop) {
    const shown = new Set([...list.children].map((child) => child.dataset.expinfo));
    const made = rows
      .filter((row) => row && typeof row === "object")
      .sort((a, b) => timeOf(a) - timeOf(b))
      .map(element)
      .filter((item) => !shown.has(item.dataset.expinfo));
    if (atTop) list.prepend(...made);
    else list.append(...made);
  }

  async function older() {
    const now = open;
    if (!now || now.loading || now.done) return;
    now.loading = true;
    const height = list.scrollHeight;
    try {
      const page = await request(now.row, now.cursor);
      if (open !== now) return;
      if (!now.shown) list.replaceChildren();
      now.shown = true;
      place(page.rows, true);
      now.done = page.cursor === null || page.cursor === now.cursor;
      now.cursor = page.cursor;
      list.scrollTop += list.scrollHeight - height;
    } catch (error) {
      header.dataset.problem = String(error.message);
    } finally {
      now.loading = false;
    }
  }

  simulator.openThread = (row) => {
    // The header changes at once; the rows of the conversation before stay until the
    // first page is there.
    open = { row, cursor: null, loading: false, done: false, shown: false };
    header.textContent = row.name;
    const query = new URLSearchParams({
      contactAccountIdEncrypt: row.contact.accountIdEncrypt,
    });
    card.src = `/message/alicrm.htm?${query}&name=${encodeURIComponent(row.name)}`;
    askCustomer(row);
    window.__activeConversation__ = { cid: idOf(row) };
    simulator.threadOpened?.(row);
    return older();
  };
  simulator.on("live", ({ row, listRow }) => {
    const here = open && listRow && idOf(listRow) === idOf(open.row);
    if (!row || !here || simulator.switches.zombie) return;
    place([row], false);
    list.scrollTop = list.scrollHeight;
  });
  async function sendNow() {
    const content = box.value;
    if (!open || !content.trim()) return;
    box.value = "";
    await simulator.send({ cid: idOf(open.row), content });
  }
  list.addEventListener("scroll", () => list.scrollTop < 40 && older());
  button.addEventListener("click", sendNow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      sendNow();
    }
  });
})();
