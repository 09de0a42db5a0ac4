// Runs in a document of the extension's origin, through the extension's own store modules.
// An expression: its value is what the bench calls, one function after another.
(async () => {
  const load = (name) => import(`/store/${name}.js`);
  const [{ Database }, steps, deliveries, cards, profiles, { recordBatch }] =
    await Promise.all(
      ["database", "steps", "deliveries", "cards", "profiles", "observations"].map(load),
    );
  const { CANDIDATES, MESSAGES, CARDS, PROFILES, CHECKPOINTS } = steps;

  const done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const completed = (transaction) =>
    new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  const digest = async (value) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  };

  /** The store under its own name and, for the writes, the same schema under others. */
  const stored = async (name = steps.DATABASE_NAME) => {
    const factory = { open: (_, version) => indexedDB.open(name, version) };
    const database = new Database(factory);
    await database.open();
    return { database, bare: await done(indexedDB.open(name)), name };
  };
  const drop = async ({ bare, name }) => {
    bare.close(); // the module's own connection closes as it is asked to
    await done(indexedDB.deleteDatabase(name));
  };

  const opened = await stored();

  /** Puts records by store in transactions of a thousand; durability does not matter. */
  const fill = async (plan, accounts) => {
    for (const [store, own] of Object.entries(plan.own)) {
      const text = JSON.stringify(own);
      let records = [];
      const flush = async () => {
        const options = { durability: "relaxed" };
        const transaction = opened.bare.transaction(store, "readwrite", options);
        for (const record of records) transaction.objectStore(store).put(record);
        records = [];
        await completed(transaction);
      };
      for (const account of accounts) {
        records.push(...JSON.parse(text.replaceAll(plan.account, account)));
        if (records.length >= 1000) await flush();
      }
      if (records.length > 0) await flush();
    }
  };

  const count = async (plan) => {
    const counts = {};
    for (const store of Object.keys(plan.own)) {
      const objects = opened.bare.transaction(store).objectStore(store);
      counts[store] = await done(objects.count());
    }
    return counts;
  };

  /** Each read through the store's verb, and the same requests made by hand. */
  const reads = ({ account, conversation, limit }) => {
    const { database, bare } = opened;
    const only = IDBKeyRange.only([account, "pending_ack"]);
    const under = (transaction, store, index) =>
      transaction.objectStore(store).index(index);
    return {
      pendingConversations: {
        verb: () =>
          deliveries.pendingConversations(database, account, { limit, after: null }),
        bare: async () => {
          const index = under(bare.transaction(CANDIDATES), CANDIDATES, "by_account_status");
          const keys = await done(index.getAllKeys(only));
          return [...new Set(keys.map((key) => JSON.parse(key)[1]))];
        },
      },
      nextPending: {
        verb: () => deliveries.nextPending(database, account, conversation, limit),
        bare: async () => {
          const transaction = bare.transaction([CANDIDATES, MESSAGES]);
          const index = under(transaction, CANDIDATES, "by_account_conversation_status");
          const key = IDBKeyRange.only([account, conversation, "pending_ack"]);
          const candidates = await done(index.getAll(key, limit));
          const messages = transaction.objectStore(MESSAGES);
          return Promise.all(
            candidates.map(async (candidate) => {
              const parts = [account, conversation, candidate.messageId];
              const message = await done(messages.get(JSON.stringify(parts)));
              return { candidate, message };
            }),
          );
        },
      },
      listPendingCards: {
        verb: () => cards.listPendingCards(database, account, { limit }),
        bare: () =>
          done(
            under(bare.transaction(CARDS), CARDS, "by_account_status").getAll(only, limit),
          ),
      },
      listPendingProfiles: {
        verb: () => profiles.listPendingProfiles(database, account, { limit }),
        bare: () =>
          done(
            under(
              bare.transaction(PROFILES),
              PROFILES,
              "by_account_pending_observed_at",
            ).getAll(IDBKeyRange.bound([account], [account, []]), limit),
          ),
      },
    };
  };

  /** Milliseconds of one call, over several: the clock of a page is coarse. */
  const timed = async (repeats, call) => {
    const began = performance.now();
    let value;
    for (let nth = 0; nth < repeats; nth += 1) value = await call();
    return { ms: (performance.now() - began) / repeats, value };
  };

  /** One round of all reads; what a verb gives and what the bare requests give is told. */
  const readRound = async (plan, number) => {
    const result = {};
    for (const [name, read] of Object.entries(reads(plan))) {
      const kinds = number % 2 ? ["bare", "verb"] : ["verb", "bare"];
      const ran = {};
      for (const kind of kinds) ran[kind] = await timed(plan.repeats, read[kind]);
      const [verb, bare] = [ran.verb, ran.bare];
      result[name] = {
        verbMs: verb.ms,
        bareMs: bare.ms,
        found: verb.value.length,
        verbDigest: await digest(verb.value),
        bareDigest: await digest(bare.value),
      };
    }
    return result;
  };

  /** A batch as the recorder prepares it, all of it new. */
  const prepared = (plan, number) => {
    const conversationId = `writes-${number}@icbu`;
    const fact = (nth) => {
      const sentAtMs = 1_760_000_000_000 + number * 1_000_000 + nth * 1000;
      const messageId = String(sentAtMs);
      const content = {
        messageId,
        conversationId,
        senderId: conversationId,
        direction: "inbound",
        sentAtMs,
        kind: "text",
        text: "The carton size is 60x40x40 cm, 18 kg each",
      };
      return { content, digest: messageId.padStart(64, "0"), ifConflict: {} };
    };
    return {
      channelAccountId: plan.account,
      conversationId,
      facts: Array.from({ length: plan.batchMessages }, (_, nth) => fact(nth)),
      anomalies: [],
      observedAtMs: 1_760_000_000_000,
      page: null,
      ifNoAnchor: null,
    };
  };

  const stores = [MESSAGES, CANDIDATES, CHECKPOINTS];

  /** Everything that the batches left, by store; the bench's own database is small. */
  const everything = async ({ bare }) => {
    const left = {};
    for (const store of stores) {
      left[store] = await done(bare.transaction(store).objectStore(store).getAll());
    }
    return left;
  };

  const byVerb = async ({ database }, batches) => {
    const began = performance.now();
    for (const batch of batches) await recordBatch(database, batch);
    return (performance.now() - began) / 1000;
  };

  /** What each batch left, put by hand into an empty database, as durable. */
  const byHand = async ({ bare }, batches, left) => {
    const groups = batches.map(({ conversationId }) =>
      stores.map((store) => [
        store,
        left[store].filter((record) => record.conversationId === conversationId),
      ]),
    );
    const began = performance.now();
    for (const group of groups) {
      const transaction = bare.transaction(stores, "readwrite", { durability: "strict" });
      for (const [store, records] of group) {
        const objects = transaction.objectStore(store);
        for (const record of records) objects.put(record);
      }
      await completed(transaction);
    }
    return (performance.now() - began) / 1000;
  };

  /** One round of strict writes, each into a fresh database; they take turns at first. */
  const writeRound = async (plan, number) => {
    const batches = Array.from({ length: plan.batches }, (_, nth) => prepared(plan, nth));
    const dry = await stored("bench-dry");
    await byVerb(dry, batches);
    const left = await everything(dry);
    await drop(dry);
    const seconds = {};
    const digests = {};
    const ways = {
      verb: (into) => byVerb(into, batches),
      bare: (into) => byHand(into, batches, left),
    };
    for (const kind of number % 2 ? ["bare", "verb"] : ["verb", "bare"]) {
      const into = await stored(`bench-${kind}`);
      seconds[kind] = await ways[kind](into);
      digests[kind] = await digest(await everything(into));
      await drop(into);
    }
    return {
      verbSeconds: seconds.verb,
      bareSeconds: seconds.bare,
      verbDigest: digests.verb,
      bareDigest: digests.bare,
      records: stores.reduce((sum, store) => sum + left[store].length, 0),
    };
  };

  globalThis.bench = { fill, count, readRound, writeRound };
  return true;
})();
