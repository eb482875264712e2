"""Spellings of statements: each one is seen by a connection, and has a reader."""

from __future__ import annotations

import pytest

from lance_sql.one_sql import statements
from lance_sql.one_sql.spellings import FUNCTIONS, STATEMENTS, TARGETS, VERSIONS, is_of_no_engine, may_be_of_lance


@pytest.mark.parametrize("spelling", [*STATEMENTS, *TARGETS])
def test_a_connection_looks_at_each_statement(spelling: str) -> None:
    words = f"INSERT {spelling}" if spelling.startswith("OR ") else spelling
    assert may_be_of_lance(f"{words} 't.lance'")
    assert may_be_of_lance("\n".join(words.lower().split()) + " 't.lance'")


@pytest.mark.parametrize("clause", [*VERSIONS, *(f"{name}('t.lance', 1)" for name in FUNCTIONS)])
def test_a_connection_looks_at_each_clause(clause: str) -> None:
    assert may_be_of_lance(f"SELECT * FROM 't.lance' {clause} 1")


@pytest.mark.parametrize(
    "text", ["SELECT a, b FROM 't.lance' WHERE a > 7 OR b < 3 ORDER BY b LIMIT 5", "FROM 't.lance'"]
)
def test_a_connection_parses_no_plain_query(text: str) -> None:
    assert not may_be_of_lance(text)
    assert not is_of_no_engine(text)


def test_each_verb_has_a_reader() -> None:
    assert set(STATEMENTS.values()) == {*statements._VERBS, "describe", "apply changes", "create table"}
