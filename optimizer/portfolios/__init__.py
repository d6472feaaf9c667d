"""Members of several runs as one account."""
