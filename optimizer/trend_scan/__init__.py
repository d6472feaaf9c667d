"""Many symbols now: the class of each by its adaptive trend, since when, and what has changed."""
