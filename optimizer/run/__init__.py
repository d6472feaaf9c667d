"""One run from its configuration to a certified front, and readers of its record."""
