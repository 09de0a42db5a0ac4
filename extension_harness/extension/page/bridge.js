// Last of the page's scripts: carries between the page's surfaces and the content observer
// over window events whose detail is one JSON text. It keeps what it sees until the
// observer listens, bounded, and answers the extension's questions about the page.

(() => {
  "use strict";

  const registry = Symbol.for("bright.page");
  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[registry];
  delete (/** @type {any} */ (window)[registry]);

  const TO_EXTENSION = "bright:from-page";
  const TO_PAGE = "bright:to-page";
  const MAX_EARLY = 2_000;
  const MAX_DROPPED = 1_000;
  /** Looks at cards and customers kept; older ones go, and are shown again some day. */
  const MAX_EARLY_TOLD = 200;
  const ACCOUNT_POLL_MS = 250;
  /** A page that says so lets nobody in, whichever way it is asked. */
  const SHUT = ["login_lost", "captcha"];
  /** A surface that failed is left alone for so long. */
  const SURFACE_REST_MS = 60_000;

  /** @type {{conversationId: string | null, rows: BrightObservation[]}[]} */
  const early = [];
  /** @type {{ledger: string, entries: object[]}[]} */
  const earlyTold = [];
  /** @type {Set<string | null>} of which conversations something did not fit; null: any */
  const dropped = new Set();
  let observerListens = false;
  /** @type {string | undefined} */
  let toldAccount;
  let toldTroubles = "[]"; // of a page in health nobody has to be told
  /** @type {Map<string, number>} */
  const resting = new Map();

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} body
   */
  function tell(kind, body) {
    const detail = JSON.stringify({ kind, body });
    window.dispatchEvent(new CustomEvent(TO_EXTENSION, { detail }));
  }

  /** What is wrong with the page is worth telling at once, whoever's it is. */
  function tellTroubles() {
    if (!observerListens) return;
    const channelAccountId = bright.messages.account() ?? null;
    const body = { channelAccountId, troubles: bright.adapters.condition.read() };
    const saying = JSON.stringify(body.troubles);
    if (saying === toldTroubles) return;
    toldTroubles = saying;
    tell("troubles", body);
  }

  /** What is worth telling waits for the observer and for the account's id. */
  function flush() {
    const account = bright.messages.account();
    if (!observerListens || account === undefined) return;
    if (account !== toldAccount) {
      toldAccount = account;
      tell("account", { channelAccountId: account, route: location.hash });
    }
    for (const conversationId of dropped) {
      tell("dropped", { channelAccountId: account, conversationId });
    }
    dropped.clear(); // before anything newer of them is told
    while (early.length > 0) {
      const { conversationId, rows } = /** @type {typeof early[number]} */ (
        early.shift()
      );
      tell("observed", { channelAccountId: account, conversationId, rows });
    }
    for (const said of earlyTold.splice(0)) {
      tell("told", { channelAccountId: account, ...said });
    }
  }

  /**
   * What is no message goes a way of its own, so that no message waits behind it.
   *
   * @param {"cards" | "facts"} ledger
   * @param {object[]} entries
   */
  function seenApart(ledger, entries) {
    if (earlyTold.length >= MAX_EARLY_TOLD) earlyTold.shift();
    earlyTold.push({ ledger, entries });
    flush();
  }

  /** @type {(conversationId: string | null, rows: BrightObservation[]) => void} */
  function seen(conversationId, rows) {
    bright.adapters.renderedCards.remember(conversationId, rows);
    if (early.length >= MAX_EARLY) drop(early.shift());
    early.push({ conversationId, rows: /** @type {any} */ (safe(rows)) });
    flush();
  }

  /**
   * The worker is told where something was lost, and walks that history again.
   *
   * @param {typeof early[number] | undefined} batch
   */
  function drop(batch) {
    const named = batch?.conversationId ?? batch?.rows.map((row) => row.conversationId);
    for (const name of [named ?? []].flat()) {
      if (typeof name !== "string") continue;
      dropped.add(dropped.size < MAX_DROPPED ? name : null);
    }
  }

  /**
   * A copy that JSON can carry, taken now, because the page may change its objects.
   *
   * @param {BrightObservation[]} rows
   */
  function safe(rows) {
    return rows.map((row) => {
      try {
        return JSON.parse(JSON.stringify(row));
      } catch {
        return JSON.parse(JSON.stringify({ ...row, raw: undefined }));
      }
    });
  }

  /**
   * One page of history through the best surface that answers. A first page without rows
   * is believed only when every surface says so.
   *
   * @param {BrightHistoryAsk} ask
   */
  async function history(ask) {
    const { sdkHistory, listRecentMessage, chatMessageList } = bright.adapters;
    const surfaces = [sdkHistory, listRecentMessage, chatMessageList].filter(
      (surface) => surface.available(),
    );
    const rested = surfaces.filter(
      (surface) => (resting.get(surface.name) ?? 0) <= Date.now(),
    );
    /** @type {BrightHistoryPage | null} */
    let empty = null;
    /** @type {unknown} */
    let fault = null;
    for (const surface of rested.length > 0 ? rested : surfaces) {
      try {
        const page = await surface.ask(ask);
        bright.adapters.condition.note(surface.name, null);
        bright.adapters.renderedCards.remember(ask.conversationId, page.observations);
        if (page.observations.length > 0 || ask.cursor !== null) return told(page);
        empty ??= page;
      } catch (error) {
        fault = error;
        const code = /** @type {any} */ (error)?.code ?? "page_failed";
        bright.adapters.condition.note(surface.name, code);
        if (SHUT.includes(code)) throw error; // to every other surface, too
        resting.set(surface.name, Date.now() + SURFACE_REST_MS);
      }
    }
    if (empty !== null) return told(empty);
    throw (
      fault ?? new bright.PageFault("page_no_surface", "the page offers no history")
    );
  }

  /** @param {BrightHistoryPage} page */
  function told(page) {
    return { ...page, observations: safe(page.observations) };
  }

  /**
   * @param {string} kind
   * @param {any} body
   * @returns {Promise<Record<string, unknown>>}
   */
  async function answerTo(kind, body) {
    const channelAccountId = bright.messages.account();
    if (kind === "describe") {
      const shown = bright.adapters.route.read();
      const troubles = bright.adapters.condition.read();
      return { channelAccountId: channelAccountId ?? null, troubles, ...shown };
    }
    if (channelAccountId === undefined) {
      throw new bright.PageFault(
        "account_unknown",
        "the page does not say whose it is",
      );
    }
    if (body.channelAccountId !== channelAccountId) {
      throw new bright.PageFault(
        "account_changed",
        "the page belongs to another account",
      );
    }
    if (kind === "conversations") {
      const list = await bright.adapters.conversationLists.read(body.timeoutMs);
      return { channelAccountId, ...list };
    }
    if (kind === "history") return { channelAccountId, page: await history(body) };
    if (kind === "send") return bright.adapters.sdkSend.send(body);
    throw new bright.PageFault("unknown_request", `the bridge knows no ${kind}`);
  }

  window.addEventListener(TO_PAGE, (event) => {
    const { kind, id, body } = JSON.parse(/** @type {CustomEvent} */ (event).detail);
    if (kind === "listening") {
      observerListens = true;
      return flush();
    }
    answerTo(kind, body).then(
      (answer) => tell("answer", { id, answer }),
      (error) =>
        tell("answer", {
          id,
          error: {
            code: error?.code ?? "page_failed",
            message: String(error?.message),
          },
        }),
    );
  });

  bright.taps.install(seen, () => {
    toldAccount = undefined; // what the page said before was heard by nobody: greet again
    flush();
  });
  bright.adapters.renderedCards.watch((cards) => seenApart("cards", cards));
  bright.adapters.customerCard.watch((facts) => seenApart("facts", [facts]));
  // The account's id stands in the page's HTML, which comes after this script; and a page
  // may change whose it is.
  setInterval(() => {
    flush();
    tellTroubles();
  }, ACCOUNT_POLL_MS);
  window.addEventListener("hashchange", () => {
    toldAccount = undefined;
    flush();
  });
  tell("ready", {});
})();
