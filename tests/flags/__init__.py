"""Tables with rare feature flags."""
