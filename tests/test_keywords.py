"""Keywords that a public function does not have are an error, which names the nearest one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lance_sql
import lance_sql.testing
from lance_sql.errors import LanceError

ELSEWHERE = {
    # what takes them has the names, and refuses others
    "connect": "duckdb.connect",
    "to_pandas": "pyarrow.Table.to_pandas",
    "read_spark": "open",
    "register": "open",
    "open": "open",
    "create_table": "write",
    "create_index": "the kind of index",
    "assert_search": "search",
    "assert_sql": "assert_table_equal",
    # refused whatever they are given
    "filter": "",
    "join": "",
    "join_asof": "",
    "replace_schema": "",
    "sort_by": "",
}
CHECKED = {"scanner", "to_table", "to_batches", "head", "count_rows"}


def public(owner: Any, seen: set[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(owner):
        value = None if name.startswith("_") else getattr(owner, name, None)
        value = getattr(value, "__func__", value)
        if inspect.isclass(value) and value not in seen and value.__module__.startswith("lance_sql"):
            seen.add(value)
            yield from public(value, seen)
        elif inspect.isfunction(value):
            yield name, value


def test_who_takes_any_keyword_is_known() -> None:
    seen: set[Any] = set()
    for module in (lance_sql, lance_sql.testing):
        for name, function in public(module, seen):
            kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
            if inspect.Parameter.VAR_KEYWORD in kinds:
                assert name in ELSEWHERE or name in CHECKED, f"{function.__qualname__} takes any keyword"


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write({"id": [1, 2, 3]}, tmp_path / "t.lance")


@pytest.mark.parametrize("method", sorted(CHECKED))
@pytest.mark.parametrize(
    ("keyword", "hint"),
    [("fliter", "filter"), ("where", "filter"), ("filters", "filter"), ("colunms", "columns"), ("versoin", None)],
)
def test_a_misspelt_keyword_is_an_error(table: lance_sql.Dataset, method: str, keyword: str, hint: str | None) -> None:
    for owner in (table, table.changes()):
        arguments = [1] if method == "head" else []
        with pytest.raises(TypeError, match=rf"{method}\(\) got an unexpected keyword argument '{keyword}'") as raised:
            getattr(owner, method)(*arguments, **{keyword: "id = 1"})
        if hint is not None and (method, hint) != ("count_rows", "columns"):
            assert f"Did you mean {hint!r}?" in str(raised.value)


def test_what_arrow_is_told_besides_is_taken(table: lance_sql.Dataset) -> None:
    options: dict[str, Any] = {"use_threads": True, "batch_readahead": 4, "memory_pool": None}
    assert table.to_table(["id"], "id > 1", **options).num_rows == 2
    assert table.count_rows("id > 1", batch_size=5, **options) == 2
    assert table.head(2, **options).num_rows == 2
    assert sum(batch.num_rows for batch in table.to_batches(**options)) == 3


WRONG: list[Any] = [
    None,
    5,
    -1,
    1.5,
    "x",
    b"x",
    [],
    {},
    [1],
    ["x"],
    {"x": 1},
    object(),
    float("nan"),
    True,
    (),
    "memory://",
]
SKIPPED = ("tag", "branch", "publish", "staged", "cursor", "search_rows")
"""Parts of names of verbs that have tests of their own."""


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_wrong_kinds_of_arguments_end_in_errors_of_ours(table: lance_sql.Dataset, value: Any) -> None:
    for name in dir(table):
        is_left_out = name.startswith("_") or any(part in name for part in SKIPPED)
        method = None if is_left_out else getattr(type(table), name, None)
        if not inspect.isfunction(method):
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        needed = [each for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
        given = [value] * max(len(needed), min(1, len(parameters)))
        try:
            method(lance_sql.open(table.uri), *given)
        except LanceError:
            pass
        except TypeError as error:
            assert "argument" in str(error) or "not" in str(error), (name, error)  # noqa: PT017 - some raise nothing
        except Exception as error:
            pytest.fail(f"{name}({value!r}): {type(error).__name__}: {error}")
