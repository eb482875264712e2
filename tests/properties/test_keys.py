"""One rule of keys: every verb that tells rows apart by columns agrees with a model that has Python's dicts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan import key_matching
from lance_sql.testing import assert_invariants, assert_table_equal
from lance_sql.values import hashes, keys

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NAN: Final = (float("nan"), np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\xff", np.float64)[0])
_TEXT: Final = ["", "a", "A", "ß", "z" * 40]


def _times(type: pa.DataType) -> pa.Array:
    width = pa.int32() if type.bit_width == 32 else pa.int64()
    step = 86_400_000 if pa.types.is_date64(type) else 1
    return (
        pa.array([0, 1, 5, 86_399, -3 if not pa.types.is_time(type) else 9], pa.int64()).cast(width).cast(type)
        if (step == 1)
        else pa.array([0, step, 5 * step, -step], pa.int64()).cast(type)
    )


def _floats(type: pa.DataType) -> pa.Array:
    values = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, *_NAN], type.to_pandas_dtype())
    return pa.array(values, type, from_pandas=False)


def _uuids() -> pa.Array:
    return pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in (0, 1, 9)], pa.binary(16))
    )


POOLS: Final[dict[str, pa.Array]] = {
    **{str(type): pa.array([0, 1, 2, 100], type) for type in (pa.int8(), pa.uint16(), pa.int32(), pa.int64())},
    "uint64": pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()),
    "bool": pa.array([True, False]),
    **{str(type): _floats(type) for type in (pa.float16(), pa.float32(), pa.float64())},
    **{str(type): pa.array(_TEXT, type) for type in (pa.string(), pa.large_string())},
    **{str(type): pa.array([b"", b"a", b"\x00", b"\xff"], type) for type in (pa.binary(), pa.large_binary())},
    "fixed-size binary": pa.array([b"ab", b"\x00\x00", b"\xff\xff"], pa.binary(2)),
    "uuid": _uuids(),
    "null": pa.nulls(2),
    "categories": pa.array(_TEXT).dictionary_encode(),
    "categories of integers": pa.array([5, 6, 7]).dictionary_encode(),
    "decimal128": pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal(0)], pa.decimal128(20, 2)),
    "decimal256": pa.array([Decimal("1.5"), Decimal("-2.2"), Decimal(0)], pa.decimal256(50, 1)),
    **{
        str(type): _times(type)
        for type in (
            pa.date32(),
            pa.date64(),
            pa.time32("s"),
            pa.time32("ms"),
            pa.time64("us"),
            pa.time64("ns"),
            pa.duration("ms"),
            *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
            *(pa.timestamp(unit, "Asia/Tokyo") for unit in ("s", "ns")),
        )
    },
}


def model(column: pa.Array) -> list[Hashable]:
    """The values as they are the same, without the rule that is tested."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        values = column.to_pylist()
        return [None if v is None else "NaN" if v != v else v + 0.0 for v in values]
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    made: list[Hashable] = column.to_pylist()
    return made


