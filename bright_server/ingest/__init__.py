"""The extension's channel: a session without I/O, and the endpoint that carries it."""
