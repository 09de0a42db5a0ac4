// A notebook whose store has version 1: each note under its id, found by its title.
indexedDB.open("notebook", 1).onupgradeneeded = ({ target }) => {
  const notes = target.result.createObjectStore("notes", { keyPath: "id" });
  notes.createIndex("by_title", "title");
};
