"""Every knob of a run, once: its default, limits and meaning."""
