"""Conditions decided by compiled loops."""
