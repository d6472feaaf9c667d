"""Results of other programs on the same bars, beside ours: docs/agreement.md."""
