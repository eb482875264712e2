"""Changes whose order comes in several types, whose columns have moved, and deletions at the moment of their row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, LanceError

DAY = dt.date(2026, 1, 1)
ALIKE: dict[str, tuple[pa.Array, pa.Array]] = {
    "two zones": (pa.array([1], pa.timestamp("us", "UTC")), pa.array([2], pa.timestamp("us", "Asia/Tokyo"))),
    "a zone and an offset": (
        pa.array([1], pa.timestamp("s", "UTC")),
        pa.array([2 * 10**6], pa.timestamp("us", "+05:30")),
    ),
    "two units": (pa.array([1500], pa.timestamp("ns")), pa.array([2], pa.timestamp("us"))),
    "a coarser unit": (pa.array([1], pa.timestamp("us")), pa.array([2], pa.timestamp("s"))),
    "a day and a time": (pa.array([DAY]), pa.array([dt.datetime(2026, 1, 2, 9)])),
    "a fraction and a whole number": (pa.array([1.5]), pa.array([2])),
    "decimals": (pa.array([Decimal("1.25")]), pa.array([Decimal("2.0")])),
    "a decimal and a whole number": (pa.array([Decimal("1.25")]), pa.array([2])),
    "signed and unsigned": (pa.array([-3]), pa.array([5], pa.uint64())),
    "text and a dictionary": (pa.array(["a"]), pa.array(["b"]).dictionary_encode()),
    "text and its view": (pa.array(["a"]), pa.array(["b"], pa.string_view())),
    "dictionaries with NULL": (
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["a", None]),
        pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), [None, "b"]),
    ),
    "times": (pa.array([1], pa.time32("s")), pa.array([2 * 10**6], pa.time64("us"))),
    "lengths": (pa.array([1], pa.duration("s")), pa.array([2 * 10**6], pa.duration("us"))),
    "half floats": (pa.array([1.5], pa.float16()), pa.array([2.5], pa.float16())),
    "UUIDs": (pa.array([UUID(int=1)], pa.uuid()), pa.array([UUID(int=2)], pa.uuid())),
    "booleans": (pa.array([False]), pa.array([True])),
}
UNLIKE: dict[str, tuple[pa.Array, pa.Array]] = {
    "a number and text": (pa.array([9]), pa.array(["10"])),
    "text and a number": (pa.array(["9"]), pa.array([10])),
    "a time without a zone and one with": (pa.array([1], pa.timestamp("us")), pa.array([2], pa.timestamp("us", "UTC"))),
    "a number and a time": (pa.array([1]), pa.array([DAY])),
    "an integer beyond doubles": (pa.array([2**53 + 1]), pa.array([1e17])),
}


def applied(path: Path, at: pa.Array, value: str, scd: Any, key: int = 1) -> Dataset:
    rows = pa.table({"id": [key], "v": [value], "at": at})
    return lance_sql.apply_changes(path, rows, "id", sequence_by="at", except_columns=["at"], scd=scd)


def current(table: Dataset) -> list[str]:
    return [row["v"] for row in table.to_table().to_pylist() if row.get("is_current", True)]


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("kind", ALIKE)
def test_one_order_in_several_types(tmp_path: Path, kind: str, scd: Any) -> None:
    earlier, later = ALIKE[kind]
    ways: dict[str, list[tuple[pa.Array, str]]] = {
        "in order": [(earlier, "old"), (later, "new"), (earlier, "late"), (later, "again")],
        "late": [(later, "new"), (earlier, "old"), (later, "again")],
    }
    for name, calls in ways.items():
        path = tmp_path / name
        try:
            for at, value in calls:
                applied(path, at, value, scd)
                applied(path, at, value, scd, key=2)
        except InvalidArgument as error:
            # a history has a type for its times, which holds no others
            assert scd == 2
            assert "valid_from" in str(error)  # noqa: PT017 - only of some pairs
            assert lance_sql.open(path).count_rows() == 2
            continue
        assert current(lance_sql.open(path)) == ["new", "new"]
        assert lance_sql.verify(path, deep=True).is_healthy


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("kind", UNLIKE)
def test_the_first_call_in_a_type_that_cannot_be_ordered_is_refused(tmp_path: Path, kind: str, scd: Any) -> None:
    first, other = UNLIKE[kind]
    made = applied(tmp_path / "t.lance", first, "old", scd)
    for key in (1, 2) if kind != "an integer beyond doubles" else (1,):
        with pytest.raises(InvalidArgument, match=r"at|valid_from"):
            applied(tmp_path / "t.lance", other, "new", scd, key=key)
    assert lance_sql.open(tmp_path / "t.lance").version == made.version
    assert current(applied(tmp_path / "t.lance", first, "again", scd, key=3)) == ["old", "again"]


@pytest.mark.parametrize("scd", [1, 2])
def test_sessions_in_several_zones(tmp_path: Path, scd: Any) -> None:
    for number, zone in enumerate(("UTC", "Europe/Berlin", "Asia/Tokyo", "UTC")):
        con = duckdb.connect()
        con.execute(f"SET TimeZone = '{zone}'")
        rows = con.sql(
            f"SELECT {number % 2} AS id, 'v{number}' AS v, TIMESTAMPTZ '2026-01-0{number + 1} 00:00:00Z' AS at"
        )
        lance_sql.apply_changes(tmp_path / "t.lance", rows, "id", sequence_by="at", except_columns=["at"], scd=scd)
    assert sorted(current(lance_sql.open(tmp_path / "t.lance"))) == ["v2", "v3"]


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("at", [pa.array([[1]]), pa.array([{"a": 1}])], ids=str)
def test_columns_without_an_order_are_refused(tmp_path: Path, at: pa.Array, scd: Any) -> None:
    with pytest.raises(InvalidArgument, match="sequence_by: the column 'at'"):
        applied(tmp_path / "t.lance", at, "a", scd)


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("is_whole", [True, False], ids=["one call", "a call for each version"])
@pytest.mark.parametrize("sequence", ["at", None])
def test_a_feed_deletes_at_the_moment_of_the_row(
    tmp_path: Path, sequence: str | None, scd: Any, *, is_whole: bool
) -> None:
    source = lance_sql.write({"id": [1, 2, 3, 4], "at": [1] * 4, "v": ["a"] * 4}, tmp_path / "s.lance")
    source = source.delete("id IN (1, 4)")
    source = lance_sql.write({"id": [4], "at": [1 if is_whole else 2], "v": ["again"]}, source, mode="append")
    source = source.update({"at": "2", "v": "'b'"}, "id = 2").update({"v": "'c'"}, "id = 3")
    versions = [(1, source.version)] if is_whole else [(each, each) for each in range(1, source.version + 1)]
    for start, end in versions:
        feed = lance_sql.open(source.uri).changes(start=start, end=end)
        lance_sql.apply_changes(tmp_path / "t.lance", feed, "id", sequence_by=sequence, scd=scd)
    target = lance_sql.open(tmp_path / "t.lance")
    rows = [row for row in target.to_table().to_pylist() if row.get("is_current", True)]
    found = {row["id"]: row["v"] for row in rows}
    assert found.keys() == {2, 3, 4}
    assert (found[2], found[4]) == ("b", "again")
    if not is_whole and sequence is None:
        assert found[3] == "c"
    if scd == 2:
        assert target.count_rows("id = 2") == 2
    version = target.version
    lance_sql.apply_changes(tmp_path / "t.lance", source.changes(), "id", sequence_by=sequence, scd=scd)
    assert lance_sql.open(tmp_path / "t.lance").version == version


REFILLS: dict[str, Callable[[Dataset], Any]] = {
    "overwrite": lambda table: lance_sql.write(table.to_table().slice(0, 0), table, mode="overwrite"),
    "insert overwrite": lambda table: lance_sql.sql(
        f"INSERT OVERWRITE '{table.uri}' SELECT * FROM '{table.uri}' LIMIT 0"
    ),
    "truncate": lambda table: lance_sql.sql(f"TRUNCATE TABLE '{table.uri}'", all_rows=True),
    "delete": lambda table: table.delete("true"),
}


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("how", REFILLS)
def test_a_table_that_was_emptied_is_filled_once_more(tmp_path: Path, how: str, scd: Any) -> None:
    changes = [{"id": 1, "v": "a", "at": 1}, {"id": 2, "v": "b", "at": 2}, {"id": 3, "v": None, "at": 1}]

    def fill() -> Dataset:
        return lance_sql.apply_changes(
            tmp_path / "t.lance",
            changes,
            "id",
            sequence_by="at",
            except_columns=["at"],
            delete_when="v IS NULL",
            scd=scd,
        )

    REFILLS[how](fill())
    assert lance_sql.open(tmp_path / "t.lance").count_rows() == 0
    assert sorted(current(fill())) == ["a", "b"]


def event(id: int, value: str | None, at: int) -> dict[str, Any]:
    return {"id": id, "v": value, "at": at}


MOVES: dict[str, Callable[[Dataset], Dataset]] = {
    "the order renamed": lambda table: table.rename_columns({"at": "ts"}),
    "the order dropped": lambda table: table.drop_columns(["at"]),
    "the key renamed": lambda table: table.rename_columns({"id": "key"}),
    "the order made anew": lambda table: table.drop_columns(["at"]).add_columns({"at": "7"}),
}


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("how", MOVES)
def test_a_column_that_was_moved_is_named(tmp_path: Path, how: str, scd: Any) -> None:
    table = lance_sql.apply_changes(tmp_path / "t.lance", [event(1, "a", 5)], "id", sequence_by="at", scd=scd)
    before = MOVES[how](table)
    with pytest.raises(InvalidArgument, match=r"the column '\w+', which was (renamed|dropped)"):
        lance_sql.apply_changes(tmp_path / "t.lance", [event(1, "late", 3)], "id", sequence_by="at", scd=scd)
    assert lance_sql.open(tmp_path / "t.lance").version == before.version


@pytest.mark.parametrize("name", ["valid_from", "valid_to", "is_current"])
def test_a_history_without_its_columns_is_named(tmp_path: Path, name: str) -> None:
    table = lance_sql.apply_changes(tmp_path / "t.lance", [event(1, "a", 5)], "id", sequence_by="at", scd=2)
    table = table.rename_columns({name: "other"})
    with pytest.raises(InvalidArgument, match=f"'{name}', which was renamed to 'other'"):
        lance_sql.apply_changes(tmp_path / "t.lance", [event(1, "b", 6)], "id", sequence_by="at", scd=2)


REFUSED: dict[str, dict[str, Any]] = {
    "another kind": {"changes": [event(1, "b", 2)], "scd": 2},
    "other keys": {"changes": [event(1, "b", 2)], "keys": ["id", "v"]},
    "a type that does not fit": {"changes": [{"id": 1, "v": 5, "at": 2, "new": 1}]},
    "a broken rule": {"changes": [{"id": 1, "v": "bad", "at": 2, "new": 1}]},
    "NULL where none may be": {"changes": [{"id": 9, "v": "b", "at": 2, "n": None, "new": 1}]},
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_refusal_leaves_no_columns(tmp_path: Path, how: str) -> None:
    schema = pa.schema(
        [pa.field("id", pa.int64()), pa.field("v", pa.string()), pa.field("n", pa.int64(), nullable=False)]
    )
    table = lance_sql.write(pa.table({"id": [0], "v": ["z"], "n": [1]}, schema), tmp_path / "t.lance")
    table = lance_sql.apply_changes(
        table, [{"id": 1, "v": "a", "at": 1, "n": 1}], "id", sequence_by="at", except_columns=["at"]
    )
    table = table.rules.set("good", "v <> 'bad'", enforce=True)
    arguments = {"keys": "id", "sequence_by": "at", "except_columns": ["at"], **REFUSED[how]}
    with pytest.raises(LanceError):
        lance_sql.apply_changes(table, arguments.pop("changes"), arguments.pop("keys"), **arguments)
    after = lance_sql.open(tmp_path / "t.lance")
    assert after.schema == table.schema
    assert after.to_table() == table.to_table()


def test_new_tables_of_extension_types_inside_of_others(tmp_path: Path) -> None:
    ids = pa.array([UUID(int=1)], pa.uuid())
    rows = pa.table(
        {
            "id": [1],
            "s": pa.StructArray.from_arrays([ids], ["u"]),
            "l": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), ids),
        }
    )
    made = lance_sql.apply_changes(tmp_path / "t.lance", rows, "id")
    assert made.schema == lance_sql.write(rows, tmp_path / "u").schema
    assert made.count_rows(f"s.u = '{UUID(int=1)}'") == 1
