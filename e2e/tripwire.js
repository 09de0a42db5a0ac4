// A tripwire for test builds (OT-17): a read that is bounded by nothing throws and is noted,
// in `tripped` and in chrome.storage.local, which outlives the worker. It runs before the
// code that it watches, in its world.

const MAX_STEPS = 2_000; // of cursors, in one transaction

globalThis.tripped = [];

function trip(what) {
  const noted = { what, where: String(new Error(what).stack).slice(0, 1_500) };
  globalThis.tripped.push(noted);
  globalThis.chrome?.storage?.local?.set({
    [`tripped ${crypto.randomUUID()}`]: noted.what,
  });
  throw new Error(`tripwire: ${what}`);
}

/** The newer form of these calls takes one object with all of it. */
function asked(given) {
  const [first, second] = given;
  const isDictionary =
    first !== null &&
    typeof first === "object" &&
    Object.getPrototypeOf(first) === Object.prototype;
  return isDictionary
    ? { range: first.query, count: first.count }
    : { range: first, count: second };
}

function guard(type, method, isBad, words) {
  const real = type.prototype[method];
  if (real === undefined) return; // this Chromium does not have it yet
  type.prototype[method] = function (...given) {
    if (isBad(asked(given))) trip(`${method} of ${nameOf(this)} ${words}`);
    return real.apply(this, given);
  };
}

function nameOf(source) {
  return source instanceof IDBIndex
    ? `${source.objectStore.name}.${source.name}`
    : source?.name;
}

const always = () => true;
const isUnranged = ({ range }) => range === undefined || range === null;
const isUncounted = ({ count }) => !(count > 0);

for (const method of ["getAll", "getAllKeys", "getAllRecords"]) {
  guard(IDBObjectStore, method, always, "reads an object store by no scope");
}
for (const method of ["getAll", "getAllRecords"]) {
  guard(IDBIndex, method, isUncounted, "says not how many at most");
}
for (const type of [IDBObjectStore, IDBIndex]) {
  for (const method of ["openCursor", "openKeyCursor", "count"]) {
    guard(type, method, isUnranged, "has no range");
  }
}
for (const method of ["getAll", "getAllKeys", "getAllRecords"]) {
  guard(IDBIndex, method, isUnranged, "has no range");
}

const steps = new WeakMap();
for (const method of ["advance", "continue", "continuePrimaryKey"]) {
  const real = IDBCursor.prototype[method];
  IDBCursor.prototype[method] = function (...given) {
    const { transaction } = this.request;
    const taken = (steps.get(transaction) ?? 0) + 1;
    steps.set(transaction, taken);
    if (taken > MAX_STEPS) {
      trip(`a cursor over ${nameOf(this.source)} went more than ${MAX_STEPS} steps`);
    }
    return real.apply(this, given);
  };
}
