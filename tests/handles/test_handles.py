"""Parts of a dataset: lookups by name, readable reprs, copies, and the changes that they return."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql import handles
from lance_sql.errors import InvalidArgument, LanceError, VersionNotFound


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    table = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance", config={"team": "growth"})
    table = table.indices.create("id", "btree").rules.set("ids", "unique(id)")
    table.tags.create("audited")
    table.branches.create("load")
    table.cursors.open("job")
    return table


NAMES = {
    "tags": "audited",
    "branches": "load",
    "indices": "id_idx",
    "rules": "ids",
    "cursors": "job",
    "config": "team",
}


@pytest.mark.parametrize(("part", "name"), NAMES.items())
def test_names_are_looked_up(table: lance_sql.Dataset, part: str, name: str) -> None:
    named: Any = getattr(table, part)
    assert name in named
    assert "nothing" not in named
    assert name in list(named)
    assert len(named) == len(list(named))
    assert repr(named) == f"{part.capitalize()}({', '.join(named)})"
    listed = named.list()
    assert named[name] == (listed[name] if isinstance(listed, dict) else next(e for e in listed if e.name == name))
    with pytest.raises(LanceError, match=r"^No \w+ 'nothing' in t\.lance\. (\w+: |It has no |Did you mean)"):
        named["nothing"]


def test_unknown_names_are_errors_of_their_kind(table: lance_sql.Dataset) -> None:
    with pytest.raises(VersionNotFound, match=r"^No tag 'audit' in t\.lance\. Did you mean 'audited'\?$"):
        table.tags["audit"]
    with pytest.raises(InvalidArgument, match=r"^No index 'x' in t\.lance\. Indices: id_idx$"):
        table.indices["x"]
    with pytest.raises(InvalidArgument, match=r"^No key 'x' in t\.lance\. Keys: "):
        table.config["x"]
    wrong: Any = table.tags
    with pytest.raises(VersionNotFound, match="must be text, not 5"):
        wrong[5]


@pytest.mark.parametrize("part", handles.__all__)
def test_parts_go_through_pickle_and_cannot_be_changed(table: lance_sql.Dataset, part: str) -> None:
    made: Any = getattr(table, part)
    assert repr(pickle.loads(pickle.dumps(made))) == repr(made)
    with pytest.raises(AttributeError):
        made.anything = 1


def test_tags_are_those_of_now_and_indices_those_of_the_version(table: lance_sql.Dataset) -> None:
    table.latest().tags.create("later")
    assert set(table.tags) == {"audited", "later"}
    dropped = table.indices.drop("id_idx")
    assert "id_idx" in table.indices
    assert list(dropped.indices) == []


def test_changes_return_the_dataset_after_them(table: lance_sql.Dataset) -> None:
    made = table.config.update({"team": None}).rules.drop("ids").maintenance.compact()
    assert isinstance(made, lance_sql.Dataset)
    assert (list(made.config), list(made.rules)) == ([], [])
    change = made.last_change
    assert change is not None
    assert (change.operation, made.latest().version) == ("compact", made.version)


def test_a_version_of_the_branch_is_opened(table: lance_sql.Dataset) -> None:
    made = table.append({"id": [3]})
    assert (made.count_rows(), made.at(1).count_rows(), made.at("audited").version) == (3, 2, table.version)
    assert made.at(-1).version == made.version - 1
    load = lance_sql.open(table.uri, branch="load").append({"id": [9]})
    assert (load.at(load.version).branch, load.count_rows(), table.latest().count_rows()) == ("load", 3, 3)
    with pytest.raises(VersionNotFound):
        table.at(99)


def test_rows_are_appended_with_the_options_of_a_write(table: lance_sql.Dataset) -> None:
    made = table.append({"id": [3], "more": ["x"]}, merge_schema=True, job="nightly", txn_app_id="a", txn_version=1)
    assert made.schema.names == ["id", "more"]
    assert made.history(1)[0].job == "nightly"
    assert made.append({"id": [3], "more": ["x"]}, txn_app_id="a", txn_version=1).count_rows() == 3
    wrong: Any = table
    with pytest.raises(TypeError, match=r"append\(\) got an unexpected keyword argument 'mode'"):
        wrong.append({"id": [4]}, mode="overwrite")


def test_the_schema_comes_before_the_path(table: lance_sql.Dataset) -> None:
    wrong: Any = lance_sql.begin_write
    with pytest.raises(InvalidArgument, match="The schema comes first, then the path"):
        wrong(table.uri, table.schema)
