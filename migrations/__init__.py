"""Numbered schema steps; `bright_server` reads the SQL as data."""
