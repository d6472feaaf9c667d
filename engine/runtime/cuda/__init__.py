"""Launching, waiting and failing on a GPU."""
