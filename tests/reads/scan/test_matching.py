"""Filters on encoded values against the same filters on decoded ones."""

from __future__ import annotations

import math
from decimal import Decimal

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql._kernels import ValueOrder
from lance_sql.dataset import Dataset
from lance_sql.format.layouts.matching import KEY_BYTES, KeyRange
from lance_sql.reads.scan.pieces import FragmentRun
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import ColumnCondition, evaluate, from_sql, steps
from lance_sql.reads.scan.stream import filter, runs
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values.row_ranges import RowRanges

pytestmark = pytest.mark.usefixtures("maps_files")

NUM_ROWS = 40_000


def content() -> pa.Table:
    """Columns of every kind of value that has keys, of dictionaries, of runs, and of text that has to be decoded."""
    random = np.random.default_rng(11)
    some = random.random(NUM_ROWS) < 0.2

    def floats(kind: type) -> pa.Array:
        values = random.integers(-5, 5, NUM_ROWS).astype(kind) / kind(2)
        values[random.random(NUM_ROWS) < 0.1] = kind(math.nan)
        values[random.random(NUM_ROWS) < 0.1] = kind(-0.0)
        values[random.random(NUM_ROWS) < 0.02] = kind(-math.inf)
        return pa.array(values, mask=some, from_pandas=False)

    small = random.integers(-128, 127, NUM_ROWS)
    wide = random.integers(-(2**62), 2**62, NUM_ROWS)
    columns = {
        "i8": pa.array(small, pa.int8()),
        "i16": pa.array(small * 7, pa.int16(), mask=some),
        "i32": pa.array(small * 3, pa.int32()),
        "i64": pa.array(wide, pa.int64(), mask=some),
        "u8": pa.array(small + 128, pa.uint8(), mask=some),
        "u32": pa.array((small + 128) * 11, pa.uint32()),
        "u64": pa.array(wide.astype(np.uint64), pa.uint64()),
        "runs": pa.array(np.sort(small), pa.int64()),
        "f32": floats(np.float32),
        "f64": floats(np.float64),
        "day": pa.array(small.astype(np.int32), pa.date32()),
        "moment": pa.array(wide // 1000, pa.timestamp("us"), mask=some),
        "price": pa.array([Decimal(int(number)) / 4 for number in small], pa.decimal128(12, 2)),
        "cost": pa.array([None if gone else Decimal(int(number)) for number, gone in zip(wide, some, strict=True)],
                         pa.decimal128(30, 3)),
        "kind": pa.array([f"kind {number % 9}" for number in small], mask=some),
        "text": pa.array([f"{number} of many" for number in wide], mask=some),
        "flag": pa.array(small % 2 == 0),
        "nothing": pa.nulls(NUM_ROWS, pa.int32()),
        "same": pa.array([7] * NUM_ROWS, pa.int32()),
        "nested": pa.array([{"x": int(number)} for number in small]),
    }  # fmt: skip
    return pa.table(columns)


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "ours"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = str(tmp_path_factory.mktemp("matching") / "t.lance")
    if request.param == "ours":
        lance_sql.write(content(), path)
    else:
        lance.write_dataset(content(), path, data_storage_version=request.param)
    dataset = lance.dataset(path)
    dataset.delete("i8 = 3 or i32 = 33")
    dataset.add_columns({"added": "i32 + 1"})
    # what scans have learned would answer some tests
    return lance_sql.open(path, learn_statistics=False)


@pytest.fixture(scope="module")
def rows(table: Dataset) -> pa.Table:
    return table.scan().to_table()


LITERALS: dict[str, list[str]] = {
    "i8": ["-128", "127", "0", "3", "1.5"],
    "i16": ["-896", "700", "0"],
    "i32": ["-384", "33", "381", "0.5"],
    "i64": ["0", "-4611686018427387904", "9223372036854775807"],
    "u8": ["0", "255", "100"],
    "u32": ["0", "2805", "1100"],
    "u64": ["0", "18446744073709551615", "4611686018427387904"],
    "runs": ["-128", "5", "126"],
    "f32": ["0.0", "-0.0", "1.5", "-2.5", "'NaN'::FLOAT", "'-Infinity'::FLOAT"],
    "f64": ["0.0", "-0.0", "1.5", "-2.5", "'NaN'::DOUBLE", "'Infinity'::DOUBLE"],
    "day": ["DATE '1970-01-01'", "DATE '1970-02-11'", "DATE '1969-12-01'"],
    "moment": ["TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1990-05-05 01:02:03'"],
    "price": ["0", "1.25", "-32.00", "31.755"],
    "cost": ["0", "123.5", "-4611686018427387904.001"],
    "kind": ["'kind 3'", "'kind'", "'zebra'"],
    "text": ["'1'", "'-4'", "'9'"],
    "same": ["7", "8"],
    "nothing": ["7"],
    "added": ["0", "100"],
}


@st.composite
def leaves(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(LITERALS)))
    literal = st.sampled_from(LITERALS[column])
    form = draw(st.integers(0, 9))
    if form == 0:
        return f"{column} IS NULL"
    if form == 1:
        return f"{column} IS NOT NULL"
    if form == 2:
        return f"{column} IN ({draw(literal)}, {draw(literal)})"
    if form == 3:
        return f"{column} BETWEEN {draw(literal)} AND {draw(literal)}"
    if form == 7 and column in ("kind", "text"):
        return f"{column} LIKE '{draw(st.sampled_from(['k', 'kind 1', '-', '1', '', 'kind 3_']))}%'"
    if form == 4 and column in ("kind", "text"):
        return f"{column} LIKE '%{draw(st.sampled_from(['3', 'kind', '_ of%']))}'"
    if form == 5:
        return f"NOT ({column} > {draw(literal)})"
    return f"{column} {draw(st.sampled_from(['=', '<>', '<', '<=', '>', '>=']))} {draw(literal)}"


