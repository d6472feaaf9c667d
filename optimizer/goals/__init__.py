"""What a search strives for: objectives, constraints, and windows taken together."""
