// Records in memory behind the part of IndexedDB that decisions over few records need: gets,
// puts, and bounded reads under one index key. What the real one does is tested in Chromium.

import { upgrade } from "../../../extension_harness/extension/store/steps.js";

globalThis.IDBKeyRange ??= {
  only: (key) => ({ only: key }),
  lowerBound: (key) => ({ beyond: key }),
  // Of an index all that begins with this key, of a store a span of its keys: the
  // product uses it in no other way.
  bound: (begin, end) => ({ begin, end }),
};

class Store {
  records = new Map();
  #keyPath;
  #indexes = new Map();

  constructor(keyPath) {
    this.#keyPath = keyPath;
  }

  get indexNames() {
    return { contains: (name) => this.#indexes.has(name) };
  }

  createIndex = (name, keyPath) => this.#indexes.set(name, keyPath);
  get = (key) => asked(structuredClone(this.records.get(key)));
  getKey = (key) =>
    asked(
      typeof key === "string"
        ? [key].find((each) => this.records.has(each))
        : [...this.records.keys()]
            .sort()
            .find((each) => key.begin <= each && each <= key.end),
    );
  delete = (key) => asked(void this.records.delete(key));
  put = (record) =>
    asked(this.records.set(record[this.#keyPath], structuredClone(record)));

  index(name) {
    const keyOf = (record) =>
      [this.#indexes.get(name)].flat().map((path) => valueAt(record, path));
    const under = (range) => {
      const key = [range.only ?? range.begin].flat();
      return [...this.records]
        .sort(([left], [right]) => (left < right ? -1 : 1))
        .map(([, record]) => structuredClone(record))
        .filter((record) => keyOf(record).every((part) => part !== undefined))
        .filter(
          (record) =>
            String(
              keyOf(record).slice(0, range.only ? undefined : key.length),
            ) === String(key),
        );
    };
    const keysUnder = (range) =>
      [...this.records.keys()]
        .filter((key) =>
          under(range).some((record) => record[this.#keyPath] === key),
        )
        .sort();
    return {
      openKeyCursor: (range) =>
        range.beyond === undefined
          ? cursorOver(keysUnder(range))
          : cursorOver(
              distinct([...this.records.values()].map(keyOf)).filter(
                (key) => key > range.beyond,
              ),
            ),
      openCursor: (range) => cursorOver(keysUnder(range), this.records),
      count: (range) => asked(under(range).length),
      getAllKeys: (range) => asked(keysUnder(range)),
      getAll: (range, limit) => asked(under(range).slice(0, limit)),
    };
  }
}

/** What lacks a part of its key has no entry in the index. */
const valueAt = (record, path) =>
  path.split(".").reduce((value, name) => value?.[name], record);

const distinct = (keys) => [...new Set(keys.map(String))].sort();

function cursorOver(keys, records) {
  const request = asked(null);
  const at = (position) => {
    const step = (next) => {
      request.result = at(next);
      queueMicrotask(() => request.onsuccess());
    };
    return position >= keys.length
      ? null
      : {
          key: keys[position],
          primaryKey: keys[position],
          value: structuredClone(records?.get(keys[position])),
          continue: () => step(position + 1),
          continuePrimaryKey: (_key, primary) => {
            const next = keys.findIndex(
              (key, index) => index > position && key >= primary,
            );
            step(next < 0 ? keys.length : next);
          },
        };
  };
  request.result = at(0);
  return request;
}

function asked(result) {
  const request = { result, error: null };
  queueMicrotask(() => request.onsuccess?.());
  return request;
}

/** Stands where `Database` does; made by the real schema's own steps. */
export class MemoryStore {
  #stores = new Map();
  #transaction = { objectStore: (name) => this.#stores.get(name) };

  constructor() {
    const database = {
      objectStoreNames: { contains: (name) => this.#stores.has(name) },
      createObjectStore: (name, { keyPath }) =>
        this.#stores.set(name, new Store(keyPath)),
    };
    upgrade(database, this.#transaction, 0);
  }

  read = (_stores, body) => body(this.#transaction);
  write = this.read;

  fill(name, ...records) {
    for (const record of records) this.#stores.get(name).put(record);
  }

  all(name) {
    return [...this.#stores.get(name).records.values()];
  }
}
