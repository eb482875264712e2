"""Cursors, and the writes of their consumers."""
