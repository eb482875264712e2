"""Index files, one kind per module. This package does not use the tables of their rows."""
