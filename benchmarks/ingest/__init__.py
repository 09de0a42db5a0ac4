"""What durable ingest costs: a real Bright beside bare SQLite and a bare WebSocket."""
