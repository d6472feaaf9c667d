"""Accounts: what trades add up to, and the metrics made of it."""
