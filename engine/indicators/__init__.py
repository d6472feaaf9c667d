"""Rows of indicators: which a population reads, each computed once, and where it is kept."""
