// Surface: the page SDK's history call. It answers by a call-back that may never come, and
// the service that the factory gives may be an empty shell: then another surface is asked.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { first, isObject, number } = bright.fields;
  const METHOD = "listMessageWithConversationCodeForHistory";

  /** @type {BrightSurface} */
  const surface = {
    surface: "sdkHistory",
    html: true,
    id: (row) =>
      first(row.messageId, row.uuid, row.requestMessageId, row.code?.messageId),
    conversation: (row) => first(row.conversationCode, row.cid, row.conversationId),
    time: (row) => first(row.sendTime, row.createAt, row.gmtChatLong, row.gmtChat),
    sender: (row) => row.sender,
    saysOutbound: (row) => row.messageType === "send" || row.messageSendType === "send",
    kindNumbers: (row) => [row.msgType, number(row.messageType)],
    text: (row) => row.content,
    body: (row) => first(row.originalData, row.content),
    quote: (row) =>
      first(
        row.extInfo?.referMessage,
        row.referMessage,
        row.ext?.quoteMessage,
        row.localExt?.quoteMessage,
        row.originPaasMessageData?.message?.extension?.quoteMessage,
      ),
    recalled: (row) => number(row.status) === 2 || row.messageType === "revoke",
  };

  /** @returns {any} a service that has the history call */
  function service() {
    const page = /** @type {any} */ (window);
    const sdk = page.IcbuIM?.IMBaaSSDK;
    const factory = sdk?.default ?? page._imBaaSSDK ?? page._imsdk;
    const makers = [
      () => factory?.getMessageServiceV2?.(),
      () => factory?.getMessageService?.(),
      () => sdk?.IcbuMessageServiceImpl?.instance,
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

  bright.adapters.sdkHistory = {
    name: "sdkHistory",
    available: () => service() !== undefined,
    read(answer, conversationId) {
      const whole = /** @type {any} */ (answer);
      const rows =
        [whole?.data, whole?.list, whole?.messages, whole].find(Array.isArray) ?? [];
      return {
        surface: surface.surface,
        observations: rows.map((/** @type {unknown} */ row) => {
          if (isObject(row)) bright.messages.rememberOwn(row.owner);
          return bright.messages.observe(row, surface, { conversationId });
        }),
        reportedNext: null,
        hasMore: typeof whole?.hasMore === "boolean" ? whole.hasMore : null,
      };
    },
    async ask(ask) {
      const known = bright.adapters.conversationLists.handles(ask.conversationId);
      const answered = new Promise((resolve, reject) => {
        const returned = service()[METHOD]({
          conversationCode: known.cid ?? ask.conversationId,
          count: ask.count,
          cursor: ask.cursor === null ? null : { sendTime: ask.cursor },
          fetchType: 1,
          dataCallback: resolve,
          errorCallBack: (/** @type {unknown} */ error) =>
            reject(
              new bright.PageFault("page_refused", `the page's SDK: ${String(error)}`),
            ),
        });
        // A promise is taken too, when it brings rows; one that brings none says nothing.
        Promise.resolve(returned).then((answer) => {
          if (Array.isArray(answer) || Array.isArray(answer?.data)) resolve(answer);
        }, reject);
      });
      const answer = await bright.within(answered, ask.timeoutMs, "the page's SDK");
      return this.read(answer, ask.conversationId);
    },
  };
})();
