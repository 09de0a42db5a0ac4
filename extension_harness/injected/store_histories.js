// Runs histories of the durable store's verbs (docs/store.md) with the extension's own
// modules, over databases of another name each, so that they run side by side and the
// store of the extension stays as it is. Needs globalThis.taggedValues and opScripts.
(() => {
  const { decode, encode } = globalThis.taggedValues;
  const { open, dump, remove, inLanes } = globalThis.opScripts;
  const FILES = [
    ...["database", "steps", "observations", "deliveries", "checkpoints", "rebuild"],
    ...["cards", "profiles", "buyer-facts", "ledger-reoffers"],
  ];

  let loading = null;
  const load = async () => {
    const addresses = FILES.map((file) => chrome.runtime.getURL(`store/${file}.js`));
    const modules = await Promise.all(addresses.map((address) => import(address)));
    return Object.assign({}, ...modules);
  };
  const modules = () => (loading ??= load());

  const CALLS = {
    updateCheckpoint: (store, database, [account, conversation, fields]) =>
      store.updateCheckpoint(database, account, conversation, (before) =>
        fields === null ? null : { ...before, ...fields },
      ),
    stillPending: (store, database, scope) =>
      database.read([store.CANDIDATES], (transaction) => store.stillPending(transaction, ...scope)),
    checkpointsOf: async (store, database, [account]) => {
      const pages = [];
      for await (const page of store.checkpointsOf(database, account)) pages.push(page);
      return pages;
    },
  };

  const outcomeOf = async (store, database, { verb, arguments: given }) => {
    const values = given.map((value) => decode(value));
    try {
      const run = CALLS[verb];
      const result = run ? run(store, database, values) : store[verb](database, ...values);
      return { ok: encode(await result) };
    } catch (thrown) {
      return { failed: thrown.code ?? thrown.name };
    }
  };

  const connection = (name) =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });

  const runOne = async ({ start, calls }, prefix) => {
    let name = "";
    let looking = null;
    let own = null;
    try {
      const store = await modules();
      name = `${prefix}${store.DATABASE_NAME}`;
      let began = null;
      if (start) began = await open(name, start, (database) => database.close());
      // Another name and nothing else: the store opens and upgrades it by itself.
      const factory = {
        open: (_, version) => {
          const opening = indexedDB.open(name, version);
          opening.addEventListener("success", () => (own = opening.result));
          return opening;
        },
      };
      const database = new store.Database(factory);
      await database.open();
      looking = await connection(name);
      const steps = [{ outcome: began, dump: await dump(looking) }];
      for (const call of calls) {
        const outcome = await outcomeOf(store, database, call);
        steps.push({ outcome, dump: await dump(looking) });
      }
      return { steps };
    } catch (failure) {
      return { error: String(failure) };
    } finally {
      looking?.close();
      own?.close();
      if (name) remove(name).catch(() => {});
    }
  };

  return { runAll: (histories, prefix, lanes) => inLanes(histories, prefix, lanes, runOne) };
})();
