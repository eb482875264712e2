"""Conditions on members of JSON: random documents, paths and operators, against Python's json and pylance."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from tests.json_documents import (
    FIELD,
    KEYS,
    MISSING,
    Step,
    as_boolean,
    as_integer,
    as_number,
    as_string,
    document,
    json_text,
    member,
    quoted,
    rows_of,
)

NUM_DOCUMENTS = 120


def tables(folder: Path, seed: int) -> tuple[list[Any], Dataset, lance.LanceDataset]:
    draw = random.Random(seed)
    values = [MISSING if draw.random() < 0.05 else document(draw) for _ in range(NUM_DOCUMENTS)]
    path = str(folder / "t.lance")
    version = draw.choice(["2.0", "2.1", "2.2"])
    table = lance_sql.write(rows_of(values), path, file_version=version, max_rows_per_file=draw.choice([37, 1000]))
    return values, table, lance.dataset(path)


def path_text(steps: list[Step]) -> str:
    parts = [f"[{step}]" if isinstance(step, int) else f'."{step}"' if " " in step else f".{step}" for step in steps]
    return "$" + "".join(parts)


def scalar(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        raise ValueError(value)
    return as_string(value)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
}


def condition(draw: random.Random, values: list[Any]) -> tuple[str, bool, Callable[[Any], bool | None]]:
    """A random condition, whether pylance understands it, and its answer for a document, None for NULL."""
    steps: list[Step] = [draw.choice((*KEYS, 0, 1)) for _ in range(draw.choice([0, 1, 1, 1, 2]))]
    path = path_text(steps)
    kind = draw.randrange(9)
    name = draw.choice(("a", "b", "1", "k y"))
    either: Callable[[Any], Any] = lambda value: (  # noqa: E731 - one of many
        member(value, [int(name)]) if isinstance(value, list) and name.isdigit() else member(value, [name])
    )
    at: Callable[[Any], Any] = lambda value: member(value, steps)  # noqa: E731 - one of many
    some = draw.choice(
        [found for value in values if value is not MISSING and (found := at(value)) is not MISSING] or [7]
    )
    op, compare = draw.choice(list(OPERATORS.items()))

    def comparing(
        convert: Callable[[Any], Any], of: Callable[[Any], Any], constant: Any
    ) -> Callable[[Any], bool | None]:
        def answer(value: Any) -> bool | None:
            found = convert(of(value))
            if found is MISSING:
                return None
            # strings are compared by bytes
            is_text = isinstance(constant, str)
            return compare(found.encode(), constant.encode()) if is_text else compare(found, constant)

        return answer

    def text(value: Any) -> Any:
        return value if value is MISSING else json_text(value)

    match kind:
        case 0:
            wanted = json_text(some)
            return f"json_extract(v, {quoted(path)}) {op} {quoted(wanted)}", True, comparing(text, at, wanted)
        case 1:
            wanted = as_string(some) if some is not None else "x"
            return f"(v->>{quoted(path)}) {op} {quoted(wanted)}", False, comparing(as_string, at, wanted)
        case 2:
            return f"json_exists(v, {quoted(path)})", True, lambda value: at(value) is not MISSING
        case 3:
            return (
                f"json_array_length(v, {quoted(path)}) {op} 2",
                True,
                comparing(
                    lambda found: found if found is MISSING else len(found) if isinstance(found, list) else 0, at, 2
                ),
            )
        case 4:
            items = some if isinstance(some, list) and some else [some]
            wanted = as_string(items[0]) if items[0] is not None else "null"
            return (
                f"json_array_contains(v, {quoted(path)}, {quoted(wanted)})",
                True,
                lambda value: (
                    isinstance(at(value), list) and any(wanted in (json_text(item), item) for item in at(value))
                ),
            )
        case 5:
            return f"json_get_int(v, {quoted(name)}) {op} 7", True, comparing(as_integer, either, 7)
        case 6:
            return f"json_get_float(v, {quoted(name)}) {op} 7", True, comparing(as_number, either, 7)
        case 7:
            return f"json_get_string(v, {quoted(name)}) {op} 'x'", True, comparing(scalar, either, "x")
        case _:
            return (
                f"json_get_bool(v, {quoted(name)}) = true",
                True,
                lambda value: None if (found := as_boolean(either(value))) is MISSING else found,
            )


def passing(values: list[Any], answer: Callable[[Any], bool | None]) -> list[int] | None:
    """The rows that pass; None if the condition fails for one."""
    try:
        return [row for row, value in enumerate(values) if value is not MISSING and answer(value)]
    except ValueError:
        return None


def of_pylance(other: lance.LanceDataset, text: str) -> list[int] | None:
    try:
        return list(other.to_table(columns=["id"], filter=text)["id"].to_pylist())
    except (OSError, ValueError, RuntimeError):
        return None


def check(folder: Path, seed: int, count: int) -> None:
    values, table, other = tables(folder, seed)
    draw = random.Random(seed)
    num_answers = 0
    for _ in range(count):
        text, is_shared, answer = condition(draw, values)
        expected = passing(values, answer)
        try:
            found: list[int] | None = table.scan(["id"], filter=text).to_table()["id"].to_pylist()
            rows = table.scan(["v", "id"], filter=text).to_table()
            assert rows["id"].to_pylist() == found, text
            assert [json.loads(each) for each in rows["v"].to_pylist()] == [values[row] for row in found or ()], text
            assert table.count_rows(f"NOT ({text})") + len(found or ()) <= NUM_DOCUMENTS
        except InvalidArgument:
            found = None
        assert found == expected, (seed, text)
        if is_shared:
            assert of_pylance(other, text) == expected, (seed, text)
        num_answers += found is not None
    assert num_answers > count // 4


@pytest.mark.parametrize("seed", range(3))
def test_conditions_on_members(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_conditions_on_members(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, 200)


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    rows = pa.table(
        {
            "id": range(4),
            "v": ['{"a": 7, "d": {"e": [1, 2]}}', '{"a": "7"}', '{"a": null}', None],
            "t": ['{"a": 7}'] * 4,
        },
        schema=pa.schema([("id", pa.int64()), FIELD, ("t", pa.string())]),
    )
    return lance_sql.write(rows, str(tmp_path / "t.lance"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v->>'a' = '7'", [0, 1]),
        ("v->'a' = '7'", [0]),
        ("v->'d'->'e'->1 = '2'", [0]),
        ("v->'d'->>'e' = '[1,2]'", [0]),
        ("json_get_int(json_get(v, 'd'), 'e') IS NULL AND id > 0", [1, 2, 3]),
        ("json_array_length(v->'d', '$.e') = 2", [0]),
        ("CAST(v->>'a' AS BIGINT) = 7", [0, 1]),
        ("(v->>'a')::INTEGER + 1 = 8", [0, 1]),
        ("CAST(v->'a' AS DOUBLE) > 6.5", [0, 1]),
        ("CAST(v->>'a' AS VARCHAR) LIKE '7%'", [0, 1]),
        ("v->>'a' IN ('7', '8') OR v IS NULL", [0, 1, 3]),
        ("v->>'a' IS NULL", [2, 3]),
        ("v->'a' IS NULL", [3]),
        ("json_extract(v, '$.d.e[last]') = '2'", [0]),
        ("""json_extract(v, '$["a"]') = '7'""", [0]),
        ("json_extract(t, '$.a') = '7' AND id < 2", [0, 1]),
        ("v->>'a' = '7' AND v LIKE '%e%'", [0]),
    ],
)
def test_forms_of_conditions(table: Dataset, text: str, expected: list[int]) -> None:
    assert table.scan(["id"], filter=text).to_table()["id"].to_pylist() == expected
    assert table.count_rows(text) == len(expected)


def test_conditions_of_statements(table: Dataset) -> None:
    table = table.update({"id": "id + 100"}, "v->>'a' = '7'")
    assert sorted(table.scan(["id"]).to_table()["id"].to_pylist()) == [2, 3, 100, 101]
    table = table.delete("json_exists(v, '$.d')")
    assert sorted(table.scan(["id"]).to_table()["id"].to_pylist()) == [2, 3, 101]
    shutil.rmtree(table.uri)


@pytest.mark.parametrize(
    "text",
    [
        "json_extract(v, '$.*') = '7'",
        "json_extract(v, '$..a') = '7'",
        "json_extract(v, 'a.b') = '7'",
        "json_extract(v, '/a') = '7'",
        "json_extract(v, t) = '7'",
        "json_extract(v, '$.a', '$.b') = '7'",
        "json_get_int(v, 'a', 'b') = 7",
        "json_array_contains(v, '$.a') = true",
        "json_array_contains(v, '$.a', t)",
        "json_type(v, '$.a') = 'VARCHAR'",
        "TRY_CAST(v->>'a' AS INTEGER) = 7",
        "CAST(v->>'a' AS DATE) = DATE '2024-01-01'",
    ],
)
def test_other_forms_are_refused_by_name(table: Dataset, text: str) -> None:
    with pytest.raises(UnsupportedFeature):
        table.count_rows(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("json_get_int(v, 'd') = 7", r'member \{"e":\[1,2\]\} is not an integer'),
        ("json_get_bool(v, 'a')", "member 7 is not a boolean"),
        ("json_extract(id, '$.a') = '7'", r"id \(int64\) is not JSON"),
        ("v->'a' = 7", "Cannot compare"),
        ("json_extract(v->>'a', '$.b') = 'x' OR json_extract(CAST(id AS VARCHAR) || ',', '$') = '1'", "is not JSON"),
    ],
)
def test_members_of_other_kinds_fail(table: Dataset, text: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason) as caught:
        table.count_rows(text)
    assert "\n" not in str(caught.value)
