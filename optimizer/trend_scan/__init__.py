"""Many symbols now: the class of each by its adaptive trend, its beginning, and all changes."""

HIGH, LOW = 0.1, -0.1
"""Thresholds of the classes, as in the public script."""
