"""JSON is compared as JSON: documents that differ by blanks, the order of keys or the form of numbers are equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql import Dataset, testing
from lance_sql.errors import InvalidArgument
from lance_sql.testing import settings
from tests.json_documents import FIELD

JSON = FIELD.with_name("item")
SHAPES: dict[str, tuple[pa.Field, Any]] = {
    "column": (JSON.with_name("j"), lambda text: text),
    "struct": (pa.field("j", pa.struct([JSON, pa.field("n", pa.int64())])), lambda text: {"item": text, "n": 1}),
    "list": (pa.field("j", pa.list_(JSON)), lambda text: [text, None, text]),
    "lists of structs": (pa.field("j", pa.list_(pa.struct([JSON]))), lambda text: [{"item": text}]),
}
GIVEN = ['{"k": 1, "a": [2e2, null]}', "[1, 2]", None, '"x"', "{}"]
OTHERS = ['{"a":[200.0,null],"k":1}', "[1,2]", None, ' "x"', "{ }"]


def rows(shape: str, texts: list[str | None]) -> pa.Table:
    field, value = SHAPES[shape]
    values = [None if text is None else value(text) for text in texts]
    schema = pa.schema([("id", pa.int64()), field])
    return pa.table({"id": range(len(texts)), "j": values}, schema=schema)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_are_equal_as_json_stay(tmp_path: Path, shape: str) -> None:
    table = lance_sql.write(rows(shape, GIVEN), str(tmp_path / "t.lance"), file_version="2.2")
    for texts in (GIVEN, OTHERS):
        merged = table.merge(rows(shape, texts), on="id")
        assert merged.last_change is not None
        assert (merged.last_change.rows_equal, merged.last_change.rows_updated) == (len(GIVEN), 0)
        assert merged.version == table.version
        testing.assert_table_equal(table, rows(shape, texts), key="id")
        testing.assert_table_equal(rows(shape, texts), table)
    changed = table.merge(rows(shape, [*OTHERS[:-1], '{"k": 2}']), on="id")
    assert changed.last_change is not None
    assert (changed.last_change.rows_equal, changed.last_change.rows_updated) == (len(GIVEN) - 1, 1)
    with pytest.raises(AssertionError, match="1 of 5 rows"):
        testing.assert_table_equal(changed, rows(shape, GIVEN), key="id")


def test_text_that_is_no_json_is_refused_with_its_row(tmp_path: Path) -> None:
    table = lance_sql.write(rows("column", GIVEN), str(tmp_path / "t.lance"))
    with pytest.raises(InvalidArgument, match="not JSON in row"):
        table.merge(rows("column", [*GIVEN[:-1], "{"]), on="id")


COLUMN = JSON.with_name("j")
DOORS: dict[str, Callable[[Dataset, Dataset, pa.Table], object]] = {
    "merge": lambda table, other, given: table.merge(given, on="j"),
    "diff": lambda table, other, given: lance_sql.diff(table, other, key="j"),
    "versions": lambda table, other, given: lance_sql.diff(
        "t.lance@1", lance_sql.write(given, table, mode="append"), key="j"
    ),
    "changes": lambda table, other, given: table.changes(since=0, key="j"),
    "cursor": lambda table, other, given: table.cursors.open("c", key="j").read(),
    "apply": lambda table, other, given: lance_sql.apply_changes(table, given, "j"),
    "apply without types": lambda table, other, given: lance_sql.apply_changes(table, given.to_pylist(), "j"),
    "apply history": lambda table, other, given: lance_sql.apply_changes("new.lance", given, "j", scd=2),
    "publish": lambda table, other, given: publish(table),
    "assertion": lambda table, other, given: testing.assert_table_equal(table, given, key="j"),
    "assertion of rows": lambda table, other, given: testing.assert_table_equal(given, given, key="j"),
    "invariants": lambda table, other, given: testing.assert_invariants(table, unique="j"),
    "changes in tests": lambda table, other, given: testing.assert_changes(table, since=0, inserted=["[]"], key="j"),
    "unique": lambda table, other, given: table.rules.set("r", "unique(j)"),
    "foreign key": lambda table, other, given: table.rules.set("r", f"foreign_key(j, '{other.uri}', j)"),
    "primary key": lambda table, other, given: lance_sql.sql(
        f"ALTER TABLE '{table.uri}' SET UNENFORCED PRIMARY KEY (j)"
    ),
    "primary key of a new table": lambda table, other, given: lance_sql.write(
        given.cast(pa.schema([given.schema.field(0), with_key(COLUMN)])), "key.lance"
    ),
}


def publish(table: Dataset) -> object:
    table.branches.create("work")
    lance_sql.write(rows("column", GIVEN), lance_sql.open(table.uri, branch="work"), mode="append")
    return table.branches.publish("work", key="j")


def with_key(field: pa.Field) -> pa.Field:
    metadata = {**field.metadata, b"lance-schema:unenforced-primary-key": b"true"}
    return field.with_metadata(metadata).with_nullable(False)


@pytest.mark.parametrize("door", DOORS)
def test_json_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    monkeypatch.chdir(tmp_path)
    given = rows("column", GIVEN).filter(pc.field("j").is_valid())
    table = lance_sql.write(given, "t.lance")
    other = lance_sql.write(given, "other.lance")
    with pytest.raises(InvalidArgument, match=r"Column 'j' (of JSON cannot be a key|is JSON: it cannot be in the)"):
        DOORS[door](table, other, given)
    assert not (tmp_path / "new.lance").exists()
    assert not (tmp_path / "key.lance").exists()
    # nor does it name rows
    assert lance_sql.write(given.select(["j"]), "only.lance").changes(since=0).naming_columns == ()


def test_other_json_is_no_change(tmp_path: Path) -> None:
    table = lance_sql.write(rows("column", GIVEN), str(tmp_path / "t.lance"))
    other = lance_sql.write(rows("column", OTHERS), str(tmp_path / "other.lance"))
    text = pa.table({"id": range(len(OTHERS)), "j": OTHERS})
    texts = lance_sql.write(text, str(tmp_path / "texts.lance"))
    for each in (other, texts):
        assert str(lance_sql.diff(table, each, key="id")).splitlines()[-1] == "No differences."
        assert str(lance_sql.diff(each, table, key="id")).splitlines()[-1] == "No differences."
    testing.assert_table_equal(rows("column", GIVEN), rows("column", OTHERS), key="id")
    testing.assert_table_equal(rows("column", GIVEN), text)
    rule = table.rules.set("known", """accepted_values(j, '{ "k": 1,"a": [2e2,null] }', '[1,2]', '"x"', '{}')""")
    assert rule.rules.check().is_kept
    # a feed has one form of each document, so that rows written again are equal
    changed = table.update({"j": "j"}, "id >= 0").merge(text, on="id")
    assert changed.changes(since=1, drop_unchanged=True).count_rows() == 0


@pytest.mark.parametrize("scd", [1, 2])
def test_changes_with_other_json_change_nothing(tmp_path: Path, scd: Any) -> None:
    path = str(tmp_path / "t.lance")
    begun = pa.array([1] * len(GIVEN))
    table = lance_sql.apply_changes(
        path, rows("column", GIVEN).append_column("at", begun), "id", sequence_by="at", scd=scd
    )
    later = rows("column", OTHERS)
    for number, given in enumerate(
        (later, later.replace_schema_metadata(None).cast(pa.schema([("id", pa.int64()), ("j", pa.string())])))
    ):
        at = pa.array([number + 2] * len(OTHERS))
        again = lance_sql.apply_changes(
            path, given.append_column("at", at), "id", sequence_by="at", scd=scd, except_columns=["at"]
        )
        assert again.count_rows() == len(GIVEN)
        assert again.scan(["id", "j"]).to_table().equals(table.scan(["id", "j"]).to_table())


def test_snapshots_of_tests_have_one_form(tmp_path: Path) -> None:
    table = lance_sql.write(rows("column", GIVEN), str(tmp_path / "t.lance"))
    file = tmp_path / "rows.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "updates_snapshots", True)
        testing.assert_matches_snapshot(table, file)
    testing.assert_matches_snapshot(rows("column", GIVEN), file)
    testing.assert_matches_snapshot(rows("column", OTHERS), file)
