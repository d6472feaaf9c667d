"""Stage 1, rows: which indicator rows a population reads, and where they are kept."""
