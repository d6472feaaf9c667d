"""Conditions: the bars at which a strategy asks for an entry or an exit."""
