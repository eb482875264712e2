"""Names and keywords of other libraries: the error contains the name here, and every proposed name exists."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.values.guessed_names import OF_CATALOG, OF_DATASET, OF_MODULE, OF_ROWS, OF_VIEW
from lance_sql.values.keywords import suggests_keywords


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    return lance_sql.write({"id": [1, 2]}, tmp_path_factory.mktemp("guessed") / "t.lance")


@pytest.mark.parametrize(
    ("owner", "guesses"),
    [
        (lance_sql.Dataset, OF_DATASET),
        (lance_sql.Scan, OF_ROWS),
        (lance_sql.Catalog, OF_CATALOG),
        (lance_sql.View, OF_VIEW),
        (lance_sql, OF_MODULE),
    ],
    ids=["Dataset", "Scan", "Catalog", "View", "module"],
)
def test_no_guess_is_a_name_here_and_every_answer_is(owner: Any, guesses: Mapping[str, str]) -> None:
    known = set(dir(owner))
    methods = known | set(dir(lance_sql.Dataset))
    for guess, answer in guesses.items():
        if owner is lance_sql and guess == "dataset":
            # a module of the package
            continue
        assert guess not in known, guess
        for function in re.findall(r"lance_sql\.(\w+)", answer):
            assert function in lance_sql.__all__, answer
        for method in re.findall(r"(?:^|and |, | )([a-z_]+)\(", answer):
            assert method in methods, (guess, answer)


def test_a_guessed_name_is_answered(table: lance_sql.Dataset) -> None:
    view = lance_sql.View(table)
    catalog = lance_sql.catalog(Path(table.uri).parent)
    for thing, guesses in (
        (table, OF_DATASET),
        (table.scan(), OF_ROWS),
        (table.changes(), OF_ROWS),
        (catalog, OF_CATALOG),
        (view, OF_VIEW),
    ):
        for guess, answer in guesses.items():
            if guess in dir(thing):
                continue
            with pytest.raises(AttributeError) as raised:
                getattr(thing, guess)
            assert str(raised.value).endswith(f"has no attribute {guess!r}: use {answer}")
    with pytest.raises(AttributeError, match=r"'Dataset' object has no attribute 'hed'\. Did you mean 'head'\?"):
        table.hed  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"'_private'$"):
        table._private  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(table, "__array__")


def test_rows_are_counted_by_name_and_a_handle_is_true(table: lance_sql.Dataset) -> None:
    for thing in (table, table.scan(), table.changes()):
        with pytest.raises(TypeError, match=r"count_rows\(\) counts the rows"):
            len(thing)  # type: ignore[arg-type]
        assert bool(thing)
    assert bool(table.delete("true"))


def test_an_error_inside_a_property_is_that_error(table: lance_sql.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> Any:
        raise AttributeError("inner")

    monkeypatch.setattr(lance_sql.Dataset, "version", property(fails))
    with pytest.raises(AttributeError, match=r"^inner$"):
        table.version  # noqa: B018


OURS: Any = lance_sql
CALLS: list[tuple[Callable[[Any], object], str]] = [
    (lambda _: OURS.open("t.lance", verison=1), "open() .* 'verison'. Did you mean 'version'?"),
    (lambda _: OURS.open(path="t.lance"), "open() .* 'path'. Did you mean 'uri'?"),
    (lambda table: table.scan(where="id = 1"), "scan() .* 'where'. Did you mean 'filter'?"),
    (lambda table: table.count_rows(where="id = 1"), "count_rows() .* 'where'. Did you mean 'filter'?"),
    (lambda table: table.delete(filter="id = 1"), "delete() .* 'filter'. Did you mean 'where'?"),
    (lambda table: table.update({"id": "1"}, filter="id = 1"), "update() .* 'filter'. Did you mean 'where'?"),
    (lambda table: table.maintenance.compact(target_rows_per_fragment=1), "compact() .* Did you mean 'target_rows'?"),
    (lambda table: table.maintenance.cleanup(keep=1), "cleanup() .* 'keep'. Did you mean 'retain_versions'?"),
    (lambda table: table.merge({"id": [1]}, key="id"), "merge() .* 'key'. Did you mean 'on'?"),
    (lambda table: table.changes(from_version=1), "changes() .* 'from_version'. Did you mean 'since'?"),
    (lambda table: OURS.diff(table, keys="id"), "diff() .* 'keys'. Did you mean 'key'?"),
    (lambda table: table.changes().scan(where="id = 1"), "scan() .* 'where'. Did you mean 'filter'?"),
    (lambda _: OURS.sql("SELECT 1", enginee="duckdb"), "sql() .* 'enginee'. Did you mean 'engine'?"),
    (lambda _: OURS.verify("t.lance", depth=1), "verify() .* 'depth'. Did you mean 'deep'?"),
    (lambda _: OURS.catalog("t", option={}), "catalog() .* 'option'"),
    (lambda table: table.restore(version=1, zzz=2), "restore() .* 'zzz'; it has version"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_an_unknown_keyword_is_answered(table: lance_sql.Dataset, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call(table)
    begin, _, end = message.partition(" .* ")
    assert str(raised.value).startswith(f"{begin} got an unexpected keyword argument")
    assert end in str(raised.value)


def test_functions_stay_themselves() -> None:
    assert pickle.loads(pickle.dumps(lance_sql.open)) is lance_sql.open
    assert "version" in inspect.signature(lance_sql.open).parameters
    assert "where" in inspect.signature(lance_sql.Dataset.delete).parameters


def test_errors_of_the_function_are_its_own(tmp_path: Path) -> None:
    @suggests_keywords
    def called(a: int, b: int = 0) -> int:
        return int(a, c=b)  # type: ignore[call-overload,no-any-return]

    with pytest.raises(TypeError, match=r"'c'|int"):
        called(1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        called()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Did you mean 'b'\?|it has a, b"):
        called(1, bb=2)  # type: ignore[call-arg]
