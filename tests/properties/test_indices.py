"""Random conditions on tables with scalar indices that pylance wrote: a scan that uses them and one that does not find
the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from lance.indices import IndexConfig

import lance_sql
from tests.properties.test_filters import TABLE, conditions

KINDS = {
    "zonemap": IndexConfig(index_type="zonemap", parameters={"rows_per_zone": 7}),
    "btree": IndexConfig(index_type="btree", parameters={"zone_size": 16}),
    "bitmap": IndexConfig(index_type="bitmap", parameters={}),
    "bloomfilter": IndexConfig(index_type="bloomfilter", parameters={"number_of_items": 8, "probability": 0.01}),
}
STEPS = ("built", "deleted", "appended", "updated", "optimized", "compacted", "restored")


def rows(table: pa.Table, times: int) -> pa.Table:
    repeated = pa.concat_tables([table] * times)
    return repeated.append_column("id", pa.array(range(repeated.num_rows), pa.int64()))


def indexed(path: Path, kind: str, *, stable: bool, file_version: Any, by: str) -> None:
    """A table with an index on each column, and a version for each of `STEPS`."""
    table = TABLE.take(np.argsort([str(value) for value in TABLE[by].to_pylist()], kind="stable"))
    dataset = lance.write_dataset(
        rows(table, 2),
        path,
        max_rows_per_file=50,
        enable_stable_row_ids=stable,
        data_storage_version=file_version,
    )
    for name in [*TABLE.column_names, "id"]:
        if kind == "bloomfilter" and name in ("m", "b", "c"):
            continue
        dataset.create_scalar_index(name, KINDS[kind], name=f"{name}_{kind}")
    dataset.tags.create("built", dataset.version)
    dataset.delete("id % 5 = 3 OR (id > 100 AND id < 110)")
    dataset.tags.create("deleted", dataset.version)
    dataset.insert(rows(table.slice(30, 40), 1))
    dataset.tags.create("appended", dataset.version)
    dataset.update({"i": "7", "s": "'ab'", "f": "1.5"}, where="id % 11 = 4")
    dataset.tags.create("updated", dataset.version)
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    dataset.tags.create("optimized", dataset.version)
    dataset.optimize.compact_files(target_rows_per_fragment=120)
    dataset.tags.create("compacted", dataset.version)
    dataset.checkout_version("deleted")
    dataset.restore()  # type: ignore[no-untyped-call]  # pylance has no types here
    lance.dataset(path).tags.create("restored", lance.dataset(path).version)


SETUPS = [
    (kind, stable, file_version, by)
    for kind in KINDS
    for stable, file_version, by in ((False, "2.2", "i"), (True, "2.1", "s"), (True, "2.2", "f"), (False, "2.0", "f"))
]


@pytest.fixture(scope="module", params=SETUPS, ids=str)
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[str, lance_sql.Dataset, lance_sql.Dataset]]:
    """The steps; each with and without indices."""
    path = tmp_path_factory.mktemp("indexed") / "t"
    kind, stable, file_version, by = request.param
    indexed(path, kind, stable=stable, file_version=file_version, by=by)
    return [(step, lance_sql.open(path, tag=step), lance_sql.open(path, tag=step, use_indices=False)) for step in STEPS]


def check(table: list[tuple[str, lance_sql.Dataset, lance_sql.Dataset]], condition: str) -> None:
    for step, with_indices, without in table:
        expected = without.scan(["id"], condition).to_table()
        found = with_indices.scan(["id"], condition).to_table()
        assert found.equals(expected), f"{step}: {condition}"


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_a_scan_with_indices_finds_the_rows_of_one_without(
    table: list[tuple[str, lance_sql.Dataset, lance_sql.Dataset]], condition: str
) -> None:
    check(table, condition)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_a_scan_with_indices_finds_the_rows_of_one_without_in_many_more(
    table: list[tuple[str, lance_sql.Dataset, lance_sql.Dataset]], condition: str
) -> None:
    check(table, condition)


@pytest.mark.parametrize(
    "condition",
    ["id = 7", "id < 9", "id IN (3, 60, 119)", "i = 7 AND id > 200", "id = 3 OR id = 90", "NOT (id > 20)", "s = 'ab'"],
)
def test_indices_rule_rows_out(table: list[tuple[str, lance_sql.Dataset, lance_sql.Dataset]], condition: str) -> None:
    check(table, condition)
    with_indices, without = table[0][1:]
    if with_indices.indices.list()[0].kind == "bloomfilter" and (">" in condition or "<" in condition):
        pytest.skip("bloom filters know nothing of ranges")
    left = with_indices.scan(["id"], condition).plan.num_candidates
    assert left < without.scan(["id"], condition).plan.num_candidates
