"""Searching again through time: dates, and one ledger over the picks of all steps."""
