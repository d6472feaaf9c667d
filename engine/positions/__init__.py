"""Positions: which signals become trades, and where these end."""
