"""Is a front more than luck: statistics over a whole search, as pure functions of arrays."""
