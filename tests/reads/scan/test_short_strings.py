"""Strings of a letter or two, which engines get as indices of the distinct ones among them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.reads.scan import batches
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.stream import runs

NUM_ROWS = 80_000
FILTERS = (None, "number < 98", "number = 3", "short > 'M'", "short IS NOT NULL AND number <> 5")


def table_of(folder: Path, short: pa.Array, file_version: str = "2.1") -> lance_sql.Dataset:
    """A table whose strings are stored as they are, as other writers store short ones."""
    plain = {"lance-encoding:compression": "none", "lance-encoding:dict-divisor": str(10**9)}
    schema = pa.schema([("number", pa.int64()), pa.field("short", short.type, metadata=plain)])
    rows = pa.table([pa.array(np.arange(len(short)) % 100), short], schema=schema)
    table = lance_sql.write(rows, folder / "t.lance", file_version=file_version)
    (column,) = table.snapshot.open(table.snapshot.manifest.fragments[0]).columns_of(
        table.snapshot.manifest.schema.fields[1]
    )
    assert column.num_dictionary_items() in (None, 1)
    return table


def random_choice(items: list[str | None], seed: int = 1) -> list[str | None]:
    return [items[place] for place in np.random.default_rng(seed).integers(0, len(items), NUM_ROWS)]


CONTENTS = {
    "letters": random_choice(["A", "N", "R"]),
    "letters and nothing": random_choice(["A", "", "R"]),
    "letters and NULL": random_choice(["A", None, "R"]),
    "nothing": random_choice(["", None]),
    "every character": random_choice([chr(code) for code in range(128)]),
    "characters of two bytes": random_choice(["é", "ø", "A", None]),
    "codes": random_choice([a + b for a in "ABCDEFGHIJ" for b in "KLMNOPQRST"]),
    "now and then a long one": [*random_choice(["A", "B", ""])[:-2], "quite a long one", "another"],
    # more than the kernels look for in a batch, and nothing else
    "all distinct": [str(number) if number % 4 == 0 else "" for number in range(NUM_ROWS)],
}


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
@pytest.mark.parametrize("name", CONTENTS)
def test_the_strings_are_the_same(tmp_path: Path, name: str, file_version: str) -> None:
    table = table_of(tmp_path, pa.array(CONTENTS[name], pa.string()), file_version).delete("number = 7")
    types = compact_types(table.snapshot)
    assert "short" in types
    for filter in FILTERS:
        expected = table.scan(filter=filter).to_table()
        for batch_size in (None, 1000, 200_000):
            found = table.scan(filter=filter, batch_size=batch_size).with_types(types).to_reader().read_all()
            found.validate(full=True)
            assert found.cast(expected.schema).equals(expected)
        query = "SELECT short, count(*), sum(number) FROM {} GROUP BY short ORDER BY short NULLS FIRST"
        where = f"(SELECT * FROM lance_scan('{tmp_path / 't.lance'}') WHERE {filter or 'true'})"
        with lance_sql.connect() as connection:
            answer = connection.sql(query.format(where)).fetchall()
        assert answer == duckdb.execute(query.format("expected")).fetchall()


@pytest.mark.parametrize("type", [pa.string(), pa.large_string()], ids=str)
def test_letters_become_indices_in_the_kernels(tmp_path: Path, type: pa.DataType) -> None:
    table = table_of(tmp_path, pa.array(CONTENTS["letters and NULL"], type))
    types = compact_types(table.snapshot)
    assert types["short"] == pa.dictionary(pa.int32(), type)
    scan = table.scan().with_types(types)
    prepared = [
        runs.prepared(scan.read_plan, run)
        for run in batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(None))
    ]
    assert None not in prepared
    assert scan.to_table().cast(table.schema).equals(table.to_table())


def test_bytes_that_are_no_characters(tmp_path: Path) -> None:
    values = [bytes([code % 256]) for code in range(NUM_ROWS)]
    table = table_of(tmp_path, pa.array(values, pa.binary()))
    assert "short" not in compact_types(table.snapshot)
    found = table.scan(["short"]).with_types({"short": pa.dictionary(pa.int32(), pa.binary())}).to_reader().read_all()
    assert found["short"].cast(pa.binary()).to_pylist() == values


def test_longer_strings_stay_strings(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(NUM_ROWS)]
    assert "short" not in compact_types(table_of(tmp_path, pa.array(texts)).snapshot)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_short_strings(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    items = data.draw(st.lists(st.none() | st.text(max_size=2), min_size=1, max_size=300))
    kept = data.draw(st.integers(0, 100))
    content = (items * (40_000 // len(items) + 1))[:40_000]
    table = table_of(tmp_path_factory.mktemp("short"), pa.array(content, pa.string()))
    scan = table.scan(filter=f"number < {kept}").with_types(compact_types(table.snapshot))
    expected = table.scan(filter=f"number < {kept}").to_table()
    assert scan.to_reader().read_all().cast(expected.schema).equals(expected)


LETTERS = ["open", "paid", None, "sent"]
JOINED = pa.table({"k": range(4060), "s": [LETTERS[number % 4] for number in range(4060)]})


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2"])
def of_short_fragments(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    """A fragment of 4,000 rows, and 20 of three rows, whose dictionaries differ."""
    path = tmp_path_factory.mktemp("joined") / "t.lance"
    table = lance_sql.write(JOINED.slice(0, 4000), path, file_version=request.param)
    for start in range(4000, 4060, 3):
        table = lance_sql.write(JOINED.slice(start, 3), table, mode="append")
    return table


@pytest.mark.parametrize("condition", ["true", "k % 7 = 3", "s = 'paid'", "s IS NULL", "k > 4009"])
def test_short_fragments_with_dictionaries_are_joined(of_short_fragments: lance_sql.Dataset, condition: str) -> None:
    type = pa.dictionary(pa.int32(), pa.string())
    found = list(of_short_fragments.scan(filter=condition).with_types({"s": type}).to_reader())
    assert len(found) <= 3
    read = pa.Table.from_batches(found)
    assert read.schema.field("s").type == type
    expected = duckdb.execute(f"SELECT * FROM JOINED WHERE {condition} ORDER BY k").fetchall()
    assert list(zip(*read.to_pydict().values(), strict=True)) == expected
