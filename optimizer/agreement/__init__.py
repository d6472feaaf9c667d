"""Trades that another program lists, beside those of the same strategy here."""
