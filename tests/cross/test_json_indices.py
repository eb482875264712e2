"""Indices of members of JSON, as pylance builds them: used by filters, and right after each verb."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.indices import IndexConfig

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature

NUM_ROWS = 300
PATHS = {"n": "n", "f": "$.f", "s": "s", "b": "$.b", "deep": "o.x", "item": "$.l[1]", "quoted": '$."k y"'}


def document(draw: random.Random) -> Any:
    """A document whose members at the paths have one type each, where they are there."""
    members: dict[str, Callable[[], Any]] = {
        "n": lambda: draw.choice([None, draw.randrange(-5, 20), 2**53 + 1]),
        "f": lambda: draw.choice([None, draw.randrange(5) / 2, 7.0, -0.5]),
        "s": lambda: draw.choice([None, "", "x", "y", "7", "é", 'q"\\\n', f"x{draw.randrange(30)}"]),
        "b": lambda: draw.choice([None, True, False]),
        "o": lambda: draw.choice([None, [{"x": 3}], {"x": draw.randrange(4)}, {"y": 1}, 5, "x"]),
        "l": lambda: draw.choice([None, [], [1], [1, draw.randrange(4)], {"1": "x"}, 4]),
        "k y": lambda: draw.choice([None, "x", "z"]),
    }
    made = {key: make() for key, make in members.items() if draw.random() < 0.8}
    return [made] if draw.random() < 0.05 else made


def rows(draw: random.Random, first: int, count: int) -> pa.Table:
    texts = [None if draw.random() < 0.1 else json.dumps(document(draw)) for _ in range(count)]
    values = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(texts, pa.string()))
    return pa.table({"id": range(first, first + count), "v": values})


def build(path: Path, seed: int) -> Dataset:
    draw = random.Random(seed)
    version: Any = draw.choice(["2.0", "2.1", "2.2"])
    other = lance.write_dataset(
        rows(draw, 0, NUM_ROWS), str(path), data_storage_version=version, max_rows_per_file=draw.choice([90, 1000])
    )
    for name, at in PATHS.items():
        config = IndexConfig(index_type="json", parameters={"target_index_type": "btree", "path": at})
        other.create_scalar_index("v", config, name=name)
    return lance_sql.open(path)


CONDITIONS = (
    ("n", "json_get_int(v, 'n') = 7"),
    ("n", "json_get_int(v, 'n') > 9007199254740992"),
    ("n", "(v->>'n')::BIGINT BETWEEN 3 AND 6"),
    ("n", "json_get_int(v, 'n') IN (1, 2, 50)"),
    ("n", "json_get_int(v, 'n') <> 7"),
    ("n", "json_get_int(v, 'n') IS NOT NULL"),
    ("f", "json_get_float(v, 'f') >= 1.5"),
    ("f", "CAST(v->'f' AS DOUBLE) < 0"),
    ("s", "json_get_string(v, 's') = 'x'"),
    ("s", "v->>'s' IN ('', 'é', '7')"),
    ("s", "v->>'s' LIKE 'x%'"),
    ("s", "v->>'s' >= 'x2'"),
    ("s", """json_extract(v, '$.s') = '"q\\"\\\\\\n"'"""),
    ("b", "json_get_bool(v, 'b')"),
    ("deep", "(v->>'$.o.x')::BIGINT = 3"),
    ("deep", "json_get_int(v->'o', 'x') < 2"),
    ("item", "(v->'l'->>1)::BIGINT > 1"),
    ("quoted", "v->>'k y' = 'z'"),
    ("n", "json_get_int(v, 'n') = 7 AND v->>'s' = 'x'"),
    ("f", "json_get_float(v, 'f') = 7 OR v->>'s' = 'x'"),
    # no index answers these
    (None, "json_get_int(v, 'n') IS NULL"),
    (None, "v->>'s' IS NULL OR v->>'s' = 'x'"),
    (None, "(v->>'$.o.x') IS NULL"),
    (None, "json_extract(v, '$.n') = '7'"),
    (None, "json_extract(v, '$.b') = 'true'"),
    (None, "json_get_float(v, 'n') = 7"),
    (None, "json_exists(v, '$.n')"),
    (None, "v->>'other' = 'x'"),
    (None, "json_get_int(v, 'n') + 1 = 8"),
)


def check_all(path: str) -> None:
    table, plain = lance_sql.open(path), lance_sql.open(path, use_indices=False)
    assert table.count_rows() == plain.count_rows()
    for _, condition in CONDITIONS:
        expected = plain.scan(["id"], condition).to_table()["id"].to_pylist()
        assert table.scan(["id"], condition).to_table()["id"].to_pylist() == expected, condition
    # pylance uses its indices too
    other = lance.dataset(path)
    for condition in ("json_get_int(v, 'n') = 7", "json_get_string(v, 's') = 'x'", "json_get_float(v, 'f') = 7.0"):
        found = sorted(other.to_table(columns=["id"], filter=condition)["id"].to_pylist())
        assert found == sorted(plain.scan(["id"], condition).to_table()["id"].to_pylist()), condition


@pytest.mark.parametrize("seed", range(2))
def test_filters_use_indices_of_members(tmp_path: Path, seed: int) -> None:
    table = build(tmp_path / "t.lance", seed)
    check_all(table.uri)
    for name, condition in CONDITIONS:
        used = [line for line in str(table.scan(["id"], condition).explain()).splitlines() if "(json): covers" in line]
        assert bool(used) == (name is not None), condition
        assert name is None or any(f"{name} (json)" in line for line in used), condition


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_tables_with_indices_of_members(tmp_path: Path, seed: int) -> None:
    check_all(build(tmp_path / "t.lance", seed).uri)


VERBS: dict[str, Callable[[Dataset], Any]] = {
    "update of another column": lambda table: table.update({"id": "id + 1000"}, "id % 3 = 0"),
    "update of documents": lambda table: table.update({"v": """'{"n": 7, "s": "x"}'"""}, "id % 5 = 0"),
    "merge": lambda table: table.merge({"id": [3, 900], "v": ['{"n": 7, "s": "x", "f": 7.0}'] * 2}, "id"),
    "append": lambda table: lance_sql.write({"id": [900], "v": ['{"n": 7, "s": "x"}']}, table, mode="append"),
    "delete": lambda table: table.delete("json_get_int(v, 'n') = 7 OR id % 7 = 0"),
    "compact": lambda table: table.delete("id % 4 = 1").maintenance.compact(),
    "compact and keep": lambda table: table.delete("id % 4 = 1").maintenance.compact(indices="keep"),
    "compact and drop": lambda table: table.delete("id % 4 = 1").maintenance.compact(indices="drop"),
    "optimize": lambda table: VERBS["append"](table).indices.optimize(),
    "overwrite": lambda table: lance_sql.write(rows(random.Random(9), 0, 200), table, mode="overwrite"),
    "restore": lambda table: VERBS["update of documents"](table).restore(table.version),
    "cleanup": lambda table: VERBS["update of documents"](table).maintenance.cleanup(older_than=timedelta(0)),
    "maintain": lambda table: VERBS["delete"](table).maintenance.maintain(),
    "apply": lambda table: lance_sql.apply_changes(table, {"id": [3], "v": ['{"n": 7, "s": "x"}']}, "id"),
    "add columns": lambda table: table.add_columns({"w": "id + 1"}),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_keep_indices_of_members_right(tmp_path: Path, verb: str) -> None:
    table = build(tmp_path / "t.lance", 7)
    VERBS[verb](table)
    check_all(table.uri)
    assert not lance_sql.verify(table.uri, deep=True).faults


@pytest.mark.parametrize("target", ["bitmap", "zonemap", "bloomfilter"])
def test_other_kinds_of_indices_of_members_are_named_and_kept_right(tmp_path: Path, target: str) -> None:
    path = str(tmp_path / "t.lance")
    other = lance.write_dataset(rows(random.Random(3), 0, NUM_ROWS), path)
    config = IndexConfig(index_type="json", parameters={"target_index_type": target, "path": "n"})
    other.create_scalar_index("v", config, name="n")
    table = lance_sql.open(path)
    assert "n: not used: indices of kind JsonIndexDetails" in str(table.scan([], "json_get_int(v, 'n') = 7").explain())
    for verb in ("update of documents", "merge", "delete", "append", "compact"):
        VERBS[verb](lance_sql.open(path))
        check_all(path)
    assert not lance_sql.verify(path, deep=True).faults


def test_indices_of_members_follow_their_column(tmp_path: Path) -> None:
    table = build(tmp_path / "t.lance", 3)
    expected = table.count_rows("json_get_int(v, 'n') = 7")
    renamed = table.rename_columns({"v": "w"})
    scan = renamed.scan(["id"], "json_get_int(w, 'n') = 7")
    assert (scan.count_rows(), "n (json): covers" in str(scan.explain())) == (expected, True)
    left = renamed.drop_columns(["w"])
    assert left.indices.list() == ()
    assert lance.dataset(table.uri).count_rows() == NUM_ROWS


def test_building_an_index_of_members_is_refused(tmp_path: Path) -> None:
    table = build(tmp_path / "t.lance", 3)
    with pytest.raises((UnsupportedFeature, InvalidArgument), match="json"):
        table.indices.create("v", "json")
    with pytest.raises(UnsupportedFeature, match="building the index 'n'"):
        table.indices.optimize(["n"])
