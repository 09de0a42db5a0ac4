import assert from "node:assert/strict";
import { test } from "node:test";

import { pageWorld, plain } from "./support/page-world.mjs";

const SELLER = "2500000000001";
const BUYER = "3500000000002";
const CID = `${SELLER}-${BUYER}#11011@icbu`;
const { bright } = pageWorld();
const { fields, text, content } = bright;

test("M02: one message id has one form, whatever its spelling", () => {
  for (const spelled of [4200000000001, "4200000000001", "4200000000001.PNM"]) {
    assert.equal(fields.messageId(spelled), "4200000000001");
  }
  for (const none of [undefined, null, "", ".PNM", NaN, {}]) {
    assert.equal(fields.messageId(none), undefined);
  }
});

test("M03: one conversation has one form, whatever its spelling and order", () => {
  for (const spelled of [
    `${BUYER}-${SELLER}#11011@icbu`,
    `${SELLER}-${BUYER}#11011`,
    `${BUYER}-${SELLER}`,
    `${BUYER}-${SELLER}@icbu`,
  ]) {
    assert.equal(fields.conversationId(spelled), CID);
  }
  assert.equal(
    fields.conversationId("22-3500000000002#22022"),
    "22-3500000000002#22022@icbu",
  );
  assert.equal(fields.conversationId("9-10"), "9-10#11011@icbu");
});

test("M29: a sender is digits, out of every shape", () => {
  for (const spelled of [
    3500000000002,
    `${BUYER}@icbu`,
    { targetId: BUYER },
    { uid: `${BUYER}@icbu` },
    { aliId: 3500000000002 },
  ]) {
    assert.equal(fields.personId(spelled), BUYER);
  }
  for (const none of [null, "", {}, undefined]) {
    assert.equal(fields.personId(none), undefined);
  }
});

test("M26, M28: times in every spelling, and what is none", () => {
  const ms = 1_760_000_000_123;
  for (const spelled of [
    ms,
    String(ms),
    "2025-10-09T08:53:20.123Z",
    "2025-10-09T16:53:20.123+08:00",
  ]) {
    assert.equal(fields.timeMs(spelled), ms);
  }
  assert.equal(fields.timeMs(1_760_000_000), 1_760_000_000_000);
  assert.equal(fields.timeMs("1760000000"), 1_760_000_000_000);
  for (const none of [
    0,
    -5,
    NaN,
    null,
    "NaN",
    "yesterday",
    "2025-10-09 08:53:20",
    {},
  ]) {
    assert.equal(fields.timeMs(none), undefined);
  }
});

test("M10: HTML becomes the text that it shows, entities decoded once", () => {
  const html =
    "<span>a<br/>b<br>c<BR />&lt;br/&gt; &amp;lt; &#39;x&#x27; &nbsp;&unheard;</span>" +
    '<img src="//sc.example/smily/rose.png?v=1" class="e"><img src="/other.png">';
  assert.equal(
    text.fromHtml(html),
    "a\nb\nc\n<br/> &lt; 'x' \u00a0&unheard;:rose:",
  );
});

test("M11: nothing else is changed but what cannot be stored", () => {
  assert.equal(
    text.storable("a\ud83d\0\r\nb\rc \u200b\u202e\ufeff "),
    "a\ufffd\ufffd\nb\rc \u200b\u202e\ufeff ",
  );
});

test("M18: content is opened twice, params once more, and what is kept is known", () => {
  const params = JSON.stringify({
    name: "a.pdf",
    size: "7",
    url: "//x/a.pdf?sig=1",
    md5: "0",
  });
  assert.deepEqual(
    plain(content.kept("file", JSON.stringify(JSON.stringify({ params })))),
    {
      name: "a.pdf",
      size: "7",
      url: "https://x/a.pdf",
    },
  );
  const order = {
    orderId: "1",
    params: btoa('{"orderAmount":"5.0","currency":"USD"}'),
  };
  assert.deepEqual(
    plain(content.kept("order_card", { cardType: 9, params: order })),
    {
      orderId: "1",
      orderAmount: "5.0",
      currency: "USD",
    },
  );
  assert.deepEqual(
    plain(content.kept("product_card", '{"params":{"ids":"1, 2"}}')),
    { ids: ["1", "2"] },
  );
  assert.deepEqual(plain(content.kept("unknown", "{no JSON")), {
    text: "{no JSON",
  });
  assert.deepEqual(plain(content.kept("inquiry", null)), {});
});

