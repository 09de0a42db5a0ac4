// Surface: the page's event bus, where live messages pass by, among much noise.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { first, isObject, number } = bright.fields;
  const OWN_ECHO = "BaaSMessageSendCallback";
  const NAMES = new Set(["BaaSMessageNew", OWN_ECHO, "paas.message.changed"]);

  /** @type {BrightSurface} */
  const model = {
    surface: "eventBus.messageModel",
    html: true,
    id: (row) =>
      first(row.messageId, row.uuid, row.requestMessageId, row.code?.messageId),
    conversation: (row) => first(row.cid, row.conversationCode),
    time: (row) => first(row.createAt, row.sendTime),
    sender: (row) => row.sender,
    saysOutbound: (row) => row.messageType === "send" || row.messageSendType === "send",
    kindNumbers: (row) => [row.content?.contentType],
    text: (row) => row.content?.text,
    body: (row) =>
      first(
        row.content?.image,
        row.content?.file,
        row.content?.video,
        row.content?.productCard,
        row.content?.card,
      ),
    quote: (row) => {
      const extension = bright.content.opened(row.content?.text?.extension);
      return isObject(extension) ? extension.quoteMessage : undefined;
    },
    recalled: (row) => number(row.status) === 2 || row.messageType === "revoke",
  };

  /** @type {BrightSurface} */
  const flat = {
    surface: "eventBus.message",
    html: true,
    id: (row) =>
      first(row.messageId, row.uuid, row.requestMessageId, row.code?.messageId),
    conversation: (row) => first(row.conversationCode, row.cid, row.conversationId),
    time: (row) => first(row.sendTime, row.createAt),
    sender: (row) => row.sender,
    saysOutbound: (row) => row.messageType === "send" || row.messageSendType === "send",
    kindNumbers: (row) => [row.msgType, number(row.messageType)],
    text: (row) => row.content,
    body: (row) => row.content,
    quote: (row) => bright.messages.extensionOf(row).quoteMessage,
    recalled: (row) => number(row.status) === 2 || row.messageType === "revoke",
  };

  bright.adapters.eventBus = {
    isMessageEvent: (name) => typeof name === "string" && NAMES.has(name),
    read(name, payload) {
      const outbound = name === OWN_ECHO;
      const rows = Array.isArray(payload) ? payload : [payload];
      return rows.map((row) => {
        if (isObject(row)) bright.messages.rememberOwn(row.owner);
        return isObject(row) && isObject(row.messageModel)
          ? bright.messages.observe(row.messageModel, model, { outbound })
          : bright.messages.observe(row, flat, { outbound });
      });
    },
    path: ["IcbuIM", "IMBaaSSDK", "IcbuEventServiceImpl", "instance", "emitter"],
  };
})();