class Keys:
    """Rows with a key of one column or two, drawn from a pool."""

    def __init__(self, name: str, seed: int, *, is_composite: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.pool = POOLS[name]
        self.names = ["k", "c"] if is_composite else ["k"]

    def rows(self, count: int, *, unique: bool = False, nulls: bool = True) -> pa.Table:
        """
        unique: no two rows have one key, NULL among them
        """
        positions = self.rng.integers(0, len(self.pool), count)
        mask = (self.rng.random(count) < 0.2) & nulls
        k = self.pool.take(pa.array(positions, mask=mask))
        c = pa.array(self.rng.integers(0, 4, count), pa.int16(), mask=(self.rng.random(count) < 0.1) & nulls)
        table = pa.table({"k": k, "c": c, "v": self.rng.integers(0, 3, count)})
        if unique:
            seen = list(dict.fromkeys(self.of(table)))
            table = table.take(pa.array([self.of(table).index(key) for key in seen], pa.int64()))
        return table

    def of(self, table: pa.Table) -> list[tuple[Hashable, ...]]:
        """The keys of the rows."""
        columns = [model(pa.concat_arrays(table[name].chunks)) if table.num_rows else [] for name in self.names]
        return list(zip(*columns, strict=True))

    def by_key(self, table: pa.Table, *, with_nulls: bool = True) -> dict[tuple[Hashable, ...], int]:
        made = dict(zip(self.of(table), table["v"].to_pylist() if table.num_rows else [], strict=True))
        return {key: v for key, v in made.items() if with_nulls or None not in key}

    def sorted(self, table: pa.Table) -> list[str]:
        return sorted(map(repr, zip(self.of(table), table["v"].to_pylist(), strict=True)))


cases = pytest.mark.parametrize(
    ("name", "is_composite"), [(name, flag) for name in POOLS for flag in (False, True)], ids=str
)


def written(table: pa.Table, path: Path, **options: Any) -> Dataset:
    return lance_sql.write(table, path, max_rows_per_file=7, **options)


@cases
def test_numbers(name: str, is_composite: bool) -> None:
    made = Keys(name, 1, is_composite=is_composite)
    left, right = made.rows(40), made.rows(50)
    for nulls_are_equal in (True, False):
        sides = [keys.columns_of(side, made.names) for side in (left, right)]
        at_left, at_right = keys.pairs(*keys.numbered(sides, nulls_are_equal=nulls_are_equal))
        expected = [
            (i, j)
            for j, theirs in enumerate(made.of(right))
            for i, mine in enumerate(made.of(left))
            if mine == theirs and (nulls_are_equal or None not in mine)
        ]
        assert list(zip(at_left.tolist(), at_right.tolist(), strict=True)) == expected
    numbers = np.concatenate(keys.numbered(sides, nulls_are_equal=True))
    assert np.unique(numbers).tolist() == list(range(len({*made.of(left), *made.of(right)})))
    hashed = hashes.of_rows(keys.columns_of(left, made.names), left.num_rows).tolist()
    assert len(set(zip(made.of(left), hashed, strict=True))) == len(set(made.of(left)))


@cases
@pytest.mark.parametrize("most_listed", [0, key_matching.MAX_LISTED_KEYS])
def test_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_composite: bool, most_listed: int
) -> None:
    monkeypatch.setattr(key_matching, "MAX_LISTED_KEYS", most_listed)
    made = Keys(name, 2 + most_listed, is_composite=is_composite)
    before, source = made.rows(30), made.rows(20, unique=True)
    after = written(before, tmp_path / "t.lance").merge(source, on=made.names)
    new = made.by_key(source, with_nulls=False)
    expected = [(key, new.get(key, v)) for key, v in zip(made.of(before), before["v"].to_pylist(), strict=True)]
    known = {key for key in made.of(before) if None not in key}
    expected += [(key, v) for key, v in zip(made.of(source), source["v"].to_pylist(), strict=True) if key not in known]
    assert made.sorted(after.to_table()) == sorted(map(repr, expected))
    twice = pa.concat_tables([source, source])
    if new:
        with pytest.raises(InvalidArgument, match="Two rows of the source"):
            after.merge(twice, on=made.names, unique=True)
    only_new = Keys(name, 3, is_composite=is_composite).rows(9, nulls=False)
    empty = lance_sql.write(only_new.slice(0, 0), tmp_path / "empty.lance")
    whole = [key for key in made.of(only_new) if None not in key]
    if len(set(whole)) < len(whole):
        with pytest.raises(InvalidArgument, match="Two rows of the source have the new key"):
            empty.merge(only_new, on=made.names, unique=True)


