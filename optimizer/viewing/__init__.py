"""Recorded runs in a browser: an index, a search while it runs, a report, runs side by side."""