test("OT-86: of a business card the marker alone is kept", () => {
  const body = { params: { email: "someone@example.com" } };
  assert.deepEqual(plain(content.kept("business_card", body)), {
    version: 1,
    kind: "business_card",
  });
});

test("kinds by the page's numbers; an unknown one survives", () => {
  assert.equal(content.kindOf([1], undefined), "text");
  assert.equal(content.kindOf([10010], 1), "business_card");
  assert.equal(content.kindOf(["2098"], undefined), "quote_card");
  assert.equal(content.kindOf([undefined, 9999], undefined), "system");
  assert.equal(content.kindOf([10010], 77), "unknown");
});

const SAME = {
  messageId: "4200000000001",
  conversationId: CID,
  senderId: BUYER,
  direction: "inbound",
  sentAtMs: 1_760_000_000_123,
  kind: "text",
  text: "a\n<b> & it's",
  quote: { messageId: "41", text: "q" },
};

/** The normal form alone of what an adapter gave. */
function normal(observation) {
  const { surface: _surface, raw: _raw, ...rest } = plain(observation);
  return rest;
}

const quoteMessage = { messageId: "41.PNM", content: "q" };

test("one message has one normal form on every surface", () => {
  const { chatMessageList, listRecentMessage, sdkHistory, eventBus } =
    bright.adapters;
  const recent = {
    messageId: "4200000000001.PNM",
    conversationId: `${BUYER}-${SELLER}#11011@icbu`,
    senderAliId: 3500000000002,
    sendTime: 1_760_000_000_123,
    messageSendType: "rec",
    messageType: 1,
    content: "a\n<b> & it's",
    extension: { quoteMessage },
  };
  const legacy = {
    uuid: "4200000000001",
    senderAliId: BUYER,
    sendTime: "1760000000123",
    messageType: "rec",
    subType: 1,
    content: { text: "a\n<b> & it's" },
    extension: JSON.stringify({ quoteMessage }),
  };
  const html = "a<br/>&lt;b&gt; &amp; it&#39;s";
  const sdk = {
    messageId: 4200000000001,
    conversationCode: `${SELLER}-${BUYER}`,
    sender: { targetId: BUYER },
    gmtChatLong: 1_760_000_000_123,
    messageType: "rec",
    msgType: 101,
    content: html,
    ext: { quoteMessage: JSON.stringify(quoteMessage) },
  };
  const model = {
    messageModel: {
      messageId: "4200000000001",
      cid: CID,
      createAt: 1_760_000_000_123,
      sender: { uid: `${BUYER}@icbu` },
      content: {
        contentType: 1,
        text: { content: html, extension: { quoteMessage } },
      },
    },
  };
  const flat = {
    messageId: "4200000000001",
    conversationCode: CID,
    sendTime: 1_760_000_000_123,
    sender: `${BUYER}@icbu`,
    msgType: 101,
    messageType: "rec",
    content: html,
    extension: { quoteMessage },
  };
  const seen = [
    listRecentMessage.read(
      { code: "200", data: { messageList: [recent] } },
      CID,
    ).observations[0],
    chatMessageList.read({ code: 200, data: { list: [legacy] } }, CID)
      .observations[0],
    sdkHistory.read({ data: [sdk], hasMore: false }, CID).observations[0],
    eventBus.read("BaaSMessageNew", model)[0],
    eventBus.read("BaaSMessageNew", flat)[0],
  ];
  for (const observation of seen) {
    assert.deepEqual(normal(observation), SAME, observation.surface);
  }
});

test("M22: a recall is a fact of its own, on every surface that tells it", () => {
  const { listRecentMessage } = bright.adapters;
  const row = {
    messageId: "7.PNM",
    conversationId: CID,
    senderAliId: SELLER,
    sendTime: 1_760_000_000_123,
    messageType: 1,
    status: 2,
    content: "",
  };
  assert.deepEqual(
    normal(listRecentMessage.read({ data: { list: [row] } }).observations[0]),
    {
      messageId: "7:recall",
      conversationId: CID,
      senderId: SELLER,
      direction: "outbound",
      sentAtMs: 1_760_000_000_123,
      kind: "recall",
      recall: { messageId: "7" },
    },
  );
});

