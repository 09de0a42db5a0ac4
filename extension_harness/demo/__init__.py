"""`bright demo`: the whole system on real parts, watched by a person or a script."""
