"""Commit logs: where committed envelopes are published, one module a back end."""
