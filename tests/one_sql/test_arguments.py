"""Arguments of table functions and times of versions mean the same in every door."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import lance
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.providers.duckdb.protocol import has_sources

Run = Callable[[str], Any]


@cache
def _connection(zone: str = "UTC") -> Any:
    connection = lance_sql.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    return connection


def _doors(zone: str = "UTC") -> dict[str, Run]:
    connection = _connection(zone)
    return {
        "connection": lambda text: connection.execute(text).fetchall(),
        "sql": lambda text: lance_sql.sql(text, connection=connection).fetchall(),
        "datafusion": lambda text: lance_sql.sql(text, "datafusion", dialect="duckdb").fetchall(),
    }


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arguments") / "t.lance"
    table = lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, path)
    table.update({"v": "v"}, "id < 3")
    # which another library makes
    lance.dataset(str(path)).tags.create("7", 2)
    return path


@pytest.fixture(autouse=True)
def _table(_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(_made, "t.lance")


@pytest.mark.parametrize("door", ["connection", "sql", "datafusion"])
@pytest.mark.parametrize(
    ("call", "count"),
    [
        *(
            (f"lance_changes('t.lance', 1, 2, drop_unchanged := {no})", 7)
            for no in ("'false'", "'no'", "0", "'F'", "false")
        ),
        *(
            (f"lance_changes('t.lance', 1, 2, drop_unchanged := {yes})", 3)
            for yes in ("'true'", "1", "'T'", "'true'::BOOLEAN")
        ),
        *((f"lance_scan('t.lance', use_indices := {no})", 3) for no in ("'no'", "0", "'false'")),
        ("lance_scan(path := 't.lance')", 3),
        ("lance_scan($$t.lance$$, version := '1')", 3),
        ("lance_scan('t.lance', version := 1::BIGINT)", 3),
        ("lance_scan('t.lance', tag := 7)", 3),
        ("lance_scan('t.lance', tag := 7::VARCHAR)", 3),
        ("lance_changes('t.lance', start_version := '1', end_version := 1::INT)", 3),
        ("lance_versions(path := 't.lance', version := '1')", 2),
    ],
)
def test_an_argument_is_of_its_type(door: str, call: str, count: int) -> None:
    assert _doors()[door](f"SELECT count(*) FROM {call}") == [(count,)]


@pytest.mark.parametrize("door", ["connection", "sql", "datafusion"])
@pytest.mark.parametrize(
    "call",
    [
        "lance_changes('t.lance', 1, 2, drop_unchanged := 'maybe')",
        "lance_changes('t.lance', 1, 2, trust_snapshots := '')",
        "lance_scan('t.lance', use_indices := 'off')",
        "lance_scan('t.lance', version := true)",
        "lance_scan('t.lance', version := 'x')",
        "lance_scan('t.lance', as_of := 5)",
        "lance_scan('t.lance', as_of := false)",
        "lance_scan('t.lance', tag := 1)",
        "lance_scan('t.lance', branch := 3)",
        "lance_scan('t.lance', filter := 5)",
        "lance_changes('t.lance', start_version := true)",
        "lance_changes('t.lance', mode := 3)",
    ],
)
def test_a_value_of_another_type_is_refused_in_a_line(door: str, call: str) -> None:
    with pytest.raises((LanceError, duckdb.Error)) as caught:
        _doors()[door](f"SELECT count(*) FROM {call}")
    assert "Traceback" not in str(caught.value)
    assert "object" not in str(caught.value)


TIMES = [
    "lance_scan('t.lance', as_of := TIMESTAMPTZ '{}')",
    "lance_scan('t.lance', as_of := '{}'::TIMESTAMPTZ)",
    pytest.param("'t.lance' TIMESTAMP AS OF TIMESTAMPTZ '{}'", id="as of"),
    "'t.lance' TIMESTAMP AS OF CAST('{}' AS TIMESTAMPTZ)",
    "'t.lance' TIMESTAMP AS OF TIMESTAMP WITH TIME ZONE '{}'",
    "'t.lance' AT (TIMESTAMP => TIMESTAMPTZ '{}')",
    "'t.lance' CHANGES FROM VERSION 3 TO TIMESTAMP TIMESTAMPTZ '{}'",
    "lance_changes('t.lance', 3, TIMESTAMPTZ '{}')",
]


@pytest.fixture
def moment() -> datetime:
    """Between two appends of one row."""
    lance_sql.write({"id": [7], "v": [7]}, "t.lance", mode="overwrite")
    time.sleep(0.02)
    between = datetime.now(UTC)
    time.sleep(0.02)
    lance_sql.write({"id": [8], "v": [8]}, "t.lance", mode="append")
    return between


@pytest.mark.parametrize("table", TIMES)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_time_with_a_zone_follows_the_session_or_is_refused(table: str, zone: str, moment: datetime) -> None:
    ((offset,),) = _connection(zone).execute("SELECT extract('timezone' FROM now())").fetchall()
    local = (moment + timedelta(seconds=offset)).strftime("%Y-%m-%d %H:%M:%S.%f")
    expected = (
        _doors(zone)["connection"](f"SELECT count(*) FROM {table.format(moment.isoformat())}")
        if has_sources()
        else None
    )
    for name, run in _doors(zone).items():
        if name == "connection" and "lance_" not in table and not has_sources():
            continue
        text = f"SELECT count(*) FROM {table}"
        assert expected is None or run(text.format(moment.isoformat())) == expected
        if name == "datafusion":
            with pytest.raises(InvalidArgument, match="has no offset: add one"):
                run(text.format(local))
        else:
            assert expected is None or run(text.format(local)) == expected
    assert expected in (None, [(1,)], [(2,)], [(3,)], [(4,)])


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 take no statements")
def test_a_table_is_restored_to_a_time_of_the_session(moment: datetime) -> None:
    local = (moment + timedelta(hours=9)).strftime("%Y-%m-%d %H:%M:%S.%f")
    _connection("Asia/Tokyo").execute(f"RESTORE 't.lance' TO TIMESTAMP AS OF TIMESTAMPTZ '{local}'")
    assert lance_sql.open("t.lance").count_rows() == 1


@pytest.mark.parametrize("type", ["TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S", "DATETIME", ""])
def test_a_time_without_a_zone_is_read_as_utc(type: str) -> None:
    for name, run in _doors("Asia/Tokyo").items():
        if name == "sql":
            assert run(f"SELECT count(*) FROM 't.lance' TIMESTAMP AS OF {type} '2100-01-01 00:00:00'") == [(3,)]


def test_values_that_python_has_not_are_refused_in_a_line() -> None:
    for text in ("SELECT 'infinity'::DATE AS d", "SELECT '-infinity'::TIMESTAMP AS t"):
        rows = lance_sql.sql(text)
        with pytest.raises(UnsupportedFeature, match=r"Use to_table\(\)"):
            rows.fetchall()
        assert rows.to_table().num_rows == 1


INTERVALS = ["36 HOUR", "'-14 months 3 days'", "'1 year 2 months -3 days 04:05:06.789'", "'-1 us'", "'0 s'", "1 YEAR"]


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("shape", ["{}", "[{}, NULL]", "{{'a': {}}}", "NULL::INTERVAL"])
def test_intervals_are_what_duckdb_makes_of_them(interval: str, shape: str) -> None:
    text = f"SELECT {shape.format(f'INTERVAL {interval}')} AS i"
    expected = duckdb.connect().execute(text).fetchall()
    assert lance_sql.sql(text).fetchall() == expected
    assert lance_sql.sql(text).to_pylist() == [{"i": expected[0][0]}]


@pytest.mark.parametrize("door", ["connection", "sql"])
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("lance_scan('p.lance', filter = 'id = 1')", 1),
        ("lance_scan('p.lance', version = 1) AS x", 3),
        ("lance_scan('p.lance', \"filter\" = 'id > 1', version = 1)", 2),
        ("lance_fts('p.lance', 'text', 'puppy', 10, filter = 'id >= 3')", 1),
        ("lance_fts('p.lance', 'text', 'puppy', k = 1)", 1),
        ("lance_changes('p.lance', since = 0)", 3),
    ],
)
def test_arguments_may_be_named_by_equals(
    door: str, call: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if door == "connection" and not has_sources():
        pytest.skip("connections of DuckDB 1.5 take no statements")
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2, 3], "text": ["puppy a", "cat", "puppy b"]}, "p.lance")
    text = f"SELECT count(*) FROM {call}"
    if door == "connection":
        assert lance_sql.connect().execute(text).fetchall() == [(expected,)]
    else:
        assert lance_sql.sql(text).fetchall() == [(expected,)]


@pytest.mark.parametrize(
    "call",
    [
        "lance_scan('p.lance', filter := {})",
        "lance_table('p.lance', filter := {})",
        "lance_fts('p.lance', 'text', 'puppy', 10, {})",
        "lance_vector_search('p.lance', 'v', [1.0, 2.0], 10, {})",
    ],
)
@pytest.mark.parametrize("value", ["false", "true", "7"])
def test_a_filter_that_is_no_text_is_refused(
    call: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1], "text": ["puppy a"], "v": [[1.0, 2.0]]}, "p.lance")
    for run in (lance_sql.connect().execute, lance_sql.sql):
        with pytest.raises(Exception, match=r"filter=.* is not text"):
            run(f"SELECT count(*) FROM {call.format(value)}").fetchall()
