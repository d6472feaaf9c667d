"""Verification of a run: values that follow from other rows, or from the bars, are found anew."""
