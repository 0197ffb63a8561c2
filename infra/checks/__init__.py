"""House rules that general linters miss, on the template as SAM expands it."""
