// Looks over the page's shoulder: answers to its own calls, and its event bus. Nothing is
// held up or changed: the page gets the same answers and the same return values.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { adapters, fields, http } = bright;

  const POLL_MS = 100;
  const FAST_POLLS = 300;
  const SLOW_POLL_MS = 5_000;
  const UNREAD = "/message/manager/unread.htm";
  const histories = [adapters.chatMessageList, adapters.listRecentMessage];

  /** @typedef {(conversationId: string | null, rows: BrightObservation[]) => void} OnRows */

  /**
   * @param {string | URL} address
   * @returns {string | null} the path when the answer is of interest
   */
  function interesting(address) {
    try {
      const url = new URL(address, location.href);
      const watched =
        url.pathname === UNREAD || histories.some((h) => h.path === url.pathname);
      return watched ? url.pathname : null;
    } catch {
      return null;
    }
  }

  /** @param {unknown} body what the page sent: the conversation that it asked for */
  function askedConversation(body) {
    try {
      const form =
        body instanceof URLSearchParams
          ? body
          : new URLSearchParams(String(body ?? ""));
      const params = JSON.parse(form.get("params") ?? "{}");
      return fields.conversationId(
        fields.first(params.conversationId, params.cid, params.conversationCode),
      );
    } catch {
      return undefined;
    }
  }

  /**
   * @param {string} path
   * @param {unknown} body
   * @param {string} text
   * @param {OnRows} onRows
   */
  function readAnswer(path, body, text, onRows) {
    let answer;
    try {
      answer = http.readAnswer(text);
    } catch (error) {
      adapters.condition.note(path, /** @type {any} */ (error).code ?? "page_failed");
      return; // a login page or an error is the page's own affair
    }
    adapters.condition.note(path, null);
    if (path === UNREAD) return adapters.conversationLists.takeUnread(answer);
    const asked = askedConversation(body);
    const history = histories.find((each) => each.path === path);
    const page = history?.read(answer, asked);
    if (page && page.observations.length > 0) onRows(asked ?? null, page.observations);
  }

  /**
   * @param {string} path
   * @param {number} status
   * @returns {boolean} the page was told to come later
   */
  function isBusy(path, status) {
    const busy = status === 429 || status === 503;
    if (busy) adapters.condition.note(path, "page_busy");
    return busy;
  }

  /** @param {OnRows} onRows */
  function tapFetch(onRows) {
    window.fetch = new Proxy(window.fetch, {
      apply(target, self, args) {
        const answered = Reflect.apply(target, self, args);
        const [input, init] = args;
        const address = input instanceof Request ? input.url : input;
        const path = interesting(address);
        if (path !== null) {
          answered
            .then((/** @type {Response} */ response) => {
              if (isBusy(path, response.status)) return undefined;
              return response.clone().text();
            })
            .then((/** @type {string | undefined} */ text) => {
              if (text !== undefined) readAnswer(path, init?.body, text, onRows);
            })
            .catch(() => {}); // the page sees its own error
        }
        return answered;
      },
    });
  }

  /** @param {OnRows} onRows */
  function tapXhr(onRows) {
    /** @type {WeakMap<XMLHttpRequest, string>} */
    const paths = new WeakMap();
    XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
      apply(target, self, args) {
        const path = interesting(args[1]);
        if (path === null) paths.delete(self);
        else paths.set(self, path);
        return Reflect.apply(target, self, args);
      },
    });
    XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
      apply(target, self, args) {
        const path = paths.get(self);
        if (path !== undefined) {
          self.addEventListener("load", () => {
            if (isBusy(path, self.status)) return;
            const text =
              self.responseType === "json"
                ? JSON.stringify(self.response)
                : self.responseType === "" || self.responseType === "text"
                  ? self.responseText
                  : "";
            readAnswer(path, args[0], text, onRows);
          });
        }
        return Reflect.apply(target, self, args);
      },
    });
  }

  /**
   * Tells at once when the page assigns a part of its SDK that is missing; with the first
   * assignment the property is an ordinary one again.
   *
   * @param {any} holder
   * @param {string} name
   * @param {() => void} assigned
   */
  function awaitAssignment(holder, name, assigned) {
    if (!Object.isExtensible(holder) || Object.hasOwn(holder, name)) return;
    Object.defineProperty(holder, name, {
      configurable: true,
      enumerable: false,
      get: () => undefined,
      set(value) {
        Object.defineProperty(holder, name, {
          value,
          writable: true,
          enumerable: true,
          configurable: true,
        });
        assigned();
      },
    });
  }

  /**
   * Follows the way to the emitter as far as it goes.
   *
   * @param {() => void} assigned told when the part that is missing has come
   * @returns {any} undefined: not there yet
   */
  function findEmitter(assigned) {
    /** @type {any} */
    let holder = window;
    for (const name of adapters.eventBus.path) {
      const next = holder[name];
      if (next === undefined || next === null) {
        // Never on the window itself, where the page may ask whether a name exists.
        if (holder !== window) awaitAssignment(holder, name, assigned);
        return undefined;
      }
      holder = next;
    }
    return holder;
  }

  /**
   * Wraps the emitter's emit as soon as there is one; the SDK comes late, and may be
   * replaced, so the look is repeated.
   *
   * @param {OnRows} onRows
   * @param {() => void} onTapped
   */
  function tapEvents(onRows, onTapped) {
    /** @type {WeakSet<Function>} */
    const ours = new WeakSet();
    const look = () => {
      const emitter = findEmitter(look);
      if (typeof emitter?.emit === "function" && !ours.has(emitter.emit)) {
        emitter.emit = wrapped(emitter.emit, onRows);
        ours.add(emitter.emit);
        onTapped();
      }
    };
    let polls = 0;
    const poll = () => {
      look();
      polls += 1;
      setTimeout(poll, polls < FAST_POLLS ? POLL_MS : SLOW_POLL_MS);
    };
    poll();
  }

  /**
   * @param {Function} emit
   * @param {OnRows} onRows
   */
  function wrapped(emit, onRows) {
    return new Proxy(emit, {
      apply(target, self, args) {
        try {
          const [name, payload] = args;
          if (adapters.eventBus.isMessageEvent(name)) {
            onRows(null, adapters.eventBus.read(name, payload));
          }
        } catch {
          // Whatever passes by here, the page must get its event.
        }
        return Reflect.apply(target, self, args);
      },
    });
  }

  bright.taps = {
    install(onRows, onTapped) {
      tapFetch(onRows);
      tapXhr(onRows);
      tapEvents(onRows, onTapped);
    },
  };
})();
