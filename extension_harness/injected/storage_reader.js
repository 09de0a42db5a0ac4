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

  const hex = (bytes) => {
    let text = "";
    for (const byte of new Uint8Array(bytes))
      text += byte.toString(16).padStart(2, "0");
    return text;
  };

  const isDense = (list) => {
    const names = Object.keys(list);
    return (
      names.length === list.length && names.every((name, at) => name === String(at))
    );
  };

  // `order` arranges an object's properties, which are one content in any order.
  const teller = (order) => {
    const pairs = (entries) =>
      [...entries].map(([key, inner]) => [plain(key), plain(inner)]);

    const plain = (value) => {
      if (value === undefined) return { $undefined: true };
      if (typeof value === "bigint") return { $bigint: String(value) };
      if (typeof value === "number") {
        if (Object.is(value, -0)) return { $number: "-0" };
        return Number.isFinite(value) ? value : { $number: String(value) };
      }
      if (value === null || typeof value !== "object") return value;
      if (Array.isArray(value)) {
        if (isDense(value)) return value.map(plain);
        return { $array: value.length, $own: pairs(Object.entries(value)) };
      }
      if (value instanceof Date) return { $date: plain(value.getTime()) };
      if (value instanceof ArrayBuffer) return { $bytes: hex(value) };
      if (ArrayBuffer.isView(value)) {
        const { buffer, byteOffset, byteLength } = value;
        const $bytes = hex(buffer.slice(byteOffset, byteOffset + byteLength));
        return { $bytes, $view: value.constructor.name };
      }
      if (value instanceof Map) return { $map: pairs(value) };
      if (value instanceof Set) return { $set: [...value].map(plain) };
      if (value instanceof RegExp)
        return { $regexp: value.source, $flags: value.flags };
      if (Object.getPrototypeOf(value) !== Object.prototype) {
        return { $other: Object.prototype.toString.call(value).slice(8, -1) };
      }
      const names = order(Object.keys(value));
      if (names.some((name) => name.startsWith("$"))) {
        return { $object: names.map((name) => [name, plain(value[name])]) };
      }
      return Object.fromEntries(names.map((name) => [name, plain(value[name])]));
    };
    return plain;
  };
  const plain = teller((names) => names);
  const sorted = teller((names) => names.sort());

  // The sign of a zero is no part of a key; which one comes back is the browser's choice.
  const plainKey = (key) => {
    if (Array.isArray(key)) return key.map(plainKey);
    return plain(Object.is(key, -0) ? 0 : key);
  };

  const digest = async (text) => {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return hex(bytes.slice(0, 16));
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
  const placed = (found, size, place) => {
    if (found.length < size) return null;
    const label = String(places.size);
    places.set(label, place);
    return label;
  };

  // Up to `size` records of a store after a place, read in one transaction.
  const records = (tell, name, each, resume, size) =>
    withDatabase(name, { found: [], resume: null }, async (database) => {
      const range =
        resume === null ? null : IDBKeyRange.lowerBound(places.get(resume), true);
      const store = database.transaction([each]).objectStore(each);
      // Both requests in one transaction see the same moment, in the same order.
      const [keys, values] = await Promise.all([
        settled(store.getAllKeys(range, size)),
        settled(store.getAll(range, size)),
      ]);
      const found = keys.map((key, at) => [plainKey(key), tell(values[at])]);
      return { found, resume: placed(found, size, keys.at(-1)) };
    });

  // Up to `size` entries of an index after a place.
  const entries = (name, each, label, resume, size) =>
    withDatabase(name, { found: [], resume: null }, (database) => {
      const last = resume === null ? null : places.get(resume);
      const range = last === null ? null : IDBKeyRange.lowerBound(last.key);
      const index = database.transaction([each]).objectStore(each).index(label);
      const request = index.openKeyCursor(range);
      const found = [];
      let place = last;
      return new Promise((resolve, reject) => {
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const cursor = request.result;
          if (
            cursor !== null &&
            last !== null &&
            indexedDB.cmp(cursor.key, last.key) === 0
          ) {
            const order = indexedDB.cmp(cursor.primaryKey, last.primaryKey);
            if (order < 0) return cursor.continuePrimaryKey(last.key, last.primaryKey);
            if (order === 0) return cursor.continue();
          }
          if (cursor !== null) {
            found.push([plainKey(cursor.key), plainKey(cursor.primaryKey)]);
            place = { key: cursor.key, primaryKey: cursor.primaryKey };
          }
          if (cursor !== null && found.length < size) return cursor.continue();
          resolve({ found, resume: placed(found, size, place) });
        };
      });
    });

  const text = ({ found, resume }) => ({ found: JSON.stringify(found), resume });

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
          return {
            name: each,
            keyPath: store.keyPath,
            autoIncrement: store.autoIncrement,
            indexes,
          };
        });
        return { version: database.version, stores };
      }),

    count: (name, each) =>
      withDatabase(name, 0, (database) =>
        database.objectStoreNames.contains(each)
          ? settled(database.transaction([each]).objectStore(each).count())
          : 0,
      ),

    records: async (...given) => text(await records(plain, ...given)),

    entries: async (...given) => text(await entries(...given)),

    // Digests of records: [key as text, digest].
    digests: async (...given) => {
      const { found, resume } = await records(sorted, ...given);
      const digested = found.map(async (record) => [
        JSON.stringify(record[0]),
        await digest(JSON.stringify(record)),
      ]);
      return text({ found: await Promise.all(digested), resume });
    },

    // An index as one digest over the digests of its chunks, and how many entries it has.
    indexDigest: async (name, each, label, size) => {
      let count = 0;
      let all = "";
      let resume = null;
      do {
        const chunk = await entries(name, each, label, resume, size);
        count += chunk.found.length;
        all += await digest(JSON.stringify(chunk.found));
        resume = chunk.resume;
      } while (resume !== null);
      return { count, digest: await digest(all) };
    },
  };
})()
