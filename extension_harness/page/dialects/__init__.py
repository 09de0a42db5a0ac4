"""One module per surface of the page: how that surface spells the canonical truth."""
