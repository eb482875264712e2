"""Changes applied by key, against a model that does it event by event."""
