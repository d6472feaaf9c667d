"""Charts as plain data for a plotting library, without the library."""
