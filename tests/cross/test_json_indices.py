"""Indices of members of JSON, built by pylance and here: used by filters of both, and right after each verb."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from lance.indices import IndexConfig
from pyroaring import BitMap

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import ColumnNotFound, InvalidArgument, LanceError, UnsupportedFeature
from tests.json_documents import FIELD, MISSING, rows_of

NUM_ROWS = 300
PATHS = {"n": "n", "f": "$.f", "s": "s", "b": "$.b", "deep": "o.x", "quoted": '$."k y"', "item": "$.l[1]"}
COLUMNS = {"n": "v.n", "f": "v.f", "s": "v.s", "b": "v.b", "deep": "v.o.x", "quoted": "v.k y"}
"""Names of the members; items of lists have none."""

BUILDERS = ("their btree", "our btree", "our bitmap", "our btree of ids", "our bitmap of ids", "their bitmap of ids")
"""The writer and the kind of the indices, and whether the table has stable row ids."""


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
    return rows_of([MISSING if draw.random() < 0.1 else document(draw) for _ in range(count)], first)


def build(path: Path, seed: int, builder: str = "their btree") -> Dataset:
    draw = random.Random(seed)
    version: Any = draw.choice(["2.0", "2.1", "2.2"])
    table = lance_sql.write(
        rows(draw, 0, NUM_ROWS),
        path,
        file_version=version,
        max_rows_per_file=draw.choice([90, 1000]),
        stable_row_ids=builder.endswith("ids"),
    )
    kind = builder.split()[1]
    if builder.startswith("our"):
        for name, column in COLUMNS.items():
            table = table.indices.create(column, kind, name=name)
        return table
    for name, at in PATHS.items():
        config = IndexConfig(index_type="json", parameters={"target_index_type": kind, "path": at})
        lance.dataset(table.uri).create_scalar_index("v", config, name=name)
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
    ("n", "json_extract(v, '$.n') = '7'"),
    ("n", "v->>'n' IN ('7', '8', '9007199254740993')"),
    ("f", "v->>'f' = '7.0' OR v->>'f' = '0.5'"),
    ("f", "json_get_string(v, 'f') = '7'"),
    ("b", "json_extract(v, '$.b') = 'true'"),
    ("b", "v->>'b' = 'false'"),
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
    (None, "json_extract(v, '$.s') = '7'"),
    (None, "v->>'n' = 'x'"),
    (None, "v->>'n' > '7'"),
    (None, "v->>'n' = 'NaN'"),
    (None, f"v->>'f' = '{'1' * 400}'"),
    (None, "v->>'n' = '9223372036854775808'"),
    (None, "v->>'b' IN ('true', '1')"),
    (None, "json_get_float(v, 'n') = 7"),
    (None, "json_exists(v, '$.n')"),
    (None, "v->>'other' = 'x'"),
    (None, "json_get_int(v, 'n') + 1 = 8"),
)


def check_all(path: str, *, with_pylance: bool = True) -> None:
    table, plain = lance_sql.open(path), lance_sql.open(path, use_indices=False)
    assert table.count_rows() == plain.count_rows()
    for _, condition in CONDITIONS:
        expected = plain.scan(["id"], condition).to_table()["id"].to_pylist()
        assert table.scan(["id"], condition).to_table()["id"].to_pylist() == expected, condition
    if not with_pylance:
        return
    other = lance.dataset(path)
    for condition in ("json_get_int(v, 'n') = 7", "json_get_string(v, 's') = 'x'", "json_get_float(v, 'f') = 7.0"):
        found = sorted(other.to_table(columns=["id"], filter=condition)["id"].to_pylist())
        assert found == sorted(plain.scan(["id"], condition).to_table()["id"].to_pylist()), condition


@pytest.mark.parametrize("builder", BUILDERS)
def test_filters_use_indices_of_members(tmp_path: Path, builder: str) -> None:
    table = build(tmp_path / "t.lance", 1, builder)
    check_all(table.uri)
    indices = {each.name: each for each in table.indices.list()}
    kind = builder.split()[1]
    assert {each.kind for each in indices.values()} == {kind}
    assert {name: indices[name].columns for name in ("n", "deep", "quoted")} == {
        "n": ("v.n",),
        "deep": ("v.o.x",),
        "quoted": ('v."k y"',),
    }
    for name, condition in CONDITIONS:
        used = [line for line in str(table.scan(["id"], condition).explain()).splitlines() if ": covers" in line]
        assert bool(used) == (name in indices), condition
        assert not used or any(f"{name} ({kind})" in line for line in used), condition
    for condition in ("json_get_int(v, 'n') = 7", "json_get_string(v, 's') = 'x'"):
        plan = lance.dataset(table.uri).scanner(columns=["id"], filter=condition).explain_plan(True)
        assert "ScalarIndexQuery" in plan, condition


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_tables_with_indices_of_members(tmp_path: Path, builder: str, seed: int) -> None:
    table = build(tmp_path / "t.lance", seed, builder)
    check_all(table.uri)
    draw = random.Random(seed)
    for verb in draw.sample(sorted(VERBS), 4):
        VERBS[verb](lance_sql.open(table.uri))
        check_all(table.uri)


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
def test_files_have_the_entries_of_those_of_pylance(tmp_path: Path, kind: str) -> None:
    table = lance_sql.write(
        rows(random.Random(4), 0, NUM_ROWS), tmp_path / "t.lance", stable_row_ids=False, max_rows_per_file=90
    )
    for number, name in enumerate(("v.n", "v.s", "v.f", "v.b")):
        table.indices.create(name, kind, name=f"ours{number}")
        config = IndexConfig(index_type="json", parameters={"target_index_type": kind, "path": name[2:]})
        lance.dataset(table.uri).create_scalar_index("v", config, name=f"theirs{number}")
    segments = {each.name: each for each in lance_sql.open(table.uri).snapshot.indices()}
    for number in range(4):
        ours, theirs = segments[f"ours{number}"], segments[f"theirs{number}"]
        assert ours.details == theirs.details
        assert ours.index_version == theirs.index_version
        folders = [Path(table.uri) / "_indices" / str(each.uuid) for each in (ours, theirs)]
        assert entries(folders[0]) == entries(folders[1])


def entries(folder: Path) -> list[str]:
    """The values in the files of an index, each with its rows."""
    (file,) = (each for each in folder.iterdir() if each.name in ("page_data.lance", "bitmap_page_lookup.lance"))
    found = LanceFileReader(str(file)).read_all().to_table().to_pylist()
    return sorted(
        repr({key: row_set(value) if key == "bitmaps" else value for key, value in row.items()}) for row in found
    )


def row_set(data: bytes) -> dict[int, list[int]]:
    """The rows of each fragment in a set: a count, and by fragment its id, the size of a bitmap, and the bitmap."""
    (count,) = struct.unpack_from("<I", data)
    rows, at = {}, 4
    for _ in range(count):
        fragment, size = struct.unpack_from("<II", data, at)
        rows[fragment] = list(BitMap.deserialize(data[at + 8 : at + 8 + size]))
        at += 8 + size
    return rows


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
    builder = BUILDERS[list(VERBS).index(verb) % len(BUILDERS)]
    table = build(tmp_path / "t.lance", 7, builder)
    VERBS[verb](table)
    check_all(table.uri)
    assert not lance_sql.verify(table.uri, deep=True).faults


@pytest.mark.parametrize(
    ("target", "stable"), [("zonemap", False), ("zonemap", True), ("bloomfilter", True), ("ngram", True)]
)
def test_other_kinds_of_indices_of_members_are_kept_right(tmp_path: Path, target: str, *, stable: bool) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write(rows(random.Random(3), 0, NUM_ROWS), path, stable_row_ids=stable)
    other, member = lance.dataset(path), "s" if target == "ngram" else "n"
    config = IndexConfig(index_type="json", parameters={"target_index_type": target, "path": member})
    other.create_scalar_index("v", config, name="i")
    table = lance_sql.open(path)
    condition = "v->>'s' LIKE '%x12%'" if target == "ngram" else "json_get_int(v, 'n') = 7"
    shown = "i: not used: indices of kind bloomfilter" if target == "bloomfilter" else f"i ({target}): covers"
    assert shown in str(table.scan([], condition).explain())
    with pytest.raises(UnsupportedFeature, match="building the index 'i'"):
        table.indices.optimize(["i"])
    for verb in ("update of documents", "merge", "delete", "append", "compact", "optimize"):
        VERBS[verb](lance_sql.open(path))
        if verb in ("merge", "append", "optimize"):
            # pylance loses rows of zones on tables with stable row ids
            check_all(path, with_pylance=not stable or target == "ngram")
    assert not lance_sql.verify(path, deep=True).faults


def test_indices_of_members_follow_their_column(tmp_path: Path) -> None:
    table = build(tmp_path / "t.lance", 3)
    expected = table.count_rows("json_get_int(v, 'n') = 7")
    renamed = table.rename_columns({"v": "w"})
    scan = renamed.scan(["id"], "json_get_int(w, 'n') = 7")
    assert (scan.count_rows(), "n (btree): covers" in str(scan.explain())) == (expected, True)
    left = renamed.drop_columns(["w"])
    assert left.indices.list() == ()
    assert lance.dataset(table.uri).count_rows() == NUM_ROWS


@pytest.mark.parametrize(
    ("kind", "first", "then", "found"),
    [
        ("btree", "null", "7", 1),
        ("bitmap", "null", "7", 1),
        ("btree", "7", "7.5", 1),
        ("bitmap", "7", "18446744073709551615", 1),
        ("btree", "7.5", "7", 1),
        ("bitmap", "7.5", "null", 0),
        ("btree", '"x"', '"7"', 1),
    ],
)
def test_types_of_members(tmp_path: Path, kind: str, first: str, then: str, found: int) -> None:
    path = str(tmp_path / "t.lance")
    table = lance_sql.write(rows_of([{"a": json.loads(first)}, {}, MISSING]), path).indices.create("v.a", kind)
    lance_sql.write(rows_of([{"a": json.loads(then)}] * 3, 10), path, mode="append")
    table = lance_sql.open(path).indices.optimize(["v.a_idx"])
    (index,) = table.indices.list()
    assert index.num_uncovered == 0
    function = "json_get_string" if '"' in first else "json_get_float" if first + then != "null7" else "json_get_int"
    condition = f"{function}(v, 'a') = " + (f"'{json.loads(then)}'" if '"' in then else "0" if then == "null" else then)
    scan = table.scan(["id"], condition)
    assert (scan.count_rows(), "v.a_idx" in scan.explain()) == (3 * found, True)
    assert sorted(lance.dataset(path).to_table(filter=condition)["id"].to_pylist()) == [10, 11, 12][: 3 * found]
    assert table.count_rows(f"{function}(v, 'a') IS NOT NULL") == (first != "null") + 3 * found


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("[1]", "lists or objects"),
        ('{"x": 1}', "lists or objects"),
        ('"x"', "integers and text"),
        ("true", "booleans and integers"),
    ],
)
def test_members_of_several_types_are_not_indexed(
    tmp_path: Path, member: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "t.lance")
    table = lance_sql.write(rows_of([{"a": 1, "b": 1}] * 3), path).indices.create("v.a", "btree")
    table = table.indices.create("v.b", "btree")
    table = lance_sql.write(rows_of([{"a": json.loads(member), "b": 2}], 5), table, mode="append")
    with pytest.raises(InvalidArgument, match=message):
        table.indices.create("v.a", "bitmap", name="other")
    with pytest.raises(InvalidArgument, match=message):
        table.indices.optimize(["v.a_idx"])
    # other indices and steps do not wait for it
    table = table.indices.optimize()
    assert {each.name: each.num_uncovered for each in table.indices.list()} == {"v.a_idx": 1, "v.b_idx": 0}
    assert "the index 'v.a_idx' is not extended: The member 'v.a' has" in caplog.text
    table = table.maintenance.compact()
    assert table.maintenance.maintain().steps
    assert table.count_rows("json_get_int(v, 'b') = 2") == 1


@pytest.mark.parametrize(
    ("column", "kind", "error", "message"),
    [
        ("v", "json", InvalidArgument, "Unknown kind of index"),
        ("v", "btree", UnsupportedFeature, "index a member, such as 'v.id'"),
        ("v.a", "zonemap", UnsupportedFeature, "use btree, bitmap"),
        ("v.a", "bloomfilter", UnsupportedFeature, "use btree, bitmap"),
        ("v.a", "inverted", UnsupportedFeature, "use btree, bitmap"),
        ("v.a", "ivf_flat", UnsupportedFeature, "use btree, bitmap"),
        ("v..a", "btree", InvalidArgument, "empty name"),
        ("w.a", "btree", ColumnNotFound, "'w.a'"),
        ("p.v.a", "btree", LanceError, "p.v"),
    ],
)
def test_other_indices_of_members_are_refused(column: str, kind: str, error: type[Exception], message: str) -> None:
    inside = pa.struct([FIELD])
    table = pa.table({"p": pa.array([{"v": '{"a": 1}'}], inside), "v": ['{"a": 1}']}, pa.schema([("p", inside), FIELD]))
    made = lance_sql.write(table, "memory://t.lance", mode="overwrite")
    with pytest.raises(error, match=message):
        made.indices.create(column, kind)


def test_statements_build_indices_of_members(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write(rows_of([{"a": number, "b": {"c": "x"}} for number in range(50)]), path)
    lance_sql.sql(f"CREATE INDEX ON '{path}' USING btree (v.a)")
    lance_sql.sql(f"CREATE INDEX deep ON '{path}' USING bitmap (v.b.c)")
    lance_sql.write(rows_of([{"a": 7}], 100), path, mode="append")
    lance_sql.sql(f"REINDEX TABLE '{path}'")
    table = lance_sql.open(path)
    assert [(each.name, each.columns, each.num_uncovered) for each in table.indices.list()] == [
        ("v.a_idx", ("v.a",), 0),
        ("deep", ("v.b.c",), 0),
    ]
    query = f"SELECT id FROM '{path}' WHERE v->>'$.b.c' = 'x' AND (v->>'a')::INT = 7"
    assert lance_sql.sql(query).to_table()["id"].to_pylist() == [7]
