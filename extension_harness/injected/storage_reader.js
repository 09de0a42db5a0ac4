// Runs in a document of the extension's origin. Opens what is there and nothing else; each
// function opens and closes its own connection, so that no upgrade waits for the reader.
(() => {
  const connect = async (name) => {
    // Opening a database that is not there would create it.
    const known = await indexedDB.databases();
    if (!known.some((entry) => entry.name === name)) return null;
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(name);
      request.onupgradeneeded = () => request.transaction.abort(); // it went meanwhile
      request.onsuccess = () => {
        request.result.onversionchange = () => request.result.close();
        resolve(request.result);
      };
      request.onerror = () => reject(request.error);
    });
  };

  const hex = (bytes) =>
    [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  const plain = (value) => {
    if (value === undefined) return { $undefined: true };
    if (typeof value === "bigint") return { $bigint: String(value) };
    if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(plain);
    if (value instanceof Date) return { $date: value.getTime() };
    if (value instanceof ArrayBuffer) return { $bytes: hex(value) };
    if (ArrayBuffer.isView(value)) {
      return { $bytes: hex(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)) };
    }
    if (Object.getPrototypeOf(value) !== Object.prototype) {
      return { $other: Object.prototype.toString.call(value).slice(8, -1) };
    }
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
  };

  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  const withDatabase = async (name, absent, act) => {
    const database = await connect(name);
    if (database === null) return absent;
    try {
      return await act(database);
    } finally {
      database.close();
    }
  };

  // A cursor's place is kept here between chunks: not every key survives JSON.
  const places = (globalThis.storageReaderPlaces ??= new Map());

  return {
    shape: (name) =>
      withDatabase(name, null, (database) => {
        const names = [...database.objectStoreNames];
        if (names.length === 0) return { version: database.version, stores: [] };
        const transaction = database.transaction(names);
        const stores = names.map((each) => {
          const store = transaction.objectStore(each);
          const indexes = [...store.indexNames].map((label) => {
            const { name: title, keyPath, unique, multiEntry } = store.index(label);
            return { name: title, keyPath, unique, multiEntry };
          });
          return { name: each, keyPath: store.keyPath, autoIncrement: store.autoIncrement, indexes };
        });
        return { version: database.version, stores };
      }),

    count: (name, each) =>
      withDatabase(name, 0, (database) =>
        database.objectStoreNames.contains(each)
          ? settled(database.transaction([each]).objectStore(each).count())
          : 0,
      ),

    chunk: (name, each, resume, size) =>
      withDatabase(name, { records: "[]", resume: null }, async (database) => {
        const range = resume === null ? null : IDBKeyRange.lowerBound(places.get(resume), true);
        const store = database.transaction([each]).objectStore(each);
        // Both requests in one transaction see the same moment, in the same order.
        const [keys, values] = await Promise.all([
          settled(store.getAllKeys(range, size)),
          settled(store.getAll(range, size)),
        ]);
        const records = JSON.stringify(keys.map((key, at) => [plain(key), plain(values[at])]));
        if (keys.length < size) return { records, resume: null };
        const place = `${each}/${places.size}`;
        places.set(place, keys.at(-1));
        return { records, resume: place };
      }),
  };
})()
