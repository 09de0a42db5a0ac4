// Surface: POST /message/getChatMessageList.htm, the older history call. It names no
// cursor and no end: the oldest time of a page is the next request's.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { first, isObject, number } = bright.fields;
  const PATH = "/message/getChatMessageList.htm";

  /** @type {BrightSurface} */
  const surface = {
    surface: "getChatMessageList",
    html: false,
    id: (row) =>
      first(row.messageId, row.uuid, row.requestMessageId, row.code?.messageId),
    conversation: (row) => first(row.conversationId, row.cid, row.conversationCode),
    time: (row) => row.sendTime,
    sender: (row) => first(row.senderAliId, row.sender),
    saysOutbound: (row) => row.messageType === "send" || row.messageSendType === "send",
    kindNumbers: (row) => [
      number(row.messageType) ?? (row.messageType === "text" ? "text" : undefined),
      row.subType,
      row.msgType,
    ],
    text: (row) => row.content,
    body: (row) => row.content,
    quote: (row) => bright.messages.extensionOf(row).quoteMessage,
    recalled: (row) => row.messageType === "revoke" || number(row.status) === 2,
  };

  /** @param {any} answer */
  function rowsOf(answer) {
    const data = isObject(answer?.data) ? answer.data : answer;
    const rows = [data?.list, data?.messageList, data?.dataList, answer?.data];
    return rows.find(Array.isArray) ?? [];
  }

  bright.adapters.chatMessageList = {
    name: "getChatMessageList",
    path: PATH,
    available: () => true,
    read(answer, conversationId) {
      const rows = rowsOf(answer);
      const more = /** @type {any} */ (answer)?.data?.hasMore;
      return {
        surface: surface.surface,
        observations: rows.map((/** @type {unknown} */ row) =>
          bright.messages.observe(row, surface, { conversationId }),
        ),
        reportedNext: null,
        hasMore: typeof more === "boolean" ? more : null,
      };
    },
    async ask(ask) {
      const known = bright.adapters.conversationLists.handles(ask.conversationId);
      const cid = known.cid ?? ask.conversationId;
      const tokens = bright.http.cookieTokens();
      const query = new URLSearchParams(tokens).toString();
      const params = {
        contactAccountId: known.accountId,
        contactAccountIdEncrypt: known.accountIdEncrypt,
        aliId: known.aliId,
        aliIdEncrypt: known.aliIdEncrypt,
        cid,
        conversationCode: cid,
        chatToken: known.chatToken,
        selfAliId: known.selfAliId ?? bright.messages.account(),
        timeSlide: { forward: false, timeStamp: ask.cursor, pageSize: ask.count },
      };
      const answer = await bright.http.postForm(
        `${PATH}?${query}`,
        { params: JSON.stringify(params) },
        ask.timeoutMs,
      );
      return this.read(answer, ask.conversationId);
    },
  };
})();
