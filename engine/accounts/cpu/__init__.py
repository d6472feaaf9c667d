"""Accounts by compiled loops."""
