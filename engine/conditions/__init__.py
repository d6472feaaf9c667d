"""Conditions: the bars of a strategy's entries and exits."""
