"""The OneTalk store in the words of the model: records, keys, verbs (docs/store.md)."""