@cases
def test_changes_and_diff(tmp_path: Path, name: str, is_composite: bool) -> None:
    made = Keys(name, 4, is_composite=is_composite)
    before, after = made.rows(25, unique=True), made.rows(25, unique=True)
    a, b = written(before, tmp_path / "a.lance"), written(after, tmp_path / "b.lance")
    old, new = made.by_key(before), made.by_key(after)
    difference = lance_sql.diff(a, b, made.names, max_rows=1000)
    assert made.by_key(difference.inserted) == {key: v for key, v in new.items() if key not in old}
    assert made.by_key(difference.deleted) == {key: v for key, v in old.items() if key not in new}
    assert difference.rows_updated >= sum(old[key] != new[key] for key in old.keys() & new.keys())
    # the feed has no two NULLs that are equal
    plain = written(before, tmp_path / "c.lance", stable_row_ids=False)
    plain = lance_sql.write(after, plain, mode="overwrite")
    feed = plain.changes(since=1, key=made.names).to_table()
    kinds = feed["_change_type"].to_pylist()
    for kind, mine, theirs in (("insert", after, before), ("delete", before, after)):
        others = set(made.by_key(theirs, with_nulls=False))
        rows = feed.filter(pa.array([each == kind for each in kinds]))
        expected = mine.filter(pa.array([key not in others for key in made.of(mine)], pa.bool_()))
        assert made.sorted(rows) == made.sorted(expected)


@cases
def test_apply_changes(tmp_path: Path, name: str, is_composite: bool) -> None:
    made = Keys(name, 5, is_composite=is_composite)
    expected: dict[tuple[Hashable, ...], int] = {}
    for turn in range(3):
        events = made.rows(20)
        events = events.append_column("at", pa.array(range(20 * turn, 20 * turn + 20)))
        table = lance_sql.apply_changes(
            tmp_path / "t.lance", events, made.names, sequence_by="at", except_columns=["at"], delete_when="v = 0"
        )
        for key, v in zip(made.of(events), events["v"].to_pylist(), strict=True):
            expected.pop(key, None)
            if v:
                expected[key] = v
        assert made.by_key(table.to_table()) == expected
        assert table.count_rows() == len(expected)


@cases
def test_rules_and_test_helpers(tmp_path: Path, name: str, is_composite: bool) -> None:
    made = Keys(name, 6, is_composite=is_composite)
    rule = f"unique({', '.join(made.names)})"
    for number, table in enumerate((made.rows(30), made.rows(30, unique=True))):
        dataset = written(table, tmp_path / f"{number}.lance")
        whole = [key for key in made.of(table) if None not in key]
        is_unique = len(set(whole)) == len(whole)
        assert dataset.rules.set("one", rule).rules.check().is_kept == is_unique
        half = written(table.slice(0, 12), tmp_path / f"half {number}.lance").rules.set("one", rule)
        more = lance_sql.write(table.slice(12), half, mode="append")
        assert more.rules.check(since=half.version).is_kept == is_unique or len(set(whole[:12])) < 12
        if is_unique:
            assert_invariants(dataset, unique=[made.names])
            shuffled = table.take(pa.array(made.rng.permutation(table.num_rows)))
            if len(set(made.of(table))) == table.num_rows:
                assert_table_equal(shuffled, dataset, key=made.names)
        else:
            with pytest.raises(AssertionError, match="is not unique"):
                assert_invariants(dataset, unique=[made.names])
            with pytest.raises(InvalidArgument, match="have the key"):
                assert_table_equal(table, dataset, key=made.names)


