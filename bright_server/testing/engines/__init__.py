"""Starters of real servers for tests and benchmarks: from wheels, on free ports."""
