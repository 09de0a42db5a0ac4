"""Bindings: who may connect, for which accounts, and until when (OT-60)."""
