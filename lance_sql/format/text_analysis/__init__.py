"""Texts taken apart into tokens, as full text indices have them; see `analyzer`."""
