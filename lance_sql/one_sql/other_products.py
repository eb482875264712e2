"""Syntax of other products that is unsupported here, and its replacements."""

from __future__ import annotations

import re
from typing import Final

from lance_sql.errors import UnsupportedFeature
from lance_sql.one_sql.named_tables import has_function
from lance_sql.one_sql.spellings import REFUSED, SEARCHES_OF_OTHERS

_CLAUSES: Final[tuple[tuple[str, str], ...]] = (
    (r"\bCHANGES\s*\(\s*INFORMATION\b", "FROM lance_changes('x.lance', since := 4)"),
    (r"\bBEFORE\s*\(\s*(STATEMENT|TIMESTAMP|OFFSET)\b", "FROM 'x.lance' AT (TIMESTAMP => '2026-11-20 12:00:00')"),
    (r"\bAT\s*\(\s*(OFFSET|STATEMENT|STREAM)\b", "FROM 'x.lance' AT (TIMESTAMP => '2026-11-20 12:00:00')"),
    (
        r"\bFOR\s+SYSTEM_(TIME|VERSION)\s+(BETWEEN|FROM|ALL|CONTAINED)\b",
        "FROM lance_row_history('x.lance', 5, 6), which has valid_from and valid_to",
    ),
    (r"\bVERSIONS\s+BETWEEN\b", "FROM lance_row_history('x.lance', 5, 6), which has valid_from and valid_to"),
)
_CONFLICT: Final = (
    r"\bON\s+CONFLICT\b",
    "MERGE INTO 'x.lance' AS t USING rows AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET ..",
)
_TEXT: Final = re.compile(r"'((?:[^']|'')*)'|--[^\n]*")
_TABLE: Final = r"\.lance(@\w+)?/?['\"`]?\s+(AS\s+\w+\s+)?"


def refuse(text: str, *, inserts: bool = False) -> None:
    """Raises for syntax of other products that is unsupported here, with a replacement.

    Call it only for statements that no other parser accepted.

    inserts: it is an INSERT into a Lance table
    raises: UnsupportedFeature
    """
    stripped = text.lstrip()
    for pattern, instead in REFUSED.items():
        match = re.match(pattern, stripped, re.IGNORECASE)
        # an extension of DuckDB may have it
        if match is not None and not has_function(match[0].split(".")[-1].split()[-1]):
            raise UnsupportedFeature(
                f"{' '.join(match[0].replace('(', ' ').split())} is not supported here: write {instead}"
            )
    words = _TEXT.sub(_without_text, text)
    clauses = [(f"{_TABLE}(?P<clause>{pattern})", instead) for pattern, instead in _CLAUSES]
    clauses += [(f"(?P<clause>{pattern})", instead) for pattern, instead in SEARCHES_OF_OTHERS.items()]
    if inserts:
        clauses.append((f"(?P<clause>{_CONFLICT[0]})", _CONFLICT[1]))
    for pattern, instead in clauses:
        match = re.search(pattern, words, re.IGNORECASE)
        if match is not None and not has_function(match["clause"].rstrip("( ").split()[-1]):
            raise UnsupportedFeature(
                f"{' '.join(match['clause'].replace('(', ' ').split())} is not supported here: write {instead}"
            )


def _without_text(quoted: re.Match[str]) -> str:
    """Replaces a quoted text by a placeholder that only shows whether it is the path of a table."""
    is_path = re.search(r"\.lance(@\w+)?/?$", quoted[1] or "", re.IGNORECASE)
    return f"'x{is_path[0]}'" if is_path else "''"