_NESTED: Final = {
    "list": pa.array([[1], [2]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "vector": pa.array([[1.0], [2.0]], pa.list_(pa.float32(), 1)),
}


@pytest.mark.parametrize("name", _NESTED)
def test_columns_with_parts_are_refused_everywhere(tmp_path: Path, name: str) -> None:
    rows = pa.table({"k": _NESTED[name], "v": [1, 2]})
    table = lance_sql.write(rows, tmp_path / "t.lance")
    plain = lance_sql.write(rows, tmp_path / "p.lance", stable_row_ids=False)
    calls: Iterable[Callable[[], Any]] = (
        lambda: table.merge(rows, on="k"),
        lambda: plain.changes(key="k"),
        lambda: lance_sql.diff(table, plain, "k"),
        lambda: lance_sql.apply_changes(tmp_path / "new.lance", rows, "k"),
        lambda: table.rules.set("one", "unique(k)"),
        lambda: assert_invariants(table, unique="k"),
        lambda: assert_table_equal(rows, table, key="k"),
    )
    for call in calls:
        with pytest.raises(InvalidArgument, match=r"'k' of type .* cannot be a key"):
            call()
    assert table.latest().version == 1


def test_keys_of_two_types_are_instants_and_numbers(tmp_path: Path) -> None:
    moments = [_START + timedelta(seconds=i) for i in range(4)]
    for number, (left, right) in enumerate(
        (
            (pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo")),
            (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("ms", "UTC")),
        )
    ):
        a = lance_sql.write(pa.table({"k": pa.array(moments, left), "v": [0] * 4}), tmp_path / f"a{number}.lance")
        b = lance_sql.write(pa.table({"k": pa.array(moments[1:], right), "v": [0] * 3}), tmp_path / f"b{number}.lance")
        _check_two_types(a, b)
    numbers = [Decimal("1.5"), Decimal("2.5"), Decimal(3), Decimal(4)]
    a = lance_sql.write(pa.table({"k": pa.array(numbers, pa.decimal128(9, 1)), "v": [0] * 4}), tmp_path / "a.lance")
    b = lance_sql.write(
        pa.table({"k": pa.array(numbers[1:], pa.decimal256(50, 4)), "v": [0] * 3}), tmp_path / "b.lance"
    )
    _check_two_types(a, b)


def _check_two_types(a: Dataset, b: Dataset) -> None:
    difference = lance_sql.diff(a, b, "k")
    assert (difference.rows_inserted, difference.rows_deleted, difference.rows_updated) == (0, 1, 0)
    if pa.types.is_decimal(a.schema.field("k").type):
        with pytest.raises(InvalidArgument, match="Cast them"):
            a.merge(b, on="k")
        return
    merged = a.merge(b.to_table().set_column(1, "v", pa.array([1, 1, 1])), on="k")
    assert (merged.count_rows(), merged.count_rows("v = 1")) == (4, 3)
    applied = lance_sql.apply_changes(a.uri, b.to_table().append_column("at", pa.array([1] * 3)), "k", sequence_by="at")
    assert applied.count_rows() == 4


LOGGED: Final[Sequence[str]] = ("int8", "int64", "uint64", "bool", "string", "binary")


@pytest.mark.parametrize("name", LOGGED)
def test_write_ahead_logs(tmp_path: Path, name: str) -> None:
    made = Keys(name, 7, is_composite=False)
    primary = {"lance-schema:unenforced-primary-key": "true"}
    key = pa.field("k", made.pool.type, nullable=False, metadata=primary)
    schema = pa.schema([key, pa.field("v", pa.int64())])

    def table(count: int) -> pa.Table:
        rows = made.rows(count, unique=True, nulls=False).select(["k", "v"])
        return pa.Table.from_arrays(rows.columns, schema=schema)

    first = table(3)
    lance.write_dataset(first, tmp_path / "t.lance", data_storage_version="2.1")
    dataset: Any = lance.dataset(tmp_path / "t.lance")
    dataset.initialize_mem_wal()
    writer = dataset.mem_wal_writer(str(uuid.UUID(int=1)))
    puts = [table(4), table(4)]
    for rows in puts:
        writer.put(rows)
    expected = made.by_key(first)
    for rows in puts:
        expected.update(made.by_key(rows))
    assert made.by_key(lance_sql.open(tmp_path / "t.lance").scan(fresh=True).to_table()) == expected
