"""Sail, a server of Spark Connect without Java: the format lance, merges, one SQL and the example job in it."""
