"""Positions by compiled loops."""
