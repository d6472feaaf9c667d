"""Every knob of a run, once: its default, its limits and what it means."""
