"""Several who change a catalog at once: no name is there twice, and none is lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lance_sql
from lance_sql.catalogs.directory import CONTENTS, DirectoryCatalog
from lance_sql.errors import LanceError, TableExists, TableNotFound

WRITERS = 6


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Returns the result of each, or its error."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        ready.wait()
        try:
            return call()
        except LanceError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def contents(folder: Path) -> list[str]:
    rows: list[str] = lance_sql.open(folder / CONTENTS).to_table(["object_id"])["object_id"].to_pylist()
    return sorted(rows)


@pytest.mark.parametrize("has_contents", [True, False])
def test_different_names_are_all_there(has_contents: bool, tmp_path: Path) -> None:
    if has_contents:
        DirectoryCatalog(str(tmp_path)).create_namespace("first")
    given = at_once(
        *(lambda name=f"n{number}": DirectoryCatalog(str(tmp_path)).create_namespace(name) for number in range(WRITERS))
    )
    assert given == [None] * WRITERS
    wanted = [f"n{number}" for number in range(WRITERS)]
    assert contents(tmp_path) == [*["first"] * has_contents, *wanted]


@pytest.mark.parametrize("has_contents", [True, False])
def test_one_of_those_who_create_the_same_wins(has_contents: bool, tmp_path: Path) -> None:
    if has_contents:
        DirectoryCatalog(str(tmp_path)).create_namespace("first")
    given = at_once(*[lambda: DirectoryCatalog(str(tmp_path)).create_namespace("n")] * WRITERS)
    assert Counter(type(each) for each in given) == {type(None): 1, TableExists: WRITERS - 1}
    assert contents(tmp_path) == [*["first"] * has_contents, "n"]


def test_one_of_the_tables_that_are_created_under_a_name_wins(tmp_path: Path) -> None:
    DirectoryCatalog(str(tmp_path)).create_namespace("s")
    given = at_once(
        *(
            lambda number=number: DirectoryCatalog(str(tmp_path)).create_table("s.t", {"writer": [number]})
            for number in range(WRITERS)
        )
    )
    won = [number for number, each in enumerate(given) if isinstance(each, lance_sql.Dataset)]
    assert len(won) == 1
    assert all(isinstance(each, TableExists) for number, each in enumerate(given) if number not in won)
    found = DirectoryCatalog(str(tmp_path)).open("s.t").to_table()
    assert found.to_pydict() == {"writer": won}


def test_two_tables_do_not_get_one_name(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(str(tmp_path))
    catalog.create_namespace("s")
    for number in range(WRITERS):
        catalog.create_table(f"s.t{number}", {"of": [number]})
    given = at_once(
        *(
            lambda number=number: DirectoryCatalog(str(tmp_path)).rename_table(f"s.t{number}", "s.won")
            for number in range(WRITERS)
        )
    )
    assert Counter(type(each) for each in given) == {type(None): 1, TableExists: WRITERS - 1}
    (winner,) = (number for number, each in enumerate(given) if each is None)
    assert catalog.tables("s") == sorted(["won", *(f"t{number}" for number in range(WRITERS) if number != winner)])
    assert catalog.open("s.won").to_table()["of"].to_pylist() == [winner]


def test_a_table_is_renamed_once(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(str(tmp_path))
    catalog.create_namespace("s")
    catalog.create_table("s.t", {"a": [1]})
    given = at_once(
        *(
            lambda number=number: DirectoryCatalog(str(tmp_path)).rename_table("s.t", f"s.u{number}")
            for number in range(WRITERS)
        )
    )
    assert Counter(type(each) for each in given) == {type(None): 1, TableNotFound: WRITERS - 1}
    assert len(catalog.tables("s")) == 1


def test_a_name_is_dropped_once_and_may_be_created_again(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(str(tmp_path))
    catalog.create_namespace("s")
    for _ in range(3):
        catalog.create_table("s.t", {"a": [1]})
        given = at_once(*[lambda: DirectoryCatalog(str(tmp_path)).drop_table("s.t")] * WRITERS)
        assert sum(each is None for each in given) >= 1
        assert all(each is None or isinstance(each, TableNotFound) for each in given)
        assert catalog.tables("s") == []
