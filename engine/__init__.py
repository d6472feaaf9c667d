"""How strategies meet bars: a readable reference, and batch engines that equal it bit for bit."""
