"""Whole histories of extensions and Bright in one process, from one seed.

Bright's own session, committer and store run here against models of the extension, over
a simulated network, clock and disk; one seeded scheduler decides what happens next
(docs/simulation.md says what is real). This is the one part of the harness that imports
Bright as a library (docs/decisions/).
"""
