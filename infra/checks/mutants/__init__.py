"""The template, weakened in one way after the other: each has to be caught by the rule that it breaks."""
