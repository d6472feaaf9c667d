"""Markets, worlds and comparisons that tests share."""
