// Surfaces: the page's conversation lists. They say which conversations there are and when
// each was last active, and they hold what the older history call wants to know. The
// encrypted ids and tokens among that stay here, in the page.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { first, isObject, conversationId, timeMs } = bright.fields;

  const MAX_CONVERSATIONS = 20_000;
  const PAGE = 100;
  const MAX_PAGES = 200;
  const DAY_MS = 86_400_000;

  /** @type {Map<string, Record<string, any>>} */
  const known = new Map();
  /** @type {string | undefined} whose they are */
  let whose;

  /** What the page told as another account's is no word about this one's. */
  function forgetOthers() {
    const account = bright.messages.account();
    if (account === undefined || account === whose) return;
    if (whose !== undefined) known.clear();
    whose = account;
  }

  /** @param {any} row */
  function activity(row) {
    const latest = row.latestMessage ?? row.lastMsg ?? {};
    const times = [
      latest.sendTime,
      latest.gmtChatLong,
      latest.gmtChat,
      latest.message?.sendTime,
      latest.time,
      row.lastContactTimeLong,
      row.lastContactTime,
      row.lastMessageTime,
      row.modifyTime,
    ];
    for (const each of times) {
      const time = timeMs(each);
      if (time !== undefined) return time;
    }
    return null;
  }

  /**
   * The page's own spelling goes back into its own calls, made whole.
   *
   * @param {string} cid
   */
  function wholeCid(cid) {
    const bare = cid.replace(/@icbu$/, "");
    return `${bare.includes("#") ? bare : `${bare}#11011`}@icbu`;
  }

  /** @param {any} row */
  function take(row) {
    if (!isObject(row)) return;
    forgetOthers();
    const cid = first(row.cid, row.conversationCode, row.conversationId);
    const id = conversationId(cid);
    if (id === undefined || typeof cid !== "string") return;
    const contact = row.contact ?? row.conversationContent?.contact ?? {};
    bright.messages.rememberOwn(row.selfAliId);
    bright.messages.rememberOwn(row.owner);
    const before = known.get(id) ?? {};
    if (!known.has(id) && known.size >= MAX_CONVERSATIONS) return;
    const time = activity(row);
    known.set(id, {
      cid: before.cid ?? wholeCid(cid),
      latestMessageAtMs: Math.max(time ?? 0, before.latestMessageAtMs ?? 0) || null,
      ...handlesOf(row, contact, before),
      ...profileOf(row, contact, before),
    });
  }

  /**
   * @param {any} row
   * @param {any} contact
   * @param {Record<string, any>} before what another list said
   */
  function profileOf(row, contact, before) {
    return {
      profile: bright.profiles.read(row, contact, before.profile),
      // Other lists know the contact in part; a part must not pass for a change.
      isDetailed: before.isDetailed === true || bright.profiles.isDetailed(contact),
    };
  }

  /**
   * @param {any} row
   * @param {any} contact
   * @param {Record<string, any>} before what another list said
   */
  function handlesOf(row, contact, before) {
    /** @type {Record<string, unknown[]>} */
    const spellings = {
      title: [contact.name, row.name, row.contactNick, row.buyerName, row.companyName],
      accountId: [contact.accountId, row.accountId, row.contactAccountId],
      accountIdEncrypt: [
        contact.accountIdEncrypt,
        row.accountIdEncrypt,
        row.encryptContactAccountId,
        row.contactAccountIdEncrypt,
      ],
      aliId: [contact.aliId, row.aliId, row.contactAliId],
      aliIdEncrypt: [contact.aliIdEncrypt, row.aliIdEncrypt, row.encryptContactAliId],
      chatToken: [contact.chatToken, row.chatToken],
      selfAliId: [row.selfAliId, row.owner?.aliId],
    };
    return Object.fromEntries(
      Object.entries(spellings).map(([name, values]) => [
        name,
        first(...values, before[name]),
      ]),
    );
  }

  /** @param {any} answer */
  function takeUnread(answer) {
    const list = answer?.data?.list;
    if (Array.isArray(list)) list.forEach(take);
  }

  /** Lists that lie in the page, each there or not. */
  function takeGlobals() {
    const page = /** @type {any} */ (window);
    for (const list of [
      page.__VMFsConv__cache__,
      page.__conversationListFullData__,
      Object.values(page.__conversationListData__ ?? {}),
    ]) {
      if (Array.isArray(list)) list.forEach(take);
    }
  }

  /** @returns {any} */
  function service() {
    const page = /** @type {any} */ (window);
    const factory = page.IcbuIM?.IMBaaSSDK?.default ?? page._imBaaSSDK ?? page._imsdk;
    try {
      const made =
        factory?.getConversationServiceV2?.() ?? factory?.getConversationService?.();
      return typeof made?.getConversationListByPagination === "function"
        ? made
        : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Walks the SDK's list. It moves while it is walked, so a page may bring rows again;
   * a page that brings no further cursor ends it.
   *
   * @param {number} timeoutMs
   * @returns {Promise<boolean>} false: the SDK is not there (yet), or has nothing to say
   */
  async function takeSdk(timeoutMs) {
    const conversations = service();
    if (conversations === undefined) return false;
    let cursor = Date.now() + DAY_MS;
    let rows = 0;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const answer = await bright.within(
        Promise.resolve(
          conversations.getConversationListByPagination({ cursor, count: PAGE }),
        ),
        timeoutMs,
        "the page's conversation list",
      );
      const found =
        [answer, answer?.data, answer?.result, answer?.object].find((each) =>
          Array.isArray(each?.list),
        ) ?? {};
      (found.list ?? []).forEach(take);
      rows += found.list?.length ?? 0;
      const next = Number(found.nextCursor);
      if (!found.hasMore || !Number.isFinite(next) || next >= cursor) break;
      cursor = next;
    }
    return rows > 0;
  }

  bright.adapters.conversationLists = {
    take: (rows) => {
      if (Array.isArray(rows)) rows.forEach(take);
    },
    takeUnread,
    isAny: () => known.size > 0,
    handles: (id) => known.get(id) ?? {},
    ofAccount(accountIdEncrypt) {
      takeGlobals(); // the encrypted ids change; the page's own list has the present ones
      const found = Array.from(known).filter(
        ([, row]) => row.accountIdEncrypt === accountIdEncrypt,
      );
      return found.length === 1 ? found[0][0] : undefined;
    },
    async read(timeoutMs) {
      forgetOthers();
      const before = whose;
      takeGlobals();
      const [walked, unread] = await Promise.allSettled([
        takeSdk(timeoutMs),
        bright.http.get("/message/manager/unread.htm", timeoutMs).then(takeUnread),
      ]);
      forgetOthers();
      if (whose !== before) {
        known.clear(); // what came after the change may have been asked for before it
        throw new bright.PageFault("account_changed", "the page changed its account");
      }
      const reason = unread.status === "rejected" ? unread.reason : null;
      bright.adapters.condition.note(
        "unread",
        reason && (reason.code ?? "page_failed"),
      );
      // One source that answers is enough; none at all is worth saying.
      if (known.size === 0 && unread.status === "rejected") throw unread.reason;
      const full = /** @type {any} */ (window).__conversationListFullData__;
      const isWhole =
        (walked.status === "fulfilled" && walked.value) ||
        (Array.isArray(full) && full.length > 0);
      return {
        isWhole,
        conversations: Array.from(known, (entry) => listed(entry, isWhole)),
      };
    },
  };

  /**
   * @param {[string, Record<string, any>]} entry
   * @param {boolean} isWhole
   * @returns {BrightListed}
   */
  function listed([id, row], isWhole) {
    /** @type {BrightListed} */
    const conversation = {
      conversationId: id,
      latestMessageAtMs: row.latestMessageAtMs,
    };
    if (typeof row.title === "string") {
      const title = bright.text.storable(row.title);
      conversation.title = title.slice(0, 200).toWellFormed();
    }
    const aliId = bright.fields.personId(row.aliId);
    // Whose it is has to be known, or it might be the signed-in user's own.
    if (aliId === undefined || bright.messages.isOwn(aliId)) return conversation;
    if (isWhole || row.isDetailed) {
      conversation.contact = { aliId, profile: row.profile };
    }
    return conversation;
  }
})();
