"""Databases that are servers of their own: Bright and a bare writer on each."""
