"""Model extensions against a real Bright, over real sockets, in real time."""
