"""The contract of a message store, as tests: one class a theme."""
