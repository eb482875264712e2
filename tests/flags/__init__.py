"""Tables whose feature flags say what most tables do not have."""
