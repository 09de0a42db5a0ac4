// Runs in a document of the extension's origin and makes databases as they are described:
// of any shape and any version, with values that JSON has no words for.
(() => {
  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error("another connection is open"));
    });

  const bytesOf = (hex) => {
    const bytes = new Uint8Array(hex.length / 2);
    for (let at = 0; at < bytes.length; at += 1) {
      bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
    }
    return bytes.buffer;
  };

  const assigned = (target, own) => {
    for (const [name, value] of own) {
      Object.defineProperty(target, name, {
        value: revived(value),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return target;
  };

  const pairs = (list) => list.map(([key, value]) => [revived(key), revived(value)]);

  const REVIVERS = {
    $undefined: () => undefined,
    $number: ({ $number }) => Number($number),
    $bigint: ({ $bigint }) => BigInt($bigint),
    $date: ({ $date }) => new Date(revived($date)),
    $bytes: ({ $bytes, $view }) =>
      $view ? new globalThis[$view](bytesOf($bytes)) : bytesOf($bytes),
    $map: ({ $map }) => new Map(pairs($map)),
    $set: ({ $set }) => new Set($set.map(revived)),
    $regexp: ({ $regexp, $flags }) => new RegExp($regexp, $flags),
    $array: ({ $array, $own }) => assigned(new Array($array), $own),
    $object: ({ $object }) => assigned({}, $object),
  };

  // The value that the reader would tell in these words.
  const revived = (json) => {
    if (json === null || typeof json !== "object") return json;
    if (Array.isArray(json)) return json.map(revived);
    const tag = Object.keys(json).find((name) => name.startsWith("$"));
    if (tag === undefined) return assigned({}, Object.entries(json));
    const revive = Object.entries(REVIVERS).find(([name]) => name in json);
    if (revive === undefined) throw new Error(`no value is written as ${tag}`);
    return revive[1](json);
  };

  return {
    // Deletes what has this name and makes it anew, empty.
    make: async (name, version, stores) => {
      const deleting = settled(indexedDB.deleteDatabase(name));
      // Asked for at once, so that no other opening comes between.
      const opening = indexedDB.open(name, version);
      opening.onupgradeneeded = () => {
        for (const { name: each, keyPath, autoIncrement, indexes } of stores) {
          const store = opening.result.createObjectStore(each, {
            keyPath,
            autoIncrement,
          });
          for (const { name: label, keyPath: path, unique, multiEntry } of indexes) {
            store.createIndex(label, path, { unique, multiEntry });
          }
        }
      };
      await deleting;
      (await settled(opening)).close();
    },

    // Puts records, given as JSON text, in one transaction.
    fill: async (name, each, records) => {
      const database = await settled(indexedDB.open(name));
      try {
        const transaction = database.transaction([each], "readwrite");
        const store = transaction.objectStore(each);
        for (const [key, value] of JSON.parse(records)) {
          if (store.keyPath === null) store.put(revived(value), revived(key));
          else store.put(revived(value));
        }
        await new Promise((resolve, reject) => {
          transaction.oncomplete = resolve;
          transaction.onabort = () => reject(transaction.error);
        });
      } finally {
        database.close();
      }
    },
  };
})()
