"""The DevTools protocol: a connection, evaluation, and which workers there are."""
