// The page's messaging SDK as other scripts find it: `IcbuIM.IMBaaSSDK`, built late and
// in steps. Its data comes from the server in the SDK's own dialect.
"use strict";
(() => {
  const simulator = window.__simulator__;
  // A page of the list comes plain or in one of these, in turn.
  const NESTED = ["", "data", "result", "object"];
  let lists = 0;

  /** @returns the sdk object, made on first need */
  function sdk() {
    window.IcbuIM ??= { IMBaaSSDK: {}, lib: {} };
    return window.IcbuIM.IMBaaSSDK;
  }

  async function listPage({ cursor, count } = {}) {
    if (simulator.switches.zombie) return { list: [], hasMore: false };
    return simulator.post("/__simulator__/sdk/conversations", {
      cursor: cursor ?? null,
      count,
    });
  }

  // Call-back style, and a promise beside it; with `sdk_silent` neither ever answers.
  function history(request) {
    if (simulator.switches.sdk_silent) return new Promise(() => {});
    const { conversationCode, count, cursor, dataCallback, errorCallBack } = request;
    const sendTime = cursor && typeof cursor === "object" ? cursor.sendTime : cursor;
    const empty = { data: [], hasMore: false };
    const asked = simulator.switches.zombie
      ? Promise.resolve(empty)
      : simulator.post("/__simulator__/sdk/history", {
          cid: conversationCode,
          cursor: sendTime || null,
          count,
        });
    return asked.then(
      (page) => {
        dataCallback?.(page);
        return page;
      },
      (error) => {
        if (!errorCallBack) throw error;
        errorCallBack({ code: 500, message: String(error.message) });
        return empty;
      },
    );
  }

  async function send({ cid, content }) {
    await simulator.post("/__simulator__/send", { cid, content });
    return {}; // no id: delivery has to be read from the history
  }

  class MessageService {
    constructor(delegateList) {
      this.delegateList = delegateList;
    }
    notifyReceiveMsg(message) {
      for (const delegate of this.delegateList) delegate(message);
    }
    listMessageWithConversationCodeForHistory(request) {
      return history(request);
    }
    listMessageWithConversationCode(request) {
      return history(request);
    }
    sendUIMessages(request) {
      return send(request);
    }
    updateMessageToRead() {
      return Promise.resolve();
    }
  }

  function buildServices() {
    const live = new MessageService([() => {}]);
    const shell = new MessageService([]);
    const messages = () => (simulator.switches.second_instance ? shell : live);
    const conversations = {
      getConversationListByPagination: async (request) => {
        const page = await listPage(request);
        lists += 1;
        const key = NESTED[lists % NESTED.length];
        return simulator.nested && key ? { [key]: page } : page;
      },
      getConversationList: async (count = 20) =>
        (await listPage({ cursor: null, count })).list,
      getUnreadConversationList: async (count = 20) =>
        (await listPage({ cursor: null, count: 100 })).list
          .filter((row) => row.unreadCount > 0)
          .slice(0, count),
    };
    const factory = {
      getAuthService: () => ({
        isLogin: () => simulator.switches.login === "valid",
        connectionStatus: simulator.switches.banner === "disconnected" ? 0 : 3,
      }),
      getConversationServiceV2: () => conversations,
      getConversationService: () => conversations,
      getMessageServiceV2: messages,
      getMessageService: messages,
      getContactService: () => ({ listAllContacts: () => [] }),
    };
    sdk().default = factory;
    sdk().IcbuMessageServiceImpl = { instance: live };
    window._imBaaSSDK = factory;
  }

  function buildEmitter() {
    const listeners = new Map();
    const emitter = {
      on(name, listener) {
        listeners.set(name, [...(listeners.get(name) ?? []), listener]);
      },
      emit(name, payload) {
        const called = listeners.get(name) ?? [];
        for (const listener of called) listener(payload);
        return called.length > 0;
      },
    };
    sdk().IcbuEventServiceImpl = { instance: { emitter } };
  }

  simulator.emit = (name, payload) => {
    const emitter = window.IcbuIM?.IMBaaSSDK?.IcbuEventServiceImpl?.instance.emitter;
    if (!emitter || simulator.switches.zombie) return false;
    emitter.emit(name, payload);
    return true;
  };
  simulator.buildSdk = buildServices;
  simulator.buildEmitter = buildEmitter;
  simulator.history = history;
  simulator.send = send;
})();
