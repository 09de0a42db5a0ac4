// The notebook's next release: its store has version 2, where notes are found by their day.
indexedDB.open("notebook", 2).onupgradeneeded = ({ oldVersion, target }) => {
  const { result: database, transaction } = target;
  if (oldVersion < 1) {
    const made = database.createObjectStore("notes", { keyPath: "id" });
    made.createIndex("by_title", "title");
  }
  transaction.objectStore("notes").createIndex("by_day", "day");
};
