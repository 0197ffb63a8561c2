"""Operating a deployed stack: plain functions over ordinary AWS clients, for any front end."""
