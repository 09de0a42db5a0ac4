"""What the same work costs with less around it: bare SQLite, bare WebSocket."""
