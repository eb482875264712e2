"""Tables with a history: row lineage against pylance, and filters on it against filters on a full scan."""

from __future__ import annotations

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.reads.scan.system_columns import CREATED_AT, LAST_UPDATED_AT, NAMES, ROW_ADDRESS, ROW_ID

from .histories import History

COLUMNS = ["key", "value", "text"]
STEPS = 14

TABLES = [
    ("2.1", True, False),
    ("2.2", True, False),
    ("2.2", True, True),
    ("2.1", False, False),
    ("2.2", False, False),
]


@pytest.fixture(scope="module", params=[(seed, *table) for seed, table in enumerate(TABLES)], ids=str)
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> History:
    seed, file_version, stable, spill = request.param
    made = History(
        tmp_path_factory.mktemp("history") / "t.lance", seed, file_version=file_version, stable=stable, spill=spill
    )
    made.run(STEPS)
    return made


def expected(history: History, version: int, columns: list[str]) -> pa.Table:
    return lance.dataset(history.root, version=version).to_table(columns=columns)


def test_every_version_has_the_rows_and_the_lineage_that_pylance_sees(history: History) -> None:
    for version in lance.dataset(history.root).versions():
        dataset = lance_sql.open(history.root, version=version["version"])
        columns = [*COLUMNS, *dataset.system_columns]
        found = dataset.scan(columns).to_table()
        wanted = expected(history, version["version"], columns)
        # pylance calls the system columns nullable
        assert found.to_pydict() == wanted.to_pydict(), (version["version"], history.log)
        assert dataset.count_rows() == found.num_rows


def conditions(rng: np.random.Generator, full: pa.Table) -> list[str]:
    """Conditions on the columns of the table, system columns and others mixed."""

    def some(name: str) -> int:
        values = full[name].to_pylist()
        value = values[int(rng.integers(len(values)))]
        return int(value) + int(rng.choice([0, 0, 0, 1]))

    def atom() -> str:
        system = [name for name in NAMES if name in full.column_names]
        name = str(rng.choice([*system, *system, "value"]))
        match int(rng.integers(4)):
            case 0:
                return f"{name} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {some(name)}"
            case 1:
                low, high = sorted((some(name), some(name)))
                return f"{name} BETWEEN {low} AND {high}"
            case 2:
                return f"{name} IN ({', '.join(str(some(name)) for _ in range(int(rng.integers(1, 5))))})"
            case _:
                return str(rng.choice(["text IS NULL", "text LIKE 'text 1%'", f"NOT {name} < {some(name)}"]))

    def condition(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return atom()
        parts = [condition(depth - 1) for _ in range(int(rng.integers(2, 4)))]
        joined = f" {rng.choice(['AND', 'OR'])} ".join(parts)
        return f"{'NOT ' if rng.random() < 0.15 else ''}({joined})"

    return [condition(int(rng.integers(0, 3))) for _ in range(60)]


def test_filters_on_lineage_are_those_of_a_full_scan(history: History) -> None:
    dataset = lance_sql.open(history.root)
    names = [*COLUMNS, *dataset.system_columns]
    full = dataset.scan(names).to_table()
    con = duckdb.connect()
    con.register("everything", full)
    for condition in conditions(np.random.default_rng(5), full):
        wanted = con.sql(f"SELECT {', '.join(names)} FROM everything WHERE {condition}").to_arrow_table()
        found = dataset.scan(names, condition).to_table()
        assert found.to_pylist() == wanted.to_pylist(), condition
        assert dataset.count_rows(condition) == wanted.num_rows
        assert dataset.scan([ROW_ID], condition, limit=3).to_table().num_rows == min(3, wanted.num_rows)
        parts = [task.to_reader().read_all() for task in dataset.scan(names, condition).tasks(3)]
        assert pa.concat_tables(parts or [found]).to_pylist() == found.to_pylist()


def test_a_change_query_reads_the_fragments_that_changed(history: History) -> None:
    dataset = lance_sql.open(history.root)
    if CREATED_AT not in dataset.system_columns:
        assert dataset.system_columns == (ROW_ID, ROW_ADDRESS)
        return
    full = dataset.scan([ROW_ADDRESS, LAST_UPDATED_AT]).to_table()
    last = pc.max(full[LAST_UPDATED_AT]).as_py()
    changed = full.filter(pc.equal(full[LAST_UPDATED_AT], last))
    fragments = {address >> 32 for address in changed[ROW_ADDRESS].to_pylist()}
    total = len(dataset.snapshot.manifest.fragments)
    text = dataset.scan(COLUMNS, f"{LAST_UPDATED_AT} >= {last}").explain()
    assert f"fragments: {len(fragments)} of {total} ({total - len(fragments)} pruned)" in text
    assert f"rows: {changed.num_rows} of {full.num_rows} ({full.num_rows - changed.num_rows} pruned)" in text


def test_rows_are_found_by_their_ids(history: History) -> None:
    rng = np.random.default_rng(1)
    for version in lance.dataset(history.root).versions()[::3]:
        dataset = lance_sql.open(history.root, version=version["version"])
        full = dataset.scan([ROW_ID, *COLUMNS]).to_table()
        if full.num_rows == 0:
            continue
        places = rng.integers(0, full.num_rows, 25)
        ids = full[ROW_ID].take(places)
        assert dataset.take(ids, [ROW_ID, *COLUMNS]).to_pylist() == full.take(places).to_pylist()
