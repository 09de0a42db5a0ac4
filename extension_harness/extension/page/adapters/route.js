// Surface: which conversation the page shows. Its fragment names one by `cid`; a page that
// says nothing there may still know the one that is open.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const PARAMETER = "cid";

  /**
   * @param {string} route
   * @returns {unknown[]} what it names, as spelled
   */
  function namedIn(route) {
    const query = route.slice(route.indexOf("?") + 1).split("#")[0];
    return route.includes("?") ? new URLSearchParams(query).getAll(PARAMETER) : [];
  }

  bright.adapters.route = {
    read() {
      const route = location.hash;
      const open = /** @type {any} */ (window).__activeConversation__?.cid;
      const said = [...namedIn(route), ...(open === undefined ? [] : [open])];
      const named = new Set(said.map((each) => bright.fields.conversationId(each)));
      const [conversationId] = named;
      if (named.size === 0) {
        const reason = route === "" ? "route_missing" : "route_without_conversation";
        return { route, conversationId: null, routeReason: reason };
      }
      if (named.size > 1 || conversationId === undefined) {
        return { route, conversationId: null, routeReason: "route_ambiguous" };
      }
      return { route, conversationId, routeReason: null };
    },
  };
})();
