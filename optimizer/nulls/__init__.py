"""Null markets for the search of any program, and the judgement of its results."""
