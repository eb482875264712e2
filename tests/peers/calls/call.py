"""A call of pylance, and the one of this library that stands for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """Two codes, each of some lines, whose last one is an expression with the result.

    theirs: code over `ds`, a `LanceDataset`
    ours: code over `t`, a `Dataset` of this library; None if it has no counterpart
    table: name of the table, see `tables`
    row: text of a row of docs/from-pylance.md that says so, where there is no counterpart
    fails: whether pylance raises an error, and so must this library
    """

    theirs: str
    ours: str | None
    table: str = "numbers"
    row: str = ""
    fails: bool = False
