"""Charts as plain data: what a plotting library draws, without the library."""
