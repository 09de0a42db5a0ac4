"""The upgrades of the OneTalk store, one step a file."""
