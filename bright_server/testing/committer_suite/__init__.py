"""The contract of a committer over a store, as tests: one class a theme."""
