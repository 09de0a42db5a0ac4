"""The store's writer in a process of its own.

So it and the connections each have a whole interpreter. `link` is the server's end and
stands in for the group committer, `process` is the other end and runs the real one,
`parcels` is what goes between them.
"""
