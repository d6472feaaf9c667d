"""Rows and series on a GPU."""
