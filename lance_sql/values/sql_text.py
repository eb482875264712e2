"""Texts and names in SQL."""

from __future__ import annotations


def literal(text: str) -> str:
    """Returns a text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Returns a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'
