// Runs op-scripts (docs/storage-model.md) over this origin's IndexedDB. Needs
// globalThis.taggedValues and globalThis.opRequests. Databases are named by a prefix, so
// that scripts run side by side, and each script's are deleted after it.
(() => {
  const { decode, encode, encodeKey } = globalThis.taggedValues;
  const { queryOf, runOps } = globalThis.opRequests;
  const STEP_MS = 20_000;
  const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
  const pathOf = ({ keyPath }) =>
    encode(keyPath !== null && typeof keyPath === "object" ? Array.from(keyPath) : keyPath);
  const filled = (ops, outcomes) => ops.map((_, at) => outcomes[at] ?? { skip: true });

  const inTime = (start) =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("a step gave no answer in time")), STEP_MS);
      start((value) => {
        clearTimeout(late);
        resolve(value);
      });
    });

  const versionOf = async (name) =>
    (await indexedDB.databases()).find((entry) => entry.name === name)?.version ?? 0;

  // Gives the outcome; `keep` gets the connection.
  const open = (name, step, keep) =>
    inTime((resolve) => {
      const upgraded = {};
      const outcomes = [];
      const ops = step.upgrade ?? [];
      let opening;
      try {
        opening = has(step, "version")
          ? indexedDB.open(name, decode(step.version))
          : indexedDB.open(name);
      } catch (thrown) {
        return resolve({ throw: thrown.name });
      }
      opening.onupgradeneeded = (event) => {
        const transaction = opening.transaction;
        upgraded.old = event.oldVersion;
        upgraded.new = event.newVersion;
        transaction.oncomplete = () => (upgraded.tx = "complete");
        transaction.onabort = () => {
          upgraded.tx = "abort";
          upgraded.txerr = transaction.error?.name ?? null;
        };
        runOps(transaction, ops, step.pipeline, outcomes);
      };
      const end = (outcome) => {
        if (upgraded.tx) upgraded.ops = filled(ops, outcomes);
        resolve({ ...outcome, ...upgraded });
      };
      opening.onsuccess = () => {
        keep(opening.result);
        end({ ok: opening.result.version });
      };
      opening.onerror = (event) => {
        event.preventDefault();
        end({ err: opening.error.name });
      };
    });

  const transact = (database, step) =>
    inTime((resolve) => {
      const outcomes = [];
      const ops = step.ops ?? [];
      let transaction;
      try {
        const stores = decode(step.stores);
        transaction = has(step, "mode")
          ? database.transaction(stores, decode(step.mode))
          : database.transaction(stores);
      } catch (thrown) {
        return resolve({ throw: thrown.name });
      }
      const end = (rest) => resolve({ ...rest, ops: filled(ops, outcomes) });
      transaction.oncomplete = () => end({ tx: "complete" });
      transaction.onabort = () => end({ tx: "abort", txerr: transaction.error?.name ?? null });
      runOps(transaction, ops, step.pipeline, outcomes);
    });

  const remove = (name) =>
    inTime((resolve) => {
      const deleting = indexedDB.deleteDatabase(name);
      deleting.onsuccess = (event) => resolve({ ok: event.oldVersion });
      deleting.onerror = () => resolve({ err: deleting.error.name });
    });

  // Every record in order; in one answer where the browser can give that.
  const each = (source, isIndex, visit) => {
    if (source.getAllRecords) {
      source.getAllRecords().onsuccess = ({ target }) => target.result.forEach(visit);
      return;
    }
    const opening = isIndex ? source.openKeyCursor() : source.openCursor();
    opening.onsuccess = () => {
      const cursor = opening.result;
      if (cursor === null) return;
      visit(cursor);
      cursor.continue();
    };
  };

  // The whole of a database at one moment: shapes, records, index entries.
  const dump = (database) => {
    if (!database) return null;
    const names = Array.from(database.objectStoreNames);
    const picture = { version: database.version, stores: [] };
    if (names.length === 0) return picture;
    return inTime((resolve) => {
      const transaction = database.transaction(names);
      transaction.oncomplete = () => resolve(picture);
      for (const name of names) {
        const store = transaction.objectStore(name);
        const { autoIncrement } = store;
        const shape = {
          name: encode(name),
          keyPath: pathOf(store),
          autoIncrement,
          records: [],
          indexes: [],
        };
        picture.stores.push(shape);
        each(store, false, ({ key, value }) => shape.records.push([encodeKey(key), encode(value)]));
        for (const label of Array.from(store.indexNames)) {
          const index = store.index(label);
          const { unique, multiEntry } = index;
          const entries = [];
          shape.indexes.push({
            name: encode(label),
            keyPath: pathOf(index),
            unique,
            multiEntry,
            entries,
          });
          each(index, true, ({ key, primaryKey }) =>
            entries.push([encodeKey(key), encodeKey(primaryKey)]),
          );
        }
      }
    });
  };

  // Adds "next", the key that each generator would give now; null where it cannot be known.
  const probe = (database, picture) => {
    const counted = picture.stores.filter((shape) => shape.autoIncrement);
    if (counted.length === 0) return undefined;
    return inTime((resolve) => {
      const names = counted.map((shape) => decode(shape.name));
      const transaction = database.transaction(names, "readwrite");
      transaction.onabort = resolve;
      let left = counted.length;
      counted.forEach((shape, at) => {
        const end = (next) => {
          shape.next = next;
          left -= 1;
          if (left === 0) transaction.abort();
        };
        const adding = transaction.objectStore(names[at]).add({});
        adding.onsuccess = () => end(adding.result);
        adding.onerror = (event) => {
          event.preventDefault();
          end(null);
        };
      });
    });
  };

  const sign = (left, right) => {
    try {
      return "<=>"[indexedDB.cmp(left, right) + 1];
    } catch (thrown) {
      return thrown.name === "DataError" ? "!" : "?";
    }
  };
  const told = (act) => {
    try {
      return act();
    } catch (thrown) {
      return { throw: thrown.name };
    }
  };
  const rangeOutcome = (step) =>
    told(() => {
      const range = queryOf(step.query);
      const { lowerOpen, upperOpen } = range;
      const ok = {
        lower: encodeKey(range.lower),
        upper: encodeKey(range.upper),
        lowerOpen,
        upperOpen,
      };
      if (step.includes)
        ok.includes = step.includes.map((key) => told(() => range.includes(decode(key))));
      return { ok };
    });

  const runOne = async (steps, prefix) => {
    const connections = new Map();
    const labels = new Set();
    const close = (name) => {
      connections.get(name)?.close();
      connections.delete(name);
    };
    const opened = (name, step) => open(name, step, (database) => connections.set(name, database));
    const connected = async (name) => {
      if (!connections.has(name) && (await versionOf(name)) > 0) await opened(name, {});
      return connections.get(name);
    };
    const PLAIN = {
      cmp: ({ keys }) => {
        const made = keys.map((key) => decode(key));
        return { ok: made.map((left) => made.map((right) => sign(left, right)).join("")) };
      },
      range: rangeOutcome,
    };
    const ON_DATABASE = {
      open: (name, step) => (close(name), opened(name, step)),
      close: (name) => (close(name), { ok: null }),
      version: async (name) => ({ ok: await versionOf(name) }),
      dump: async (name) => ({ ok: await dump(await connected(name)) }),
      deleteDatabase: (name) => (close(name), remove(name)),
      tx: async (name, step) => {
        const database = await connected(name);
        return database ? transact(database, step) : { noconn: true };
      },
    };
    const run = (step) => {
      if (has(PLAIN, step.do)) return PLAIN[step.do](step);
      if (!has(ON_DATABASE, step.do)) throw new Error(`no such step: ${step.do}`);
      const label = step.db ?? "main";
      labels.add(label);
      return ON_DATABASE[step.do](prefix + label, step);
    };

    try {
      const expect = [];
      for (const step of steps) expect.push(await run(step));
      const pictures = {};
      for (const label of labels) {
        const database = await connected(prefix + label);
        pictures[label] = await dump(database);
        if (database) await probe(database, pictures[label]);
      }
      return { expect, dump: pictures };
    } catch (failure) {
      return { error: String(failure) };
    } finally {
      for (const label of labels) {
        close(prefix + label);
        indexedDB.deleteDatabase(prefix + label);
      }
    }
  };

  // Many cases, `lanes` at a time; the outcomes as one JSON text, in the cases' order.
  const inLanes = async (cases, prefix, lanes, run) => {
    const outcomes = new Array(cases.length);
    let next = 0;
    const lane = async () => {
      while (next < cases.length) {
        const at = next;
        next += 1;
        outcomes[at] = await run(cases[at], `${prefix}${at}-`);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return JSON.stringify(outcomes);
  };

  const runAll = (scripts, prefix, lanes) => inLanes(scripts, prefix, lanes, runOne);

  return { runAll, inLanes, open, dump, remove };
})();
