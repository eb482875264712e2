"""Tokenization of texts for full-text indices; see `analyzer`."""
