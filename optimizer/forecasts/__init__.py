"""Forecasts as columns: fitted walk-forward on what was known, judged out of sample, kept whole."""
