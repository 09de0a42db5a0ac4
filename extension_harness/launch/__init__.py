"""Finding a Chromium, reading an unpacked extension, starting and proving both."""
