"""Forecasts as columns: fitted walk-forward on known data, judged out of sample, kept whole."""
