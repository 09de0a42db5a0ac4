"""The differential machine: IndexedDB's model held against a real browser.

A seed makes a script; Chromium and `storage_schema` both run it; what each operation
gave and what the database holds after every transaction must be the same. A difference
is made short before it is shown. docs/storage-model.md tells how to use it.
"""
