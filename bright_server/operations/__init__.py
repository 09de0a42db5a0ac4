"""What an operator reads: health and metrics."""
