"""Several hosts: whole searches as tasks, and one search whose symbols are on workers."""