def nested() -> st.SearchStrategy[str]:
    """Conditions below AND, OR and NOT, and what is unknown for NULLs in them."""

    def outer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        several = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            several.map(lambda parts: f"({' OR '.join(parts)})"),
            several.map(lambda parts: f"({' AND '.join(parts)})"),
            inner.map(lambda part: f"NOT ({part})"),
        )

    lists = st.sampled_from(sorted(LITERALS)).flatmap(
        lambda column: st.lists(st.sampled_from([*LITERALS[column], "NULL"]), min_size=1, max_size=4).map(
            lambda values: f"{column} IN ({', '.join(values)})"
        )
    )
    return st.recursive(leaves() | lists, outer, max_leaves=6)


@st.composite
def conditions(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        return draw(nested())
    parts = draw(st.lists(leaves(), min_size=1, max_size=4))
    if draw(st.booleans()):
        return " AND ".join(parts)
    return f"({' OR '.join(parts[:2])}) AND {' AND '.join(parts)}"


@settings(max_examples=70, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(condition=conditions(), batch_size=st.sampled_from([None, None, 1000, 20_000]))
def test_encoded_values_pass_as_decoded_ones_do(
    table: Dataset, rows: pa.Table, condition: str, batch_size: int | None
) -> None:
    check(table, rows, condition, batch_size)


@pytest.mark.slow
@settings(max_examples=5_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(condition=conditions())
def test_many_conditions(table: Dataset, rows: pa.Table, condition: str) -> None:
    check(table, rows, condition, None)


def check(table: Dataset, rows: pa.Table, condition: str, batch_size: int | None) -> None:
    predicate = from_sql(condition, rows.schema, table="t")
    (batch,) = rows.combine_chunks().to_batches()
    expected = rows.filter(evaluate(predicate, batch))
    columns = ["i64", "kind", "cost", "nested"]
    found = table.scan(columns, condition, batch_size=batch_size).to_table()
    assert found.equals(expected.select(columns))


class Counted:
    """Counts the runs that streams were asked for, those that the kernels read, and those whose filter they test in
    stored form."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = self.tested = self.streamed = 0
        prepare = runs.prepared

        def prepared(plan: ReadPlan, run: FragmentRun) -> object:
            found = prepare(plan, run)
            self.asked += 1
            self.streamed += found is not None
            return found

        def bound_filter(plan: ReadPlan, fragment: OpenFragment, rows: RowRanges) -> object:
            found = filter.bound_filter(plan, fragment, rows)
            self.tested += found[2] is None
            return found

        monkeypatch.setattr(runs, "prepared", prepared)
        monkeypatch.setattr(runs, "bound_filter", bound_filter)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize("column", [name for name in LITERALS if name not in ("nothing", "added")])
def test_columns_tested_in_stored_form(table: Dataset, counted: Counted, column: str) -> None:
    table.scan([column], f"{column} <= {LITERALS[column][1]} AND {column} IS NOT NULL").to_table()
    assert counted.tested == counted.streamed == counted.asked > 0


def test_nothing_is_decoded_where_no_row_can_pass(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(file.file_version == (2, 0) for fragment in table.snapshot.manifest.fragments for file in fragment.files):
        pytest.skip("of files 2.0 Python tests values that it has decoded")

    def refuse(*_: object) -> list[pa.Array]:
        raise AssertionError("columns are read")

    monkeypatch.setattr(OpenFragment, "read", refuse)
    assert table.scan(["text"], "kind = 'zebra' AND text LIKE '%1%'").to_table().num_rows == 0


ALTERNATIVES = [
    "i32 < -300 OR i64 > 0",
    "NOT (i16 > 7 OR f64 < 0)",
    "NOT (i16 > 7 AND f64 < 0 AND i64 IS NOT NULL)",
    "f32 = 'NaN'::FLOAT OR NOT (f64 >= 1.5) OR price = 1.25",
    "i32 IN (3, 6, 33) OR kind IN ('kind 3', 'kind 5')",
    "text IN ('1 of many', '2') OR moment IS NULL",
    "(i8 = 1 AND u8 > 3) OR (i8 = 2 AND (kind LIKE '%4' OR text < '0'))",
    "NOT (kind LIKE '%4' OR NOT (text < '0'))",
    "NOT (i16 IN (7, 14)) AND NOT (i64 IN (7, NULL) AND u8 = 3)",
]


@pytest.mark.parametrize("condition", ALTERNATIVES)
def test_alternatives_are_streamed_by_the_kernels(
    table: Dataset, rows: pa.Table, counted: Counted, condition: str
) -> None:
    check(table, rows, condition, None)
    counted.streamed = 0
    table.scan(["i64", "text"], condition).to_table()
    assert counted.streamed > 0


def test_many_alternatives_are_left_to_arrow(table: Dataset, rows: pa.Table) -> None:
    condition = " OR ".join(f"i64 = {number} OR i32 = {number}" for number in range(3, 3000, 30))
    check(table, rows, condition, None)
    tested, rest = table.scan(["i64"], f"i8 < 3 AND ({condition})").read_plan.steps
    assert len(tested) == 1
    assert len(rest.columns if rest is not None else ()) == 2


def column_tests(condition: str, schema: pa.Schema) -> list[ColumnCondition]:
    found = [step for step in steps(from_sql(condition, schema, table="t")) or [] if isinstance(step, ColumnCondition)]
    assert found
    return found


def test_two_ranges_of_a_column_are_one() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.float64())])
    tests = column_tests("a >= 3 AND b < 0.5 AND a < 10 AND a <> 4", schema)
    assert [(test.path, len(test.predicates)) for test in tests] == [(("a",), 2), (("b",), 1), (("a",), 1)]
    assert tests[0].test.keys == KeyRange(ValueOrder.SIGNED, 32, 2**31 + 3, 2**31 + 9)


def test_keys_have_the_order_of_the_values() -> None:
    schema = pa.schema([("x", pa.float32())])
    literals = ["'-Infinity'::FLOAT", "-1.5", "-0.0", "0.0", "1.5", "'Infinity'::FLOAT", "'NaN'::FLOAT"]
    keys = []
    for literal in literals:
        (test,) = column_tests(f"x = {literal}", schema)
        assert test.test.keys is not None
        keys.append(test.test.keys.low)
    assert keys == sorted(keys)
    assert keys[2] == keys[3]
    assert max(keys) < 1 << (8 * KEY_BYTES)
