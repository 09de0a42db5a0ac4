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
      const login = text.slice(0, 5_000).includes("newlogin");
      throw login
        ? new PageFault("login_lost", "the page asks for a login")
        : new PageFault("page_not_json", "the page answered something that is no JSON");
    }
    const code = answer?.code;
    if (code !== undefined && String(code) !== "200") {
      throw new PageFault("page_refused", `the page answered code ${String(code)}`);
    }
    if (answer?.data?.hasLogin === false) {
      throw new PageFault("login_lost", "the page says that nobody is logged in");
    }
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
