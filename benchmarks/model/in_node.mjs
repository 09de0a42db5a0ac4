// A contender of `bright bench model`: the work done by fake-indexeddb on Node, through
// its public API. A child process: the first line of standard input names the plan's file
// and the module. Only the operations are timed; what they left and gave is counted and
// digested between them.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const DATABASE = "bench";

/** @param {unknown} values */
const text = (values) => JSON.stringify(values);

/**
 * @template T
 * @param {{result: T, error: unknown, onsuccess: unknown, onerror: unknown}} request
 * @returns {Promise<T>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function completed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

class Contender {
  constructor(plan, { indexedDB, IDBKeyRange }) {
    this.plan = plan;
    this.factory = indexedDB;
    this.keyRange = IDBKeyRange;
  }

  async run() {
    const database = await this.open(1, (created) => {
      const { store, keyPath, indexes } = this.plan;
      const made = created.createObjectStore(store, { keyPath });
      for (const [name, path] of Object.entries(indexes)) made.createIndex(name, path);
    });
    const puts = await this.puts(database);
    const reads = await this.reads(database);
    database.close();
    return { puts, reads, upgrade: await this.upgrade() };
  }

  open(version, change) {
    const request = this.factory.open(DATABASE, version);
    request.onupgradeneeded = () => change(request.result, request.transaction);
    return done(request);
  }

  async puts(database) {
    const name = this.plan.store;
    const began = performance.now();
    for (const records of this.plan.transactions) {
      const transaction = database.transaction(name, "readwrite");
      const store = transaction.objectStore(name);
      for (const record of records) store.put(record);
      await completed(transaction);
    }
    const seconds = (performance.now() - began) / 1000;
    return { seconds, ...(await this.entries(database, this.plan.indexes)) };
  }

  async reads(database) {
    const name = this.plan.store;
    const digest = createHash("sha256");
    let hits = 0;
    let began = performance.now();
    const transaction = database.transaction(name);
    const store = transaction.objectStore(name);
    const indexes = {};
    for (const index of Object.keys(this.plan.indexes))
      indexes[index] = store.index(index);
    let spent = performance.now() - began;
    for (const [index, lower, upper] of this.plan.reads) {
      began = performance.now();
      const found = await done(
        indexes[index].getAll(this.keyRange.bound(lower, upper)),
      );
      spent += performance.now() - began;
      hits += found.length;
      digest.update(text(found));
    }
    await completed(transaction);
    return { seconds: spent / 1000, counted: hits, digest: digest.digest("hex") };
  }

  async upgrade() {
    const began = performance.now();
    const database = await this.open(2, (_, transaction) => {
      const store = transaction.objectStore(this.plan.store);
      for (const [name, path] of Object.entries(this.plan.added)) {
        store.createIndex(name, path);
      }
    });
    const seconds = (performance.now() - began) / 1000;
    return { seconds, ...(await this.entries(database, this.plan.added)) };
  }

  /** What the indexes hold: primary keys in index order. */
  async entries(database, indexes) {
    const store = database.transaction(this.plan.store).objectStore(this.plan.store);
    const digest = createHash("sha256");
    let counted = 0;
    for (const index of Object.keys(indexes)) {
      const keys = await done(store.index(index).getAllKeys());
      counted += keys.length;
      digest.update(text(keys));
    }
    return { counted, digest: digest.digest("hex") };
  }
}

/** @param {object} what */
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const config = JSON.parse((await lines.next()).value);
const contender = new Contender(
  JSON.parse(readFileSync(config.plan, "utf8")),
  await import(config.module),
);
say({ ready: true });
await lines.next();
say({ parts: await contender.run(), runtime: process.version });
await lines.next(); // stay until measured
