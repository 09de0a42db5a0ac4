// First of the page's scripts: the registry that they share. It hangs on the window under
// a symbol, out of the way of the page's names, and page/bridge.js takes it away again.
// With it come the few things that every adapter needs: faults, time-outs, HTTP.

(() => {
  "use strict";

  class PageFault extends Error {
    /**
     * @param {string} code
     * @param {string} message
     */
    constructor(code, message) {
      super(message);
      this.code = code;
    }
  }

  const CAPTCHA = /baxia|punish|FAIL_SYS_USER_VALIDATE|x5sec/;
  const fetchOfPage = window.fetch.bind(window); // before anything wraps it
  /** @type {string | null} */
  let csrfToken = null;

  /**
   * @template T
   * @param {Promise<T>} promise
   * @param {number} timeoutMs
   * @param {string} what
   * @returns {Promise<T>}
   */
  function within(promise, timeoutMs, what) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new PageFault("page_timeout", `${what} did not answer in time`)),
        timeoutMs,
      );
      promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** @param {string} head how the answer begins */
  function notJson(head) {
    if (CAPTCHA.test(head)) {
      return new PageFault(
        "captcha",
        "the page wants to know whether a person is there",
      );
    }
    return head.includes("newlogin")
      ? new PageFault("login_lost", "the page asks for a login")
      : new PageFault("page_not_json", "the page answered something that is no JSON");
  }

  /**
   * Throws what an answer refuses, in its own words.
   *
   * @param {any} answer
   */
  function refuse(answer) {
    if (CAPTCHA.test(JSON.stringify(answer?.ret ?? answer?.url ?? ""))) {
      throw notJson("punish");
    }
    const code = String(answer?.code ?? "200");
    const isOut = code === "401" || answer?.data?.hasLogin === false;
    if (isOut) {
      throw new PageFault("login_lost", "the page says that nobody is logged in");
    }
    if (code !== "200") {
      throw new PageFault("page_refused", `the page answered code ${code}`);
    }
  }

  /**
   * The JSON of an answer that means success; anything else is a fault with its reason.
   *
   * @param {string} text
   */
  function readAnswer(text) {
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      throw notJson(text.slice(0, 5_000));
    }
    refuse(answer);
    return answer;
  }

  /**
   * @param {string} path
   * @param {RequestInit} init
   * @param {number} timeoutMs
   */
  async function call(path, init, timeoutMs) {
    // The login is on another host, where a followed redirect would only fail.
    const response = await within(
      fetchOfPage(path, { ...init, redirect: "manual" }),
      timeoutMs,
      path.split("?")[0],
    );
    if (response.type === "opaqueredirect") {
      throw new PageFault("login_lost", "the page sent the request to the login");
    }
    if (!response.ok) {
      const busy = response.status === 429 || response.status === 503;
      throw new PageFault(
        busy ? "page_busy" : "page_refused",
        `the page answered status ${response.status}`,
      );
    }
    return readAnswer(await within(response.text(), timeoutMs, path.split("?")[0]));
  }

  /** @type {BrightPage["http"]} */
  const http = {
    fetch: fetchOfPage,
    readAnswer,
    get: (path, timeoutMs) => call(path, {}, timeoutMs),
    postForm: (path, fields, timeoutMs) =>
      call(
        path,
        {
          method: "POST",
          body: new URLSearchParams(fields),
          headers: { "X-Requested-With": "XMLHttpRequest" },
        },
        timeoutMs,
      ),
    async csrf(timeoutMs) {
      if (csrfToken === null) {
        try {
          const answer = await call(
            "/csrf/getToken.htm",
            { method: "POST" },
            timeoutMs,
          );
          csrfToken = String(answer?.token ?? answer?.data?.token ?? "");
        } catch {
          return ""; // a page without the endpoint takes the call without a token
        }
      }
      return csrfToken;
    },
    cookieTokens() {
      const jar = new Map(
        document.cookie.split("; ").map((pair) => {
          const cut = pair.indexOf("=");
          return [pair.slice(0, cut), pair.slice(cut + 1)];
        }),
      );
      const packed = decodeURIComponent(jar.get("xman_us_t") ?? "");
      const ctoken =
        jar.get("ctoken") ?? new URLSearchParams(packed).get("ctoken") ?? "";
      return { ctoken, _tb_token_: jar.get("_tb_token_") ?? "" };
    },
  };

  Object.defineProperty(window, Symbol.for("bright.page"), {
    value: { PageFault, within, http, adapters: {} },
    configurable: true,
    enumerable: false,
  });
})();
