"""Catalogs: folders, namespaces of folders, and REST namespaces."""
