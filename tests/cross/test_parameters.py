"""Parameters of statements about Lance tables, compared with DuckDB over native tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

import lance_sql
from lance_sql.providers.duckdb.protocol import has_sources

pytestmark = pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 take no statements")

_ROWS: Final = "SELECT unnest([1, 2, 7]) AS id, unnest(['a', 'b', 'z']) AS v, unnest([10, 20, 70]) AS n"
_STYLES: Final = ("?", "?1", "$1", "$name", "$NAME", '$"name"', "$select")
_SPACINGS: Final = ("{}", " {} ", "{}/* $x ? */", "\n{}\n", "({})", "{}::BIGINT", "{}--?\n")
_STATEMENTS: Final = (
    "INSERT INTO {t} VALUES ({0},'x',{1})",
    "INSERT INTO {t} VALUES ({0},'x',{1}),({0},'y',{1})",
    "INSERT INTO {t}(n,id) SELECT {0},{1}",
    "INSERT INTO {t} BY NAME SELECT {0}AS n,{1}AS id",
    "UPDATE {t} SET n={0},v='$q ?' WHERE id={1}OR id=7",
    "UPDATE {t} SET n=CASE WHEN id={0}THEN{1}ELSE n END WHERE true",
    "DELETE FROM {t} WHERE id IN({0},{1})",
    "DELETE FROM {t} WHERE id BETWEEN{0}AND{1}",
    "DELETE FROM {t} WHERE id=greatest({0},{1})",
    "DELETE FROM {t} WHERE id=[{0},{1}][1]AND v<>$$?$$",
    "MERGE INTO {t} AS t USING(SELECT{0}AS id,{1}AS n)AS s ON t.id=s.id WHEN MATCHED THEN UPDATE SET n=s.n"
    " WHEN NOT MATCHED THEN INSERT(id,n)VALUES(s.id,s.n)",
    "MERGE INTO {t} AS t USING(SELECT 1 AS id)AS s ON t.id=s.id WHEN MATCHED AND t.id={0}THEN UPDATE SET n={1}",
)
_QUERIES: Final = (
    "SELECT id,{0}+{1} FROM {t} WHERE id={0}",
    "SELECT count(*)FROM {t} WHERE id={0}OR id={1}OR v=$t$ ? $x $t$",
    "SELECT id FROM {t} ORDER BY id LIMIT{0}OFFSET{1}",
    "FROM {t} SELECT id,{'a':{0},'b':[{1}]}",
)


def _spelled(statement: str, style: str, spacing: str, table: str) -> tuple[str, Any]:
    """A statement with two parameters, and their values."""
    values = {"0": 2, "1": 7}
    names = {"0": style, "1": "$b"} if style[1:2].isalpha() or '"' in style else {"0": style, "1": f"{style[0]}2"}
    names = dict.fromkeys(names, "?") if style == "?" else names
    uses = re.findall(r"\{([01])\}", statement)
    text = re.sub(r"\{([01])\}", lambda slot: spacing.replace("{}", names[slot[1]]), statement)
    text = text.replace("{t}", table)
    if style == "?":
        return text, [values[use] for use in uses]
    if style in ("?1", "$1"):
        return text, list(values.values())
    return text, {style.strip('$"').lower(): 2, "b": 7}


def _outcome(connection: Any, text: str, values: Any, table: str, *, is_query: bool) -> list[tuple[Any, ...]] | None:
    """The rows of a query, or those of the table behind a statement; None where it is refused."""
    try:
        rows: list[tuple[Any, ...]] = connection.execute(text, values).fetchall()
        return rows if is_query else connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
    except (duckdb.Error, lance_sql.errors.LanceError):
        return None


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize("spacing", _SPACINGS)
def test_parameters_mean_what_they_mean_for_a_table_of_duckdb(style: str, spacing: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    connection = lance_sql.connect()
    lance_sql.write(connection.sql(_ROWS).to_arrow_table(), path)
    refused = 0
    for number, statement in enumerate((*_STATEMENTS, *_QUERIES)):
        if (number + _STYLES.index(style) + _SPACINGS.index(spacing)) % 4:
            # every fourth one, which makes 196 texts
            continue
        is_query = statement in _QUERIES
        connection.execute(f"CREATE OR REPLACE TABLE t AS {_ROWS}")
        expected = _outcome(connection, *_spelled(statement, style, spacing, "t"), "t", is_query=is_query)
        lance_sql.write(connection.sql(_ROWS).to_arrow_table(), path, mode="overwrite")
        version = f"'{path}' VERSION AS OF {lance_sql.open(path).version}" if is_query else f"'{path}'"
        text, values = _spelled(statement, style, spacing, version)
        assert _outcome(connection, text, values, f"'{path}'", is_query=is_query) == expected, text
        refused += expected is None
    # DuckDB takes most: a name without a space behind it is another one
    assert refused <= 6


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("INSERT INTO 't.lance' VALUES (?, ?, ?)", [1, "a"]),
        ("INSERT INTO 't.lance' VALUES (?, 'a', 1)", [1, 2]),
        ("DELETE FROM 't.lance' WHERE id = $a", {"b": 1}),
        ("DELETE FROM 't.lance' WHERE id = $a", {"a": 1, "b": 1}),
        ("DELETE FROM 't.lance' WHERE id = $a", 1),
        ("DELETE FROM 't.lance' WHERE v = 'a$b' AND id = ?", "7"),
    ],
)
def test_another_number_of_values_is_refused(
    text: str, values: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    connection = lance_sql.connect()
    table = lance_sql.write(connection.sql(_ROWS).to_arrow_table(), "t.lance")
    with pytest.raises(lance_sql.errors.InvalidArgument):
        connection.execute(text, values)
    assert lance_sql.open("t.lance").version == table.version
