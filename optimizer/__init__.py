"""Search for parameter sets, record what was found, show it."""
