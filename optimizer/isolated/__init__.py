"""A search in the device's process, beside the engine, whose generations the parent is handed.

The parent records, watches, stops and certifies as ever. Nothing is imported here: the name of the
module that the process runs is needed before anything else.
"""

CHILD = "optimizer.isolated.child"
"""What a device's process runs where it may be asked to search."""
