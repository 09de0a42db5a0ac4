// Runs in a document of the extension's origin, through the extension's own store modules.
// An expression: its value is what the bench calls, one function after another.
(async () => {
  const load = (name) => import(`/store/${name}.js`);
  const [{ Database }, steps, deliveries, cards, profiles, { recordBatch }] =
    await Promise.all(
      ["database", "steps", "deliveries", "cards", "profiles", "observations"].map(
        load,
      ),
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
          const index = under(
            bare.transaction(CANDIDATES),
            CANDIDATES,
            "by_account_status",
          );
          const keys = await done(index.getAllKeys(only));
          return [...new Set(keys.map((key) => JSON.parse(key)[1]))];
        },
      },
      nextPending: {
        verb: () => deliveries.nextPending(database, account, conversation, limit),
        bare: async () => {
          const transaction = bare.transaction([CANDIDATES, MESSAGES]);
          const index = under(
            transaction,
            CANDIDATES,
            "by_account_conversation_status",
          );
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
            under(bare.transaction(CARDS), CARDS, "by_account_status").getAll(
              only,
              limit,
            ),
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

  /** Milliseconds of one call: the clock of a page is coarse, so several make a time. */
  const timed = async (calls, call) => {
    const began = performance.now();
    let value;
    for (let nth = 0; nth < calls; nth += 1) value = await call();
    return { ms: (performance.now() - began) / calls, value };
  };
  const median = (values) => {
    const sorted = values.toSorted((left, right) => left - right);
    const middle = sorted.length >> 1;
    return sorted.length % 2
      ? sorted[middle]
      : (sorted[middle - 1] + sorted[middle]) / 2;
  };

  /** One round of all reads, the verb and the bare requests in turns; both are told. */
  const readRound = async (plan, number) => {
    const result = {};
    const kinds = number % 2 ? ["bare", "verb"] : ["verb", "bare"];
    for (const [name, read] of Object.entries(reads(plan))) {
      const times = { verb: [], bare: [] };
      const values = {};
      for (let nth = 0; nth < plan.repeats; nth += 1) {
        for (const kind of kinds) {
          const { ms, value } = await timed(plan.calls, read[kind]);
          times[kind].push(ms);
          values[kind] = value;
        }
      }
      result[name] = {
        verbMs: median(times.verb),
        bareMs: median(times.bare),
        found: values.verb.length,
        verbDigest: await digest(values.verb),
        bareDigest: await digest(values.bare),
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

  /** What one batch left, put by hand into a store that is as empty, as durable. */
  const byHand = async ({ bare }, { conversationId }, left) => {
    const groups = stores.map((store) => [
      store,
      left[store].filter((record) => record.conversationId === conversationId),
    ]);
    const began = performance.now();
    const transaction = bare.transaction(stores, "readwrite", { durability: "strict" });
    for (const [store, records] of groups) {
      const objects = transaction.objectStore(store);
      for (const record of records) objects.put(record);
    }
    await completed(transaction);
    return performance.now() - began;
  };
  const byVerb = async ({ database }, batch) => {
    const began = performance.now();
    await recordBatch(database, batch);
    return performance.now() - began;
  };

  /** One round of strict writes into two fresh databases, batch by batch in turns. */
  const writeRound = async (plan, number) => {
    const batches = Array.from({ length: plan.batches }, (_, nth) =>
      prepared(plan, nth),
    );
    const dry = await stored("bench-dry");
    for (const batch of batches) await recordBatch(dry.database, batch);
    const left = await everything(dry);
    await drop(dry);
    const into = { verb: await stored("bench-verb"), bare: await stored("bench-bare") };
    const ways = { verb: byVerb, bare: byHand };
    const spent = { verb: 0, bare: 0 };
    for (const [nth, batch] of batches.entries()) {
      for (const kind of (number + nth) % 2 ? ["bare", "verb"] : ["verb", "bare"]) {
        spent[kind] += await ways[kind](into[kind], batch, left);
      }
    }
    const verbDigest = await digest(await everything(into.verb));
    const bareDigest = await digest(await everything(into.bare));
    await drop(into.verb);
    await drop(into.bare);
    return {
      verbSeconds: spent.verb / 1000,
      bareSeconds: spent.bare / 1000,
      verbDigest,
      bareDigest,
      records: stores.reduce((sum, store) => sum + left[store].length, 0),
    };
  };

  globalThis.bench = { fill, count, readRound, writeRound };
  return true;
})();
