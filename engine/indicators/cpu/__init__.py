"""Rows computed by compiled loops."""