test("a pasted JSON text is a text, and a text row is never taken for a card", () => {
  const row = {
    messageId: "7",
    senderAliId: BUYER,
    sendTime: 5e12,
    messageType: 1,
    content: '{"cardType":1}',
  };
  const [seen] = bright.adapters.listRecentMessage.read(
    { data: { list: [row] } },
    CID,
  ).observations;
  assert.equal(seen.kind, "text");
  assert.equal(seen.text, '{"cardType":1}');
});

test("P6: a row is of the conversation that it names, whichever was asked for", () => {
  const { chatMessageList, listRecentMessage, sdkHistory } = bright.adapters;
  const asked = `${SELLER}-4500000000003#11011@icbu`;
  for (const { read } of [chatMessageList, listRecentMessage, sdkHistory]) {
    const row = { messageId: "7", conversationId: CID, conversationCode: CID };
    const unnamed = { messageId: "8" };
    const { observations } = read({ data: [row, unnamed] }, asked);
    const all = read({ data: { list: [row, unnamed] } }, asked).observations;
    const seen = observations.length > 0 ? observations : all;
    assert.deepEqual(
      seen.map((each) => each.conversationId),
      [CID, asked],
    );
  }
});

test("P10: a translation, a preview and a read mark beside a text change nothing", () => {
  const plainRow = {
    messageId: "7",
    conversationId: CID,
    senderAliId: BUYER,
    sendTime: 5e12,
    messageType: 1,
    content: "Guten Tag",
  };
  const translated = {
    ...plainRow,
    read: true,
    readStatus: 1,
    summary: "Good day",
    translateContent: "Good day",
    extension: { translation: { content: "Good day" } },
  };
  const { chatMessageList, listRecentMessage } = bright.adapters;
  for (const { read } of [chatMessageList, listRecentMessage]) {
    const [first, later] = [plainRow, translated].map(
      (row) => read({ data: { list: [row] } }, CID).observations[0],
    );
    assert.equal(first.text, "Guten Tag");
    assert.deepEqual(plain(later), plain(first));
  }
});

test("P14: an attachment's address is kept without what signs it", () => {
  const url = "//sc.example/a.png?sign=0A&expires=5";
  for (const kind of ["image", "file", "video"]) {
    const { url: kept } = content.kept(kind, { url });
    assert.equal(kept, "https://sc.example/a.png");
  }
});

test("M41: only the three message events are observations", () => {
  const { eventBus } = bright.adapters;
  for (const name of [
    "BaaSMessageNew",
    "BaaSMessageSendCallback",
    "paas.message.changed",
  ]) {
    assert.equal(eventBus.isMessageEvent(name), true);
    assert.equal("notAnObject" in eventBus.read(name, null)[0], true);
  }
  for (const name of ["paas.conversation.typingChange", "toString", 7, null]) {
    assert.equal(eventBus.isMessageEvent(name), false);
  }
});

test("M31: a sub-account that a list names speaks for the seller", () => {
  const world = pageWorld().bright;
  const row = {
    messageId: "7",
    conversationCode: CID,
    sender: "2500000000777",
    sendTime: 5e12,
    msgType: 101,
    content: "x",
  };
  assert.equal(
    world.adapters.eventBus.read("paas.message.changed", row)[0].direction,
    "inbound",
  );
  world.adapters.conversationLists.take([
    { cid: CID, selfAliId: "2500000000777" },
  ]);
  assert.equal(
    world.adapters.eventBus.read("paas.message.changed", row)[0].direction,
    "outbound",
  );
});

test("a login page, a refusal and a lost login are faults with their reason", () => {
  const { readAnswer } = bright.http;
  const codes = [
    ["<html>newlogin</html>", "login_lost"],
    ["<html></html>", "page_not_json"],
    ['{"code":500}', "page_refused"],
    ['{"code":"200","data":{"hasLogin":false}}', "login_lost"],
  ];
  for (const [answer, code] of codes) {
    assert.throws(() => readAnswer(answer), { code });
  }
  assert.equal(readAnswer('{"code":200,"data":1}').data, 1);
});
