"""Whether a run is what it says: what follows from other rows, or from the bars, is found anew."""
