"""Goals of a search: objectives, constraints, and windows taken together."""
