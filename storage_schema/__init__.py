"""IndexedDB as a pure model: standard library only, one algorithm of the W3C text a file."""
