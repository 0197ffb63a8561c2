"""Writes the first form of a subscriber: its file, its template block and its test."""
