"""The contract of an observation store, as tests: one class a theme."""
