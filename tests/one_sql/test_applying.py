"""APPLY CHANGES INTO in each engine, on connections and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import InvalidArgument, UnsupportedFeature

MOVES = pa.table(
    {
        "user": [1, 1, 2, 1],
        "city": ["Bonn", "Köln", "Trier", None],
        "op": ["u", "u", "u", "d"],
        "at": [1, 4, 2, 6],
    }
)
CLAUSES = "KEYS (user) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY at COLUMNS * EXCEPT (op, at)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lance_sql.write(MOVES, "moves.lance")
    pa.csv.write_csv(MOVES, "moves.csv")


def rows(path: str) -> list[tuple[Any, ...]]:
    columns = lance_sql.open(path).scan().to_table().columns
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True))


HISTORY = [(1, "Bonn", 1, 4, False), (1, "Köln", 4, 6, False), (2, "Trier", 2, None, True)]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_a_history_in_each_engine(engine: str) -> None:
    made = lance_sql.sql(f"APPLY CHANGES INTO 'u.lance' FROM 'moves.lance' {CLAUSES} STORED AS SCD TYPE 2", engine)
    assert made.dataset.last_change.rows_inserted == 3  # type: ignore[union-attr]  # not None here
    assert rows("u.lance") == HISTORY
    again = lance_sql.sql(
        f"AUTO CDC INTO 'u.lance' FROM (SELECT * FROM 'moves.lance') {CLAUSES} STORED AS SCD TYPE 2", engine
    )
    assert again.dataset.version == made.dataset.version  # type: ignore[union-attr]  # not None here


def test_sources_of_any_kind() -> None:
    for number, source in enumerate(
        ("'moves.csv'", "STREAM('moves.csv')", "(VALUES (2, 'Trier', 'u', 2)) t(\"user\", city, op, \"at\")")
    ):
        lance_sql.sql(f"APPLY CHANGES INTO '{number}.lance' FROM {source} {CLAUSES}")
        assert rows(f"{number}.lance") == [(2, "Trier")]


def test_a_feed_lists_its_kinds() -> None:
    lance_sql.sql(f"APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' {CLAUSES}")
    lance_sql.sql("UPDATE 'a.lance' SET city = 'Ulm' WHERE user = 2")
    lance_sql.sql("APPLY CHANGES INTO 'b.lance' FROM lance_changes('a.lance') KEYS (user) STORED AS SCD TYPE 2")
    assert [row[1] for row in rows("b.lance")] == ["Trier", "Ulm"]
    lance_sql.sql("DELETE FROM 'a.lance' WHERE user = 2")
    lance_sql.sql(
        "APPLY CHANGES INTO 'b.lance' FROM lance_changes('a.lance', since := 3) KEYS (user) STORED AS SCD TYPE 2"
    )
    assert not any(row[-1] for row in rows("b.lance"))
    assert (
        run("apply", "c.lance", "FROM lance_changes('a.lance')", "--keys", "user", "--scd", "2", "--yes").exit_code == 0
    )
    assert rows("c.lance") == rows("b.lance")
    assert [row[2:4] for row in rows("b.lance")] == [(2, 3), (3, 4)]
    names = ["valid_from_version", "valid_to_version", "valid_from", "valid_to", "is_current"]
    assert lance_sql.open("b.lance").schema.names == lance_sql.open("c.lance").schema.names == ["user", "city", *names]


def test_other_clauses() -> None:
    lance_sql.sql(
        "APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' KEYS (user) IGNORE NULL UPDATES SEQUENCE BY at"
        " COLUMNS user, city STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (city)"
    )
    assert rows("a.lance") == [(1, "Köln", 1, None, True), (2, "Trier", 2, None, True)]


def test_on_connections() -> None:
    connection = lance_sql.connect()
    lance_sql.sql(f"APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' {CLAUSES}", connection=connection)
    assert rows("a.lance") == [(2, "Trier")]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("APPLY CHANGES INTO users FROM 'moves.lance' KEYS (user)", UnsupportedFeature, "write its path in quotes"),
        ("APPLY CHANGES INTO 'a.lance' FROM 'moves.lance'", InvalidArgument, "KEYS is expected"),
        ("APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' KEYS (user) STORED AS SCD TYPE 3", InvalidArgument, "1 or 2"),
        ("APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' KEYS (user) SOMEHOW", InvalidArgument, "SEQUENCE BY"),
        ("APPLY CHANGES INTO 'a.lance' FROM 'moves.lance' KEYS (nobody)", InvalidArgument, "nobody"),
        (
            "APPLY CHANGES INTO 'a.lance' FROM (DELETE FROM 'x.lance') KEYS (user)",
            InvalidArgument,
            "Not SQL",
        ),
    ],
)
def test_unparsable_statements_are_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lance_sql.sql(text)
    assert not Path("a.lance").exists()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_verb() -> None:
    options = ["--keys", "user", "--sequence-by", "at", "--delete-when", "op = 'd'", "--except", "op,at", "--scd", "2"]
    for wrong in (["--keys", "nothing"], ["--keys", "user", "--delete-when", "nothing = 1"]):
        result = run("apply", "h.lance", "moves.csv", *wrong, "--dry-run")
        assert (result.exit_code, "nothing" in result.stderr) == (2, True), result.stderr
    assert "Would make h.lance of 4 changes" in run("apply", "h.lance", "moves.csv", *options, "--dry-run").stderr
    assert run("apply", "h.lance", "moves.csv", *options, "--yes").exit_code == 0
    assert rows("h.lance") == HISTORY
    late = "SELECT 1 AS user, 'Ulm' AS city, 'u' AS op, 3 AS at"
    result = run("apply", "h.lance", late, *options, "--dry-run")
    assert "1 rows inserted, 1 updated, 0 deleted" in result.stderr
    assert rows("h.lance") == HISTORY
    assert run("apply", "h.lance", late, *options, "--yes").exit_code == 0
    assert (1, "Ulm", 3, 4, False) in rows("h.lance")
