"""Random filters on columns of extension types, against a model in Python: scans, counts, DuckDB, with indices."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pytest

import lance_sql
from tests.seeds import seeds

NUM_ROWS: Final = 240
FILTERS_OF_A_SEED: Final = 40
COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
UUIDS: Final = [UUID(int=number) for number in (0, 1, 5, 2**64, 2**64 + 1, 2**127 - 1, 2**127, 2**127 + 3, 2**128 - 1)]
TEXTS: Final = ['{"k":1}', '{"k":2}', "[]", "null", "true", '"a"', '"ä"', '{"a":{"b":[1,2]}}', "12"]
Truth = bool | None


def stored(random_values: random.Random) -> dict[str, list[Any]]:
    """Values by column, in the form in which literals are compared; None for NULL."""

    def some(values: Sequence[Any]) -> list[Any]:
        return [random_values.choice([None, *values]) for _ in range(NUM_ROWS)]

    return {"u": some(UUIDS), "j": some(TEXTS), "b": some([0, 1]), "o": some([b"", b"a", b"\x00\xff"])}


def write(path: Path, values: dict[str, list[Any]], version: str) -> lance_sql.Dataset:
    storage = {
        "u": pa.array([None if value is None else value.bytes for value in values["u"]], pa.binary(16)),
        "j": pa.array(values["j"], pa.string()),
        "b": pa.array(values["b"], pa.int8()),
        "o": pa.array(values["o"], pa.binary()),
    }
    types = {
        "u": pa.uuid(),
        "j": pa.json_(pa.string()),
        "b": pa.bool8(),
        "o": pa.opaque(pa.binary(), "blob", "test"),
    }
    columns = {name: pa.ExtensionArray.from_storage(types[name], array) for name, array in storage.items()}
    rows = pa.table({"id": pa.array(range(NUM_ROWS)), **columns})
    return lance_sql.write(rows, path, file_version=version, max_rows_per_file=70)


def literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


class Filters:
    """Random filters: the text, and the answer for a row, which is None for unknown."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def test(self) -> tuple[str, Callable[[dict[str, Any]], Truth]]:
        name = self.random.choice("uujjbo")
        literals: dict[str, Sequence[Any]] = {"u": UUIDS, "j": TEXTS, "b": [0, 1, 2], "o": []}
        values = literals[name]
        kind = "null" if name == "o" else self.random.choice(["compare", "compare", "in", "between", "null"])
        negated = self.random.random() < 0.3
        if kind == "null":
            return f"{name} IS {'NOT ' if negated else ''}NULL", lambda row: (row[name] is None) != negated
        if kind == "in":
            chosen = self.random.sample(values, self.random.randrange(1, len(values)))
            text = f"{name} {'NOT ' if negated else ''}IN ({', '.join(map(literal, chosen))})"
            return text, lambda row: None if row[name] is None else (row[name] in chosen) != negated
        if kind == "between":
            low, high = self.random.choice(values), self.random.choice(values)
            text = f"{name} {'NOT ' if negated else ''}BETWEEN {literal(low)} AND {literal(high)}"
            return text, lambda row: None if row[name] is None else (low <= row[name] <= high) != negated
        sign, value = self.random.choice(list(COMPARISONS)), self.random.choice(values)
        compare = COMPARISONS[sign]
        return f"{name} {sign} {literal(value)}", lambda row: None if row[name] is None else compare(row[name], value)

    def filter(self, depth: int = 2) -> tuple[str, Callable[[dict[str, Any]], Truth]]:
        kind = self.random.choice(["test", "and", "or", "not"]) if depth else "test"
        if kind == "test":
            return self.test()
        left, is_left = self.filter(depth - 1)
        if kind == "not":
            return f"NOT ({left})", lambda row: None if (answer := is_left(row)) is None else not answer
        right, is_right = self.filter(depth - 1)
        decisive = kind == "or"

        def both(row: dict[str, Any]) -> Truth:
            answers = is_left(row), is_right(row)
            return decisive if decisive in answers else None if None in answers else not decisive

        return f"({left}) {kind.upper()} ({right})", both


def check(folder: Path, seed: int) -> int:
    """Returns the number of rows that passed."""
    chance = random.Random(seed)
    values = stored(chance)
    table = write(folder / "t.lance", values, chance.choice(["2.0", "2.1", "2.2"]))
    for column, kind in (("u", "btree"), ("u", "zonemap"), ("j", "btree"), ("b", "bitmap")):
        if chance.random() < 0.4:
            try:
                table = table.indices.create(column, kind, name=f"{column}_{kind}")
            except lance_sql.UnsupportedFeature:
                continue
    if chance.random() < 0.5:
        table = table.delete("id % 7 = 3").maintenance.compact(max_deleted_share=0.01)
    if chance.random() < 0.3:
        table.maintenance.analyze(["b"])
    ids = set(table.scan(["id"]).to_table()["id"].to_pylist())
    rows = [{name: column[row] for name, column in values.items()} for row in range(NUM_ROWS)]
    connection = lance_sql.connect()
    filters, passed = Filters(seed), 0
    for number in range(FILTERS_OF_A_SEED):
        text, passes = filters.filter()
        told = (seed, number, text)
        expected = sorted(row for row in ids if passes(rows[row]) is True)
        assert sorted(table.scan(["id"], text).to_table()["id"].to_pylist()) == expected, told
        assert table.count_rows(text) == len(expected), told
        if number % 4 == 0:
            found = connection.execute(f"SELECT id FROM '{table.uri}' WHERE {text} ORDER BY id").fetchall()
            assert [row for (row,) in found] == expected, told
        passed += len(expected)
    assert table.delete(text).count_rows() == len(ids) - len(expected), told
    return passed


@seeds(range(4), range(100, 350))
def test_filters_pass_the_rows_of_the_model(tmp_path: Path, seed: int) -> None:
    assert check(tmp_path, seed)


@pytest.mark.parametrize("filter", ["u = 5", "j = 5", "b = 'x'", "o = 'a'", "u < 'no uuid'", "b = true", "u LIKE '0%'"])
def test_literals_of_other_types_are_refused(tmp_path: Path, filter: str) -> None:
    table = write(tmp_path / "t.lance", stored(random.Random(1)), "2.1")
    for run in (table.count_rows, table.delete):
        with pytest.raises(lance_sql.LanceError, match=rf"'?{filter[0]}'?"):
            run(filter)
    assert table.latest().version == 1
