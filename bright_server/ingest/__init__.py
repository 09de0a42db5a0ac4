"""The extension's channel: one session without I/O, and the endpoint that carries it."""
