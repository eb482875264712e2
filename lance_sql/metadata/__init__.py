"""Tables by names, what a table consists of, and queries about it for every day."""
