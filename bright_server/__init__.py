"""Bright, the server: what extensions observe, kept exactly once."""
