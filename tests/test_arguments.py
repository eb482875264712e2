"""Arguments of wrong types and unknown keywords: refused by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
import lance_sql.testing
from lance_sql import Dataset, handles
from lance_sql.errors import InvalidArgument, LanceError, VersionNotFound
from lance_sql.values.durations import parse_age


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a text that some method takes for a path makes a table in the working folder
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2, 3], "i": [4, 5, 6], "d": [7, 8, 9]}, tmp_path / "t.lance")


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.scan("id"),
        lambda table: table.take([0], "id"),
        lambda table: table.scanner(columns="id"),
        lambda table: table.to_table(columns="id"),
        lambda table: table.to_table("id"),
        lambda table: table.head(1, columns="id"),
    ],
)
def test_a_text_is_no_list_of_columns(table: Dataset, call: Callable[[Dataset], Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"columns='id' is a string: pass a list of names, such as \['id'\]"):
        call(table)


@pytest.mark.parametrize("columns", [["id", 1], [None], 5, [b"id"]])
def test_names_are_texts(table: Dataset, columns: Any) -> None:
    with pytest.raises(InvalidArgument, match="a list of names"):
        table.scan(columns)


@pytest.mark.parametrize("columns", [("id",), {"id": 1}, iter(["id"])])
def test_names_come_in_any_collection(table: Dataset, columns: Any) -> None:
    assert table.scan(columns).to_table().column_names == ["id"]


@pytest.mark.parametrize("value", ["3", 1.5, True, b"1"])
def test_numbers_of_rows_are_whole(table: Dataset, value: Any) -> None:
    for call in (
        lambda: table.scan(limit=value),
        lambda: table.scan(batch_size=value),
        lambda: table.maintenance.compact(target_rows=value),
        lambda: table.maintenance.cleanup(retain_versions=value),
    ):
        with pytest.raises(InvalidArgument, match="not a whole number"):
            call()


def test_an_age_is_a_text_or_a_timedelta(table: Dataset) -> None:
    table.delete("id = 1")
    assert table.maintenance.cleanup(older_than="7d", dry_run=True).versions == ()
    assert table.maintenance.cleanup(older_than=timedelta(days=7), dry_run=True).versions == ()
    assert [file.version for file in table.maintenance.cleanup(older_than="0s").versions] == [1]


@pytest.mark.parametrize("age", ["soon", "", "7", "d", "-1d", "1.5d", "7 days", "999999999w", 7, 1.5])
def test_invalid_ages_are_refused(table: Dataset, age: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"is not an age such as 30d|not a timedelta|pass a shorter age"):
        table.maintenance.cleanup(older_than=age)


def test_ages() -> None:
    found = [parse_age(text) for text in ("2w", " 30d ", "12h", "90m", "5s")]
    assert found == [
        timedelta(weeks=2),
        timedelta(days=30),
        timedelta(hours=12),
        timedelta(minutes=90),
        timedelta(seconds=5),
    ]


@pytest.mark.parametrize("name", ["x" * 300, "ä" * 200, "a/" * 100 + "b"])
def test_names_that_are_too_long(table: Dataset, name: str) -> None:
    for create in (table.tags.create, table.branches.create):
        with pytest.raises(InvalidArgument, match=r"characters: the name of a (tag|branch) has at most 150"):
            create(name)
    for use in (table.tags.move, table.tags.delete, lambda name: lance_sql.open(table.uri, tag=name)):
        with pytest.raises(VersionNotFound):
            use(name)
    for use in (table.branches.delete, lambda name: lance_sql.open(table.uri, branch=name)):
        with pytest.raises(LanceError):
            use(name)
    assert (table.tags.list(), table.branches.list()) == ({}, {})


def test_names_are_text(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="pass text"):
        table.tags.create(5)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="pass text"):
        table.branches.create(5)  # type: ignore[arg-type]  # wrong on purpose


def test_the_longest_names(table: Dataset) -> None:
    name = "x" * 150
    table.tags.create(name)
    assert table.branches.create(name).branch == name
    assert lance_sql.open(table.uri, tag=name).version == lance_sql.open(table.uri, branch=name).version == 1
    table.tags.move(name)
    table.tags.delete(name)
    table.branches.delete(name)


ELSEWHERE = {
    # what takes them has the names, and refuses others
    "connect": "duckdb.connect",
    "to_pandas": "pyarrow.Table.to_pandas",
    "read_spark": "open",
    "register": "open",
    "open": "open",
    "create_table": "write",
    **dict.fromkeys(("apply_changes", "audit", "catalog", "diff", "materialize"), "Access.of"),
    **dict.fromkeys(("read", "repair", "salvage", "sql", "verify"), "Access.of"),
    "create": "the kind of index",
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
OPTIONS = {
    *("add_columns", "alter_column", "append", "begin_write", "compact", "delete", "drop", "drop_columns"),
    *("enable_stable_row_ids", "maintain", "merge", "optimize", "publish", "rename_columns", "restore", "search"),
    *(
        "search_changes",
        "set",
        "update",
        "update_field_metadata",
        "update_schema_metadata",
        "update_table_metadata",
        "write",
    ),
}


def public(owner: Any, seen: set[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(owner):
        value = None if name.startswith("_") else getattr(owner, name, None)
        value = getattr(value, "__func__", value)
        if inspect.isclass(value) and value not in seen and value.__module__.startswith("lance_sql"):
            seen.add(value)
            yield from public(value, seen)
        elif inspect.isfunction(value):
            yield name, value


FOR_THE_LIBRARY = {"ManifestStore", "ManifestEntry"}
"""Users implement them; the library calls them."""


CHECKED_LATER = {"Indices.create", "assert_search", "read_spark", "register"}
"""Another argument decides which keywords they have."""


def _misspelt(function: Callable[..., Any]) -> tuple[list[Any], str, str] | None:
    """Returns positional arguments, and the last keyword of a function with a wrong spelling and its own."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "cls"]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [each.name for each in parameters if each.kind in kinds and each.name != "self"]
    if not named:
        return None
    right = named[-1]
    wrong = f"{right}s" if f"{right}s" not in named else f"{right}_"
    needed = [each for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    return ["x" if each.name == "name" else None for each in needed if each.name != right], wrong, right


def _is_part(value: object, part: str) -> bool:
    return inspect.isclass(value) and value.__module__ == f"lance_sql.handles.{part}"


def _every_function() -> Iterator[tuple[str, Callable[..., Any]]]:
    seen: set[Any] = set()
    for module in (lance_sql, lance_sql.testing):
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.isclass(value):
                yield name, value
                continue
            if name in FOR_THE_LIBRARY or issubclass(value, BaseException):
                continue
            yield from ((f"{name}.{method}", function) for method, function in public(value, seen))
    for part in handles.__all__:
        kind = next(value for value in vars(getattr(handles, part)).values() if _is_part(value, part))
        yield from ((f"{kind.__name__}.{method}", function) for method, function in public(kind, seen))
    for kind in (lance_sql.Cursor, lance_sql.View, lance_sql.WriteJob, lance_sql.SqliteManifestStore):
        yield kind.__name__, kind


def test_every_function_names_the_closest_keyword(table: Dataset, tmp_path: Path) -> None:
    owners = {
        "Dataset": table,
        "Catalog": lance_sql.catalog(tmp_path),
        "Scan": table.scan(),
        "Cursor": table.cursors.open("c"),
        **{type(part).__name__: part for part in (getattr(table, name) for name in handles.__all__)},
    }
    failures = {}
    for name, function in _every_function():
        misspelt = _misspelt(function)
        if misspelt is None or name in CHECKED_LATER:
            continue
        given, wrong, right = misspelt
        owner = owners.get(name.partition(".")[0])
        try:
            function(*(given if owner is None or not given else [owner, *given[1:]]), **{wrong: None})
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        else:
            said = "nothing"
        if f"got an unexpected keyword argument {wrong!r}. Did you mean {right!r}?" not in said:
            failures[name] = said
    assert not failures, failures


def test_keywords_of_connect() -> None:
    for wrong, right in (("catalgo", "catalog"), ("readonly", "read_only"), ("confg", "config")):
        with pytest.raises(TypeError, match=rf"connect\(\) .* '{wrong}'\. Did you mean '{right}'\?$"):
            lance_sql.connect(**{wrong: True})  # type: ignore[arg-type]  # wrong on purpose


def test_functions_with_any_keyword_are_listed() -> None:
    seen: set[Any] = set()
    parts = [getattr(handles, name) for name in handles.__all__]
    for module in (lance_sql, lance_sql.testing, *parts):
        for name, function in public(module, seen):
            kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
            if inspect.Parameter.VAR_KEYWORD in kinds:
                known = name in ELSEWHERE or name in CHECKED or name in OPTIONS
                assert known, f"{function.__qualname__} takes any keyword"


@pytest.mark.parametrize("method", sorted(CHECKED))
@pytest.mark.parametrize(
    ("keyword", "hint"),
    [("fliter", "filter"), ("where", "filter"), ("filters", "filter"), ("colunms", "columns"), ("versoin", None)],
)
def test_a_misspelt_keyword_is_an_error(table: Dataset, method: str, keyword: str, hint: str | None) -> None:
    for owner in (table, table.changes()):
        arguments = [1] if method == "head" else []
        with pytest.raises(TypeError, match=rf"{method}\(\) got an unexpected keyword argument '{keyword}'") as raised:
            getattr(owner, method)(*arguments, **{keyword: "id = 1"})
        if hint is not None and (method, hint) != ("count_rows", "columns"):
            assert f"Did you mean {hint!r}?" in str(raised.value)


@pytest.mark.parametrize(
    ("keyword", "cure"),
    [
        ("limit", "scan(.., limit=..)"),
        ("offset", "OFFSET in SQL"),
        ("nearest", "search(vector"),
        ("full_text_query", "search(text=..)"),
        ("with_row_id", "'_rowid'"),
        ("prefilter", "filters before it ranks"),
    ],
)
def test_keywords_of_pylance_name_what_to_call(table: Dataset, keyword: str, cure: str) -> None:
    methods: list[Callable[..., Any]] = [table.to_table, table.to_batches, table.scanner, table.count_rows]
    for method in methods:
        with pytest.raises(TypeError, match=rf"'{keyword}'\. Use .*{re.escape(cure)}"):
            method(**{keyword: 5})


def test_arguments_of_arrow_scanners_are_accepted(table: Dataset) -> None:
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


def _changes(table: Dataset) -> dict[str, Callable[..., Any]]:
    """Returns every change of a table, by its name."""
    table.branches.create("load").delete("id = 1")
    with_index = table.indices.create("i", "btree")
    with_rule = with_index.rules.set("small", "i < 100")
    plain = lance_sql.write({"id": [1]}, "plain.lance", stable_row_ids=False)
    return {
        "append": partial(with_rule.append, {"id": [7], "i": [7], "d": [7]}),
        "delete": partial(with_rule.delete, "id = 2"),
        "update": partial(with_rule.update, {"d": 1}, "id = 3"),
        "merge": partial(with_rule.merge, {"id": [9], "i": [9], "d": [9]}, "id"),
        "add_columns": partial(with_rule.add_columns, {"more": "i + 1"}),
        "rename_columns": partial(with_rule.rename_columns, {"more": "most"}),
        "alter_column": partial(with_rule.alter_column, "most", type=pa.int32()),
        "drop_columns": partial(with_rule.drop_columns, "most"),
        "create_index": partial(with_rule.indices.create, "d", "btree"),
        "drop_index": partial(with_rule.indices.drop, "d_idx"),
        "optimize_indices": partial(with_rule.indices.optimize, rebuild=True),
        "compact": with_rule.maintenance.compact,
        "restore": partial(with_rule.restore, 1),
        "update_config": partial(with_rule.config.update, {"a": "b"}),
        "update_field_metadata": partial(with_rule.config.update_field_metadata, "i", {"comment": "x"}),
        "update_table_metadata": partial(with_rule.config.update_table_metadata, {"a": "b"}),
        "update_schema_metadata": partial(with_rule.config.update_schema_metadata, {"a": "b"}),
        "enable_stable_row_ids": plain.maintenance.enable_stable_row_ids,
        "set_rule": partial(with_rule.rules.set, "big", "i > 0"),
        "drop_rule": partial(with_rule.rules.drop, "big"),
        "publish": partial(table.branches.publish, "load"),
        "write": partial(lance_sql.write, {"id": [5], "i": [5], "d": [5]}, table.uri, mode="append"),
        "begin_write": partial(lance_sql.begin_write, table.schema, table.uri, mode="append"),
    }


def test_every_change_takes_a_job_and_properties(table: Dataset) -> None:
    for name, change in _changes(table).items():
        made = change(job=f"job of {name}", properties={"ticket": name})
        if name == "begin_write":
            made = made.commit(made.write_fragments({"id": [6], "i": [6], "d": [6]}))
        entry = made.history(1)[0]
        assert (entry.job, made.snapshot.commit_properties["ticket"]) == (f"job of {name}", name), name


def test_every_change_refuses_other_keywords(table: Dataset) -> None:
    changes = {name: (getattr(change, "func", change).__name__, change) for name, change in _changes(table).items()}
    assert OPTIONS - {"search", "search_changes", "maintain"} <= {called for called, _ in changes.values()}
    for name, change in changes.values():
        if name == "create":
            with pytest.raises(InvalidArgument, match="propreties"):
                change(propreties={})
            continue
        with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'propreties'") as raised:
            change(propreties={})
        assert "Did you mean 'properties'?" in str(raised.value)
        with pytest.raises(InvalidArgument, match="The name of a job must be text, not 5"):
            change(job=5)


def _methods(table: Dataset) -> Iterator[tuple[Callable[[Dataset], Any], str]]:
    """Yields the methods of a table and of its parts, with the way from the table to the owner."""
    owners: list[Callable[[Dataset], Any]] = [lambda opened: opened, *map(attrgetter, handles.__all__)]
    for owner in owners:
        for name in dir(owner(table)):
            if not name.startswith("_") and inspect.isfunction(getattr(type(owner(table)), name, None)):
                yield owner, name


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_wrong_kinds_of_arguments_end_in_errors_of_ours(table: Dataset, value: Any) -> None:
    for owner, name in _methods(table):
        method = getattr(type(owner(table)), name)
        parameters = list(inspect.signature(method).parameters.values())[1:]
        needed = [each for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
        given = [value] * max(len(needed), min(1, len(parameters)))
        try:
            method(owner(lance_sql.open(table.uri)), *given)
        except LanceError:
            pass
        except TypeError as error:
            assert "argument" in str(error) or "not" in str(error), (name, error)  # noqa: PT017 - some raise nothing
        except Exception as error:
            pytest.fail(f"{name}({value!r}): {type(error).__name__}: {error}")


@pytest.mark.parametrize("kind", ["BTREE", "Bitmap", "ZoneMap", "BLOOMFILTER"])
def test_kinds_of_indices_in_any_case_of_letters(tmp_path: Path, kind: str) -> None:
    table = lance_sql.write({"s": ["a", "b"]}, tmp_path / "t.lance").indices.create("s", kind)
    assert [index.kind for index in table.indices.list()] == [kind.lower()]
    connection = lance_sql.connect()
    connection.execute(f"CREATE INDEX by_sql ON '{table.uri}' USING {kind} (s)")
    assert [index.kind for index in table.latest().indices.list()] == [kind.lower()] * 2


def test_a_cursor_is_read_in_a_block(table: Dataset) -> None:
    with pytest.raises(AttributeError, match=r"with cursor\.read\(\) as changes: changes\.scan"):
        table.cursors.open("c").read().scan()  # type: ignore[attr-defined]
    with table.cursors.open("c").read() as changes:
        assert changes.count_rows()


def test_arguments_of_other_kinds_are_named(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="filter=5 is not a filter: pass SQL text"):
        table.scan(filter=5)  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="'fox' is not a vector: to search for words, pass text='fox'"):
        table.search("fox")
    with pytest.raises(TypeError, match=r"'limit'\. Did you mean 'k'"):
        table.search(text="fox", limit=3)  # type: ignore[call-arg]
