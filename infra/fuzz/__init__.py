"""Ask the local run's API everything that its contract allows, and much that it does not, as two callers."""
