"""The `postroom` command. What it does is in `core`, which prints nothing; the rest is how it shows."""
