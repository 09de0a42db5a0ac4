"""From a committed message to whoever reads it: the log and its contract."""
