"""The public names of a dataset and of its parts; old names are gone, from documents and tests, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import lance_sql
from lance_sql import handles
from lance_sql.values.guessed_names import OF_DATASET, OF_EARLIER_RELEASES, OF_HANDLES

ROOT = Path(__file__).parents[2]

NAMES = {
    "": (
        *("uri", "version", "branch", "schema", "last_change", "latest", "at", "versions", "history", "restore"),
        *("scan", "take", "count_rows", "head", "to_table", "to_batches", "to_pandas", "to_polars"),
        *("search", "search_changes", "changes", "row_history"),
        *("append", "delete", "update", "merge"),
        *("add_columns", "drop_columns", "rename_columns", "alter_column"),
        *("tags", "branches", "indices", "rules", "cursors", "config", "maintenance"),
    ),
    "tags": ("list", "create", "move", "delete"),
    "branches": ("list", "create", "delete", "staged", "plan", "publish", "shallow_clone"),
    "indices": ("list", "create", "drop", "optimize"),
    "rules": ("list", "set", "drop", "check"),
    "cursors": ("list", "open"),
    "config": ("list", "update", "update_field_metadata", "update_schema_metadata", "update_table_metadata"),
    "maintenance": (
        *("compact", "plan_compaction", "cleanup", "maintain", "analyze", "statistics", "layout"),
        *("enable_stable_row_ids", "num_rows_in_log"),
    ),
}
MOST = 30
"""Names of a dataset, without its parts."""

# Names that only a dataset had, by any receiver but the modules that implement them; and names that other classes have,
# by the usual receivers.
ALONE = re.compile(
    r"(?<!\bmaintenance)(?<!\bcontracts)(?<!\brefs)\.(move_tag|delete_tag|plan_publish|plan_compaction"
    r"|set_rule|drop_rule|enable_stable_row_ids)\("
)
SHARED = re.compile(
    r"\b(?:table|orders|opened|branch)\.(create_tag|create_branch|delete_branch|create_index|drop_index"
    r"|optimize_indices|update_config|publish|staged|check|compact|cleanup|maintain|analyze|statistics|layout|cursor"
    r"|indices|tags|branches|rules|cursors)\("
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    return lance_sql.write({"id": [1, 2]}, tmp_path_factory.mktemp("names") / "t.lance")


def part(table: lance_sql.Dataset, name: str) -> object:
    return attrgetter(name)(table) if name else table


@pytest.mark.parametrize("name", NAMES)
def test_public_names(table: lance_sql.Dataset, name: str) -> None:
    assert {each for each in dir(part(table, name)) if not each.startswith("_")} == set(NAMES[name])


def test_a_dataset_has_few_names(table: lance_sql.Dataset) -> None:
    assert set(NAMES) - {""} == set(handles.__all__)
    assert len(set(NAMES[""]) - set(handles.__all__)) <= MOST


@pytest.mark.parametrize("name", OF_EARLIER_RELEASES)
def test_an_old_name_is_answered_with_the_new_one(table: lance_sql.Dataset, name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(table, name)
    new = str(raised.value).partition(": use ")[2]
    assert new == OF_DATASET[name]
    owner, _, method = new.partition("(")[0].rpartition(".")
    assert method in NAMES[owner]


@pytest.mark.parametrize("name", handles.__all__)
def test_a_part_is_no_method(table: lance_sql.Dataset, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is no method: call {name}\.\w+"):
        getattr(table, name)()


def test_guesses_of_parts_name_methods() -> None:
    known = {method for names in NAMES.values() for method in names}
    for guess, answer in OF_HANDLES.items():
        assert set(re.findall(r"([a-z_]+)\(", answer)) <= {*known, "verify"}, guess


def texts() -> Iterator[tuple[str, str]]:
    """Yields documents, modules, examples and tests, by path."""
    paths = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for folder in ("lance_sql", "providers", "tests", "benchmarks", "examples", "fuzz", "scripts"):
        paths += (ROOT / folder).rglob("*.py")
    for path in sorted(paths):
        if path != Path(__file__):
            yield str(path.relative_to(ROOT)), path.read_text()


def is_gone(found: re.Match[str], path: str) -> bool:
    """Whether a match is not a method of PySpark's `LanceTable`, which has some of the names."""
    return found[1] not in ("compact", "cleanup") or not any(word in path for word in ("spark", "sail", "cluster_job"))


@pytest.mark.parametrize("gone", [ALONE, SHARED], ids=["alone", "shared"])
def test_no_document_and_no_test_uses_an_old_name(gone: re.Pattern[str]) -> None:
    found = [(path, match) for path, text in texts() for match in gone.finditer(text)]
    assert [f"{path}: {match[0]}" for path, match in found if is_gone(match, path)] == []
