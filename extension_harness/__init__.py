"""Drive a real Manifest V3 extension in a real Chromium, and kill what must survive.

A product for any extension: nothing here knows what the extension under test does.
Start with `Browser.launch`; docs/harness.md tells the rest.
"""
