"""Arguments of wrong kinds or in a wrong order: one line that names the argument and the form to write."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
import lance_sql.testing
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.values.argument_kinds import misfit

GOOD: dict[str, Any] = {
    "actual": "t.lance",
    "column": "v",
    "data": {"id": [1]},
    "expected": {"id": [1]},
    "file": "file.txt",
    "into": "view.lance",
    "query": "SELECT 1 AS a",
    "sql": "SELECT 1 AS a",
    "text": "a",
    "vector": [1.0, 2.0],
}
WRONG = [5, b"x", object(), [object()], {"x": object()}, np.array([1.0, 2.0])]


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lance_sql.Dataset:
    monkeypatch.chdir(tmp_path)
    vectors = pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2))
    return lance_sql.write({"id": [1, 2, 3], "v": vectors, "s": ["a b", "c", "d"]}, "t.lance")


FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    (name, getattr(module, name))
    for module in (lance_sql, lance_sql.testing)
    for name in module.__all__
    if not inspect.isclass(getattr(module, name))
]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


def _raw_error(call: Callable[[], Any]) -> str | None:
    """Returns an error that is not of this library, nor about the parameters of the call."""
    try:
        found = call()
        if hasattr(found, "__enter__"):
            with found:
                pass
    except AssertionError:
        return None
    except LanceError as error:
        return f"several lines: {error}" if "\n" in str(error) else None
    except TypeError as error:
        ours = ("missing", "unexpected keyword", "positional argument", "multiple values")
        return None if any(text in str(error) for text in ours) else f"TypeError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_wrong_kinds_of_arguments(name: str, function: Callable[..., Any]) -> None:
    parameters = _parameters(function)
    needed = {each.name: GOOD.get(each.name, "t.lance") for each in parameters if each.default is each.empty}
    failures = {}
    for each, value in itertools.product(parameters, WRONG):
        given = {**needed, each.name: value}
        said = _raw_error(lambda given=given: function(**given))  # type: ignore[misc]  # bound early
        if said is not None:
            failures[f"{each.name}={value!r}"] = said
    assert not failures, failures


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_wrong_orders_of_arguments(name: str, function: Callable[..., Any]) -> None:
    positional = [each for each in _parameters(function) if each.kind is each.POSITIONAL_OR_KEYWORD][:3]
    only = {
        each.name: "x"
        for each in _parameters(function)
        if each.kind is each.KEYWORD_ONLY and each.default is each.empty
    }
    for given in itertools.permutations([GOOD.get(each.name, "t.lance") for each in positional]):
        said = _raw_error(lambda given=given: function(*given, **only))  # type: ignore[misc]  # bound early
        assert said is None or name == "assert_sql", (given, said)


LIBRARY: Any = lance_sql


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda table: LIBRARY.nearest([1.0, 2.0], [1.0, 2.0]),
            r"column=\[1.0, 2.0\] is not text: write nearest\(vector, column\)$",
        ),
        (lambda table: LIBRARY.nearest("v", [1.0, 2.0]), "'v' is not a vector: .* as column='v'$"),
        (lambda table: table.search("v", [1.0, 2.0]), "'v' is not a vector: .* as column='v'$"),
        (lambda table: table.search([1.0, 2.0], "v"), "'v' is not a vector: .* as column='v'$"),
        (lambda table: table.search([1.0, 2.0], column=["v"]), r"column=\['v'\] is not text"),
        (
            lambda table: LIBRARY.words(["a"], "s"),
            r"text=\['a'\] is not text or a dict: write words\(text, column\)$",
        ),
        (
            lambda table: LIBRARY.open("t.lance", manifest_store=5),
            r"manifest_store=5 is not a manifest store: pass SqliteManifestStore\(path\)$",
        ),
        (lambda table: LIBRARY.verify("t.lance", progress=5), "progress=5 is not a function"),
        (lambda table: LIBRARY.connect("t.lance"), r"is a Lance table, .* connect\(\)\.sql\(\"FROM 't.lance'\"\)$"),
        (lambda table: LIBRARY.catalog(".").open(None), "None is not a table name"),
    ],
)
def test_messages(table: lance_sql.Dataset, call: Callable[[lance_sql.Dataset], Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call(table)


@pytest.mark.parametrize(
    ("call", "form"),
    [
        (lambda table: table.indices.create("id"), r"'kind'\. Write create\(column, kind\)$"),
        (lambda table: table.rules.set("id > 0"), r"'rule'\. Write set\(name, rule\)$"),
        (
            lambda table: table.maintenance.cleanup("7d"),
            r"were given\. Write cleanup\(older_than=\.\., retain_versions=\.\.",
        ),
        (lambda table: LIBRARY.configure("nightly"), r"Write configure\(job=\.\., user=\.\., host=\.\.\)$"),
        (lambda table: LIBRARY.attach(LIBRARY.connect(), "."), r"Write attach\(target, folder, as_=\.\.\)$"),
        (lambda table: LIBRARY.verify(), r"Write verify\(uri\)$"),
        (lambda table: LIBRARY.catalog(".").rename_table("t"), r"Write rename_table\(name, new_name\)$"),
    ],
)
def test_too_few_and_too_many_arguments(
    table: lance_sql.Dataset, call: Callable[[lance_sql.Dataset], Any], form: str
) -> None:
    with pytest.raises(TypeError, match=form):
        call(table)


def _function(
    number: int = 0,
    share: float = 0,
    names: Sequence[str] = (),
    values: Mapping[str, str] | None = None,
    mode: Literal["a", "b"] = "a",
    age: timedelta | str | None = None,
    pair: tuple[float | None, float | None] | None = None,
    job: Callable[[], None] | None = None,
    anything: Any = None,
) -> None: ...


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("number", [1, np.int64(1), True], ["1", 1.5, None]),
        ("share", [1, 0.5, np.float32(1)], ["1", None]),
        ("names", [["a"], ("a",)], ["a", 5, [1], None, np.array(["a"])]),
        ("values", [{"a": "b"}, None], [["a"], {"a": 1}, "a"]),
        ("mode", ["a", "b"], ["c", None, 1]),
        ("age", [timedelta(1), "1d", None], [1, ["1d"]]),
        ("pair", [(1, None), [0.5, 1], None], [(1,), (1, 2, 3), ("a", "b"), 1]),
        ("job", [print, None], ["print", 5]),
        ("anything", [5, "a", None], []),
    ],
)
def test_kinds(name: str, right: list[Any], wrong: list[Any]) -> None:
    for value in right:
        assert misfit(_function, (), {name: value}) is None, value
    for value in wrong:
        assert f"{name}=" in str(misfit(_function, (), {name: value})), value
