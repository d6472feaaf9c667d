"""Several hosts: whole searches as tasks, and one search with symbols on workers."""
