"""A network that misbehaves: a proxy that knows WebSocket frames, and its faults."""
