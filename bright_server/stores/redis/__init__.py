"""The back end of Redis and Valkey; `store.opened` opens it (docs/backends.md)."""
