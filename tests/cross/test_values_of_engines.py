"""Values at the edges of their types as parameters, in each engine and dialect: a statement has the rows of DuckDB over
native tables, or is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError

_HOURS: Final = [dt.datetime(2026, 3, 29, hour, 30) for hour in range(6)]
_ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "+05:30")
_NAN, _INF = float("nan"), float("inf")
_COLUMNS: Final[dict[str, pa.Array]] = {
    **{zone: pa.array(_HOURS, pa.timestamp("us")).cast(pa.timestamp("us", zone)) for zone in _ZONES},
    "nanoseconds": pa.array(_HOURS, pa.timestamp("ns")),
    "microseconds": pa.array([*_HOURS[:5], dt.datetime(9000, 1, 1)], pa.timestamp("us")),
    "money": pa.array([Decimal("1.25") * number for number in range(6)], pa.decimal128(38, 2)),
    "big": pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0), None, Decimal(1), Decimal(2)]),
    "bytes": pa.array([b"", b"\0", b"\0\0", b"A\0", None, b"\\x41"]),
    "double": pa.array([_NAN, -0.0, 0.0, _INF, None, 1.5]),
    "float": pa.array([_NAN, -0.0, 0.1, -_INF, None, 1.5], pa.float32()),
    "unsigned": pa.array([2**64 - 1, 0, 1, None, 2**63, 5], pa.uint64()),
    "text": pa.array(["e\u0301", "\u00e9", "", None, "\\", "\U0001f600"]),
    "day": pa.array([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31), None, dt.date(2026, 1, 1), None]),
}
_MOMENTS: Final = (
    dt.datetime(2026, 3, 29, 3, 30, tzinfo=ZoneInfo("Europe/Berlin")),
    dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC),
    dt.datetime(2026, 3, 28, 20, 30, tzinfo=ZoneInfo("America/New_York")),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
)
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(_ZONES, _MOMENTS),
    "nanoseconds": (_HOURS[1], _HOURS[1].replace(microsecond=1)),
    "microseconds": (_HOURS[1], _HOURS[1].replace(microsecond=1), dt.datetime(1600, 1, 1), dt.datetime(9000, 1, 1)),
    "money": (Decimal("1.25"), Decimal("2.500"), Decimal("2.501"), Decimal("1E+2"), 2.5, 2),
    "big": (Decimal("9" * 38), Decimal("-" + "9" * 38), 10**38 - 1),
    "bytes": (b"", b"\0", b"\0\0", b"A\0", bytearray(b"\\x41")),
    "double": (_NAN, -0.0, 0.0, _INF, 1.5, Decimal("1.5")),
    "float": (_NAN, -0.0, -_INF, 1.5),
    "unsigned": (2**64 - 1, 2**64, 2**63, -1, 10**37),
    "text": ("e\u0301", "\u00e9", "", "\\", "it's", "\U0001f600"),
    "day": (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)),
}
_OPERATORS: Final = ("=", "<", ">=", "IS NOT DISTINCT FROM")


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.table({"id": range(6), **_COLUMNS})


@pytest.fixture(scope="module")
def path(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("values") / "t.lance")
    lance_sql.write(rows, path)
    return path


def _connection() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@pytest.fixture(scope="module")
def native(rows: pa.Table) -> Any:
    connection = _connection()
    connection.register("held", rows)
    connection.execute("CREATE TABLE t AS FROM held")
    return connection


@pytest.fixture(scope="module")
def given() -> dict[str, dict[str, Any]]:
    """What a statement runs in, by name."""
    datafusion = pytest.importorskip("datafusion")
    return {
        "duckdb": {"connection": _connection()},
        "datafusion": {},
        "a session": {"session": datafusion.SessionContext()},
    }


@pytest.mark.parametrize(
    ("engine", "dialect"),
    [
        ("duckdb", "duckdb"),
        *((engine, dialect) for engine in ("datafusion", "a session") for dialect in ("datafusion", "duckdb")),
    ],
)
@pytest.mark.parametrize("column", _VALUES)
def test_values_of_parameters(
    column: str, engine: str, dialect: str, path: str, native: Any, given: dict[str, dict[str, Any]]
) -> None:
    refused = 0
    name = "duckdb" if engine == "duckdb" else "datafusion"
    for value in _VALUES[column]:
        if dialect == "duckdb" and engine != "duckdb" and isinstance(value, int) and value >= 2**64:
            # DataFusion reads such digits as a float
            continue
        for operator in _OPERATORS:
            text = f'SELECT id FROM {{}} WHERE "{column}" {operator} ? ORDER BY id'
            expected = native.execute(text.format("t"), [value]).fetchall()
            try:
                rows = lance_sql.sql(text.format(f"'{path}'"), [value], name, dialect=dialect, **given[engine])
                found = rows.fetchall()
            except LanceError:
                refused += 1
                continue
            assert found == expected, (column, operator, value)
    assert refused <= len(_OPERATORS) * (engine != "duckdb")


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize("constant", [r"'\x41\x00'::BLOB", r"CAST('A\x00' AS BLOB)", r"'\x5Cx41'::BLOB", "'A'::BYTEA"])
def test_escaped_bytes_are_bytes(constant: str, engine: str, path: str, native: Any) -> None:
    if engine == "datafusion":
        pytest.importorskip("datafusion")
    query = f"SELECT id, {constant} AS b FROM {{}} WHERE bytes = {constant}"
    expected = native.execute(query.format("t")).fetchall()
    assert lance_sql.sql(query.format(f"'{path}'"), engine=engine, dialect="duckdb").fetchall() == expected


@pytest.mark.parametrize("text", ["2026-03-29 03:30:00+02", "2026-03-29 01:30:00Z", "2026-03-29 07:00:00+05:30"])
def test_moments_are_written_to_every_zone(text: str, tmp_path: Path) -> None:
    pytest.importorskip("datafusion")
    path = str(tmp_path / "t.lance")
    lance_sql.write(pa.table({zone: pa.array([], pa.timestamp("us", zone)) for zone in _ZONES}), path)
    values = ", ".join([f"TIMESTAMPTZ '{text}'"] * len(_ZONES))
    lance_sql.sql(f"INSERT INTO '{path}' VALUES ({values})", engine="datafusion")
    lance_sql.sql(f"INSERT INTO '{path}' VALUES ({values})", connection=_connection())
    first, second = (list(row.values()) for row in lance_sql.open(path).to_table().to_pylist())
    assert first == second


def test_created_columns_have_a_zone(tmp_path: Path) -> None:
    pytest.importorskip("datafusion")
    path = str(tmp_path / "t.lance")
    lance_sql.sql(f"CREATE TABLE '{path}' (at TIMESTAMP WITH TIME ZONE)", engine="datafusion")
    assert lance_sql.open(path).schema.field("at").type.tz == "UTC"


@pytest.mark.parametrize("dialect", ["datafusion", "duckdb"])
@pytest.mark.parametrize("zone", _ZONES)
def test_parameters_name_versions_by_time(zone: str, dialect: str, tmp_path: Path) -> None:
    pytest.importorskip("datafusion")
    path = str(tmp_path / "t.lance")
    for number in range(3):
        lance_sql.write({"id": [number]}, path, mode="append" if number else "create")
    text = f"SELECT count(*) FROM '{path}' TIMESTAMP AS OF ?"
    for each in lance_sql.open(path).versions():
        assert each.timestamp is not None
        # times without a zone are UTC
        moment = each.timestamp.replace(tzinfo=None) if zone[0] == "+" else each.timestamp.astimezone(ZoneInfo(zone))
        rows = lance_sql.sql(text, [moment], "datafusion", dialect=dialect)
        assert rows.fetchall() == [(each.version,)]


@pytest.mark.parametrize("condition", ["s = {'a': 1}", "l = [1]", "s IN ({'a': 1})"])
def test_refusals_within_datafusion_are_of_this_library(condition: str, tmp_path: Path) -> None:
    pytest.importorskip("datafusion")
    path = str(tmp_path / "t.lance")
    lance_sql.write(pa.table({"s": [{"a": 1}], "l": [[1]]}), path)
    with pytest.raises(lance_sql.UnsupportedFeature, match=r"^A filter cannot compare with a constant of type [^(]+$"):
        lance_sql.sql(f"SELECT * FROM '{path}' WHERE {condition}", engine="datafusion", dialect="duckdb").to_table()


def test_damage_within_datafusion_is_of_its_kind(tmp_path: Path) -> None:
    pytest.importorskip("datafusion")
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2]}, path)
    (file,) = (path / "data").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(lance_sql.CorruptFile, match=f"^[^:]*t.lance version 1: data/{file.name}: "):
        lance_sql.sql(f"SELECT * FROM '{path}'", engine="datafusion").to_table()
