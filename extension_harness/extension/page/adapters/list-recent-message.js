// Surface: POST /message/listRecentMessage.htm, the history call with a cursor of its own.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { first, isObject, number, timeMs } = bright.fields;
  const PATH = "/message/listRecentMessage.htm";

  /** @type {BrightSurface} */
  const surface = {
    surface: "listRecentMessage",
    html: false,
    id: (row) =>
      first(row.messageId, row.uuid, row.requestMessageId, row.code?.messageId),
    conversation: (row) => first(row.conversationId, row.cid, row.conversationCode),
    time: (row) => row.sendTime,
    sender: (row) => first(row.senderAliId, row.sender),
    saysOutbound: (row) => row.messageSendType === "send",
    kindNumbers: (row) => [row.messageType, row.msgType],
    text: (row) => row.content,
    body: (row) => row.content,
    quote: (row) => bright.messages.extensionOf(row).quoteMessage,
    recalled: (row) => number(row.status) === 2 || row.messageType === "revoke",
  };

  bright.adapters.listRecentMessage = {
    name: "listRecentMessage",
    path: PATH,
    available: () => true,
    read(answer, conversationId) {
      const whole = /** @type {any} */ (answer);
      const data = isObject(whole?.data) ? whole.data : whole;
      const rows =
        [data?.messageList, data?.list, data?.dataList].find(Array.isArray) ?? [];
      return {
        surface: surface.surface,
        observations: rows.map((/** @type {unknown} */ row) =>
          bright.messages.observe(row, surface, { conversationId }),
        ),
        reportedNext: timeMs(data?.nextPointTimeStamp) ?? null,
        hasMore: typeof data?.hasMore === "boolean" ? data.hasMore : null,
      };
    },
    async ask(ask) {
      const known = bright.adapters.conversationLists.handles(ask.conversationId);
      const params = {
        pointTimeStamp: ask.cursor,
        forward: false,
        count: ask.count,
        conversationId: known.cid ?? ask.conversationId,
      };
      const answer = await bright.http.postForm(
        PATH,
        {
          params: JSON.stringify(params),
          _csrf: await bright.http.csrf(ask.timeoutMs),
        },
        ask.timeoutMs,
      );
      return this.read(answer, ask.conversationId);
    },
  };
})();
