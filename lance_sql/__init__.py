"""Read tables of the Lance format, and hand them to SQL engines."""
