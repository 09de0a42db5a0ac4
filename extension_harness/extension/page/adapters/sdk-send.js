// Surface: sending a text by the page SDK's own call, as the signed-in user would. It
// answers without an id, or never: what came of it is read from the history. An error
// before the call means that nothing was sent; after it nobody knows.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const METHOD = "sendUIMessages";

  /** @returns {any} a service that can send, the page's own live one first */
  function service() {
    const page = /** @type {any} */ (window);
    const sdk = page.IcbuIM?.IMBaaSSDK;
    const factory = sdk?.default ?? page._imBaaSSDK ?? page._imsdk;
    const makers = [
      () => sdk?.IcbuMessageServiceImpl?.instance,
      () => factory?.getMessageServiceV2?.(),
      () => factory?.getMessageService?.(),
    ];
    for (const make of makers) {
      try {
        const made = make();
        if (typeof made?.[METHOD] === "function") return made;
      } catch {
        // This way to the service is not there; the next one may be.
      }
    }
    return undefined;
  }

  bright.adapters.sdkSend = {
    async send({ conversationId, text, timeoutMs }) {
      const live = service();
      if (live === undefined) {
        throw new bright.PageFault(
          "surface_missing",
          "the page offers no call to send a message",
        );
      }
      const known = bright.adapters.conversationLists.handles(conversationId);
      try {
        const sent = live[METHOD]({
          cid: known.cid ?? conversationId,
          content: text,
          msgType: 1,
          ext: { chatScene: JSON.stringify({ clientInfo: "web" }) },
        });
        await bright.within(Promise.resolve(sent), timeoutMs, "the page's SDK");
        return { isAnswered: true, trouble: null };
      } catch (error) {
        const code = /** @type {any} */ (error)?.code;
        const isLate = code === "page_timeout";
        return { isAnswered: false, trouble: isLate ? "page_timeout" : "page_failed" };
      }
    },
  };
})();
