// The content observer: takes what the bridge saw and hands it to the service worker, again
// and again until the worker says that it is stored; carries the worker's questions to the
// bridge. One file, imports nothing. It keeps nothing but a bounded queue: what is lost with
// the page is found by the next scan of the history.

(() => {
  "use strict";

  const FROM_PAGE = "bright:from-page";
  const TO_PAGE = "bright:to-page";
  const MAX_QUEUED = 2_000;
  const MAX_QUEUED_CHARACTERS = 32_000_000;
  const MAX_LOST = 1_000;
  const MAX_TOLD = 200;
  const RETRY_BASE_MS = 200;
  const RETRY_CAP_MS = 5_000;
  const ORPHAN_LOOK_MS = 2_000;

  const pageId = crypto.randomUUID();
  /** @type {string[]} JSON texts of observed batches, oldest first */
  const queue = [];
  let queuedCharacters = 0;
  /** @type {string[]} JSON texts of what is no message; the oldest go when it is full */
  const apart = [];
  let sendingApart = false;
  /** @type {Map<string, [string, string | null]>} where something was lost, untold yet */
  const lost = new Map();
  let sending = false;
  let failures = 0;
  /** @type {Record<string, unknown> | null} what the page is */
  let hello = null;
  let helloTold = true;
  /** @type {Record<string, unknown> | null} what is wrong with the page, not told yet */
  let troubles = null;
  let tellingTroubles = false;
  /** @type {Map<string, (response: unknown) => void>} */
  const asked = new Map();

  /** False once the extension was updated or removed under this page. */
  const isAttached = () => chrome.runtime?.id !== undefined;

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} [fields]
   */
  function tellPage(kind, fields = {}) {
    const detail = JSON.stringify({ kind, ...fields });
    window.dispatchEvent(new CustomEvent(TO_PAGE, { detail }));
  }

  /**
   * @param {string} type
   * @param {string} body
   * @returns {Promise<any>} the worker's answer; throws when the worker died before it
   */
  function tellWorker(type, body) {
    return chrome.runtime.sendMessage({ type, pageId, body });
  }

  /** Sends what waits, one after the other, in the order in which it was seen. */
  async function drain() {
    if (sending) return;
    sending = true;
    try {
      while (isAttached() && (!helloTold || queue.length > 0)) {
        const stored = await sendNext();
        failures = stored ? 0 : failures + 1;
        if (failures > 0) await pause(retryDelay(failures));
        else if (queue.length === 0) showNotice(null);
      }
    } finally {
      sending = false;
    }
  }

  /** @returns {Promise<boolean>} */
  async function sendNext() {
    try {
      if (!helloTold && hello !== null) return await greet(hello);
      const answer = await tellWorker("page.observed", queue[0]);
      if (answer?.stored !== true) return false;
      queuedCharacters -= queue[0].length;
      queue.shift();
      return true;
    } catch {
      return false; // the worker died on the way: nothing is known, so it goes again
    }
  }

  /**
   * @param {Record<string, unknown>} about
   * @returns {Promise<boolean>} false: it has to be told again, also because another
   *     greeting became due meanwhile
   */
  async function greet(about) {
    helloTold = true;
    const told = Array.from(lost.values());
    lost.clear();
    let known = false;
    try {
      const body = JSON.stringify({ ...about, lost: told });
      known = (await tellWorker("page.hello", body))?.known === true;
    } finally {
      helloTold &&= known;
      if (!known)
        for (const [account, conversation] of told) lose(account, conversation);
    }
    return helloTold;
  }

  /** What is no message: no message waits for it, and it waits for none. */
  async function drainApart() {
    if (sendingApart) return;
    sendingApart = true;
    let failed = 0;
    while (isAttached() && apart.length > 0) {
      const body = apart[0];
      const answer = await tellWorker("page.told", body).catch(() => null);
      failed = answer?.stored === true ? 0 : failed + 1;
      if (failed > 0) await pause(retryDelay(failed));
      else if (apart[0] === body) apart.shift();
    }
    sendingApart = false;
  }

  /** What is wrong now: only the newest word of it counts. */
  async function drainTroubles() {
    if (tellingTroubles) return;
    tellingTroubles = true;
    let failed = 0;
    while (isAttached() && troubles !== null) {
      const body = troubles;
      const answer = await tellWorker("page.troubles", JSON.stringify(body)).catch(
        () => null,
      );
      failed = answer?.known === true ? 0 : failed + 1;
      if (failed > 0) await pause(retryDelay(failed));
      else if (troubles === body) troubles = null;
    }
    tellingTroubles = false;
  }

  /** @param {any} said */
  function enqueueApart(said) {
    if (apart.length >= MAX_TOLD) apart.shift();
    apart.push(JSON.stringify(said));
    void drainApart();
  }

  /** @param {number} tries in vain */
  function retryDelay(tries) {
    const bound = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(tries, 10));
    return bound / 2 + (Math.random() * bound) / 2;
  }

  /** @param {number} milliseconds */
  function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  /**
   * What nobody could keep stands in the history still: the worker has to walk it again,
   * and has to know of it before it hears anything newer. So the next that it hears is a
   * greeting.
   *
   * @param {string} account
   * @param {string | null} conversation null: any, because they are too many to name
   */
  function lose(account, conversation) {
    /** @type {[string, string | null]} */
    const pair = [account, lost.size < MAX_LOST ? conversation : null];
    lost.set(JSON.stringify(pair), pair);
    helloTold = hello === null;
  }

  /** @param {{channelAccountId: string, conversationId: string | null, rows: any[]}} body */
  function loseRows({ channelAccountId, conversationId, rows }) {
    const named = conversationId === null ? rows.map(nameOf) : [conversationId];
    // One that names no conversation could become no message.
    for (const name of named)
      if (typeof name === "string") lose(channelAccountId, name);
  }

  /** @param {any} row */
  const nameOf = (row) => row?.conversationId;

  /** @param {any} observed */
  function enqueue(observed) {
    const body = JSON.stringify(observed);
    const full =
      queue.length >= MAX_QUEUED ||
      queuedCharacters + body.length > MAX_QUEUED_CHARACTERS;
    if (full) {
      loseRows(observed);
      showNotice("noticeQueueFull");
      return;
    }
    queue.push(body);
    queuedCharacters += body.length;
    void drain();
  }

  /**
   * @param {string} kind
   * @param {any} body
   */
  function fromPage(kind, body) {
    if (kind === "ready") return tellPage("listening");
    if (kind === "observed") return enqueue(body);
    if (kind === "told") return enqueueApart(body);
    if (kind === "troubles") {
      troubles = body;
      return void drainTroubles();
    }
    if (kind === "dropped") return lose(body.channelAccountId, body.conversationId);
    if (kind === "account") {
      hello = body;
      helloTold = false;
      return void drain();
    }
    if (kind === "answer") {
      asked.get(body.id)?.(body);
      asked.delete(body.id);
    }
  }

  /**
   * Says in the page what its user should know; null takes it away.
   *
   * @param {string | null} messageName
   */
  function showNotice(messageName) {
    const id = "bright-notice";
    document.getElementById(id)?.remove();
    if (messageName === null || !document.documentElement) return;
    const host = document.createElement("div");
    host.id = id;
    host.dataset.notice = messageName;
    const root = host.attachShadow({ mode: "open" });
    const box = document.createElement("div");
    box.setAttribute("role", "status");
    box.textContent = noticeText(messageName);
    box.style.cssText =
      "position:fixed;right:16px;bottom:16px;z-index:2147483647;max-width:320px;" +
      "padding:10px 14px;border-radius:8px;font:13px/1.4 system-ui,sans-serif;" +
      "background:#7a1f1f;color:#fff;box-shadow:0 4px 16px #0006";
    root.append(box);
    document.documentElement.append(host);
  }

  const orphanText = chrome.i18n.getMessage("noticeOrphan"); // asked while it can be

  /** @param {string} messageName */
  function noticeText(messageName) {
    return messageName === "noticeOrphan"
      ? orphanText
      : chrome.i18n.getMessage(messageName);
  }

  window.addEventListener(FROM_PAGE, (event) => {
    if (!isAttached()) return;
    const { kind, body } = JSON.parse(/** @type {CustomEvent} */ (event).detail);
    fromPage(kind, body);
  });

  chrome.runtime.onMessage.addListener((message, _sender, respond) => {
    if (message?.to !== "page") return undefined;
    const id = crypto.randomUUID();
    asked.set(id, (response) => respond({ pageId, .../** @type {any} */ (response) }));
    tellPage(message.kind, { id, body: message.body ?? {} });
    return true; // the answer comes later
  });

  // Closed, left, or put into the browser's page cache: best effort, and told by no other.
  window.addEventListener("pagehide", () => {
    if (isAttached()) tellWorker("page.gone", "").catch(() => {});
  });

  window.addEventListener("pageshow", (event) => {
    if (!event.persisted || hello === null) return;
    helloTold = false; // back from the browser's page cache
    void drain();
  });

  const orphanLook = setInterval(() => {
    if (isAttached()) return;
    clearInterval(orphanLook);
    queue.length = 0;
    apart.length = 0;
    showNotice("noticeOrphan");
  }, ORPHAN_LOOK_MS);

  tellPage("listening");
})();
