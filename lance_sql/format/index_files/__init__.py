"""Index files, one kind per module. This package does not know the tables of their rows."""
