"""Commands from Bright to a page: asked, sent on one connection, settled once."""
