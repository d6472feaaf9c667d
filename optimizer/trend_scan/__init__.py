"""Many symbols now: the class of each by its adaptive trend, its beginning, and all changes."""
