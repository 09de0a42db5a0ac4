// The operations of an op-script's transaction (docs/storage-model.md): each is issued as
// its mode says, and its outcome written down. Needs globalThis.taggedValues.
(() => {
  const { decode, encode, encodeKey } = globalThis.taggedValues;
  const MAX_VISITS = 60;
  const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
  const given = (op, names) =>
    Object.fromEntries(
      names.filter((name) => has(op, name)).map((name) => [name, decode(op[name])]),
    );
  const queryOf = (query) => {
    if (query === undefined) return undefined;
    const [kind] = Object.keys(query);
    const ends = query[kind];
    if (kind === "key") return decode(ends);
    if (kind === "only") return IDBKeyRange.only(decode(ends));
    if (kind !== "bound") return IDBKeyRange[kind](decode(ends[0]), Boolean(ends[1]));
    return IDBKeyRange.bound(decode(ends[0]), decode(ends[1]), Boolean(ends[2]), Boolean(ends[3]));
  };

  const SCHEMA = {
    createStore: (transaction, op) =>
      transaction.db.createObjectStore(decode(op.name), given(op, ["keyPath", "autoIncrement"])),
    deleteStore: (transaction, op) => transaction.db.deleteObjectStore(decode(op.name)),
    renameStore: (transaction, op) => {
      transaction.objectStore(decode(op.store)).name = decode(op.to);
    },
    createIndex: (transaction, op) =>
      transaction
        .objectStore(decode(op.store))
        .createIndex(decode(op.name), decode(op.keyPath), given(op, ["unique", "multiEntry"])),
    deleteIndex: (transaction, op) =>
      transaction.objectStore(decode(op.store)).deleteIndex(decode(op.name)),
    renameIndex: (transaction, op) => {
      transaction.objectStore(decode(op.store)).index(decode(op.name)).name = decode(op.to);
    },
    abort: (transaction) => transaction.abort(),
    commit: (transaction) => transaction.commit(),
  };

  const write = (source, op) =>
    has(op, "key")
      ? source[op.op](decode(op.value), decode(op.key))
      : source[op.op](decode(op.value));
  const one = (source, op) => source[op.op](queryOf(op.query));
  const many = (source, op) => {
    const query = queryOf(op.query);
    return has(op, "count") ? source[op.op](query, decode(op.count)) : source[op.op](query);
  };
  const DATA = {
    add: write,
    put: write,
    clear: (source) => source.clear(),
    get: one,
    getKey: one,
    count: one,
    delete: one,
    getAll: many,
    getAllKeys: many,
    cursor: (source, op) =>
      source[op.keyOnly ? "openKeyCursor" : "openCursor"](
        queryOf(op.query),
        decode(op.direction) ?? "next",
      ),
  };

  // Gives the request, or undefined where the op needs none; or throws as the call does.
  const issue = (transaction, op) => {
    if (has(SCHEMA, op.op)) return void SCHEMA[op.op](transaction, op);
    if (!has(DATA, op.op)) throw new Error(`no such op: ${op.op}`);
    const store = transaction.objectStore(decode(op.store));
    return DATA[op.op](has(op, "index") ? store.index(decode(op.index)) : store, op);
  };

  // Keys and values that a request gives are each written as a value of their own.
  const WRITTEN = {
    add: encodeKey,
    put: encodeKey,
    update: encodeKey,
    getKey: encodeKey,
    getAll: (found) => Array.from(found, (value) => encode(value)),
    getAllKeys: (found) => Array.from(found, encodeKey),
  };

  // `then(true)`: go on; `then(false)`: the transaction is lost.
  const settle = (request, { kind, caught }, tell, then) => {
    request.onsuccess = () => {
      tell({ ok: (WRITTEN[kind] ?? encode)(request.result) });
      then(true);
    };
    request.onerror = (event) => {
      tell({ err: request.error.name });
      const lives = Boolean(caught) && request.error.name !== "AbortError";
      if (lives) event.preventDefault();
      then(lives);
    };
  };

  const isPlain = (value) => Object.prototype.toString.call(value) === "[object Object]";
  const updated = (cursor, action) =>
    has(action, "set")
      ? { ...(isPlain(cursor.value) ? cursor.value : {}), ...decode(action.set) }
      : decode(action.value);

  const MOVES = {
    continue: (cursor, action) =>
      has(action, "key") ? cursor.continue(decode(action.key)) : cursor.continue(),
    advance: (cursor, action) => cursor.advance(decode(action.n)),
    continuePrimaryKey: (cursor, action) =>
      cursor.continuePrimaryKey(decode(action.key), decode(action.primaryKey)),
  };
  const request = (transaction, cursor, action) => {
    if (action.a === "update") return cursor.update(updated(cursor, action));
    if (action.a === "delete") return cursor.delete();
    return issue(transaction, action.op);
  };

  // Walks a cursor; `tell` gets the outcome, `then` whether the transaction lives.
  const walk = (transaction, opening, op, tell, then) => {
    const visits = [];
    const finish = (outcome, lives) => {
      opening.onsuccess = opening.onerror = null;
      tell({ ...outcome, visits });
      then(lives);
    };

    const act = (cursor, visit, actions, from, movedBefore) => {
      let moved = movedBefore;
      for (let at = from; at < actions.length; at += 1) {
        const action = actions[at];
        const note = (outcome) => visit.acts.push(outcome);
        if (action.a === "stop") {
          note({ ok: null });
          return finish({ ok: "stop" }, true);
        }
        try {
          if (has(MOVES, action.a)) {
            MOVES[action.a](cursor, action);
            moved = true;
            note({ ok: null });
            continue;
          }
          const asked = request(transaction, cursor, action);
          if (asked) {
            const how = {
              kind: action.op?.op ?? action.a,
              caught: action.catch ?? action.op?.catch,
            };
            return settle(asked, how, note, (lives) =>
              lives
                ? act(cursor, visit, actions, at + 1, moved)
                : finish({ err: asked.error.name }, false),
            );
          }
          note({ ok: null });
        } catch (thrown) {
          note({ throw: thrown.name });
        }
      }
      if (moved) return;
      try {
        cursor.continue();
      } catch (thrown) {
        finish({ ok: "stuck", throw: thrown.name }, true);
      }
    };

    opening.onerror = () => finish({ err: opening.error.name }, false);
    opening.onsuccess = () => {
      const cursor = opening.result;
      if (!cursor) return finish({ ok: "end" }, true);
      if (visits.length >= (op.limit ?? MAX_VISITS)) return finish({ ok: "limit" }, true);
      const actions = op.program?.[visits.length] ?? op.every ?? [];
      const visit = { k: encodeKey(cursor.key), p: encodeKey(cursor.primaryKey) };
      if ("value" in cursor) visit.v = encode(cursor.value);
      if (actions.length > 0) visit.acts = [];
      visits.push(visit);
      act(cursor, visit, actions, 0, false);
    };
  };

  const runOps = (transaction, ops, pipeline, outcomes) => {
    const from = (start) => {
      for (let at = start; at < ops.length; at += 1) {
        const op = ops[at];
        const tell = (outcome) => (outcomes[at] = outcome);
        const then = (lives) => void (lives && !pipeline && from(at + 1));
        try {
          const asked = issue(transaction, op);
          if (!asked) {
            tell({ ok: null });
            continue;
          }
          if (op.op === "cursor") walk(transaction, asked, op, tell, then);
          else settle(asked, { kind: op.op, caught: op.catch }, tell, then);
          if (!pipeline) return;
        } catch (thrown) {
          tell({ throw: thrown.name });
        }
      }
    };
    from(0);
  };

  return { queryOf, runOps };
})();
