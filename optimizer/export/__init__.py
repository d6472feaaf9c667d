"""Members of a front as programs for other platforms, each traded by that platform's own engine."""
