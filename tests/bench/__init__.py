"""Programs that measure: run by module name, never collected by pytest."""
