"""Rows of indicators: the rows of a population, each computed once, and their places."""
