"""Where a run stands on the newest closed bars: flat, about to enter, in a trade."""
