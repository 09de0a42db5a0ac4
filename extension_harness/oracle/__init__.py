"""Ledger, stores and frames held against each other, record by record."""
