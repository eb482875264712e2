"""Columns of JSON: read as text in every way, and damage of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.schema import jsonb
from tests.json_documents import FIELD

FILE_VERSIONS = ["2.0", "2.1", "2.2"]
NUM_ROWS = 3000


def documents(count: int = NUM_ROWS) -> list[str | None]:
    draw = random.Random(7)
    kinds: list[Any] = [None, True, 5, -1.5, 'text \u00e9 "\n', [], {}]

    def document(row: int) -> Any:
        if row % 5 == 0:
            return draw.choice(kinds)
        return {
            "id": row,
            "kind": draw.choice(kinds),
            "items": draw.choices(kinds, k=row % 3),
            "\u00fc": {"x": row / 7},
        }

    return [None if row % 11 == 3 else json.dumps(document(row)) for row in range(count)]


DOCUMENTS = documents()


def values_of(texts: list[Any]) -> list[Any]:
    return [None if text is None else json.loads(text) for text in texts]


def rows(texts: list[str | None]) -> pa.Table:
    return pa.table({"id": range(len(texts)), "v": texts}, schema=pa.schema([("id", pa.int64()), FIELD]))


@pytest.fixture(scope="module", params=[*((version, "lance_sql") for version in FILE_VERSIONS), ("2.1", "pylance")])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    version, writer = request.param
    path = str(tmp_path_factory.mktemp("tables") / "t.lance")
    if writer == "pylance":
        lance.write_dataset(
            rows(DOCUMENTS), path, data_storage_version=version, max_rows_per_file=1000, enable_stable_row_ids=True
        )
        return lance_sql.open(path)
    return lance_sql.write(rows(DOCUMENTS), path, file_version=version, max_rows_per_file=1000)


def test_all_rows_have_their_documents(table: Dataset) -> None:
    found = table.scan(["v"]).to_table()["v"].to_pylist()
    assert values_of(found) == values_of(DOCUMENTS)
    assert all(
        text is None or text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        for text in found
    )


def test_rows_that_pass_have_their_documents(table: Dataset) -> None:
    values = values_of(DOCUMENTS)
    found = table.scan(["id", "v"], filter="id % 7 = 2 AND id > 500").to_table()
    assert values_of(found["v"].to_pylist()) == [values[row] for row in found["id"].to_pylist()]
    assert found["id"].to_pylist() == [row for row in range(501, NUM_ROWS) if row % 7 == 2]


def test_taken_rows_have_their_documents(table: Dataset) -> None:
    wanted, values = [2999, 3, 1500, 0, 1001], values_of(DOCUMENTS)
    found = table.take(wanted, columns=["v"])["v"].to_pylist()
    assert values_of(found) == [values[row] for row in wanted]


def test_null_is_found_without_documents(table: Dataset) -> None:
    missing = [row for row, text in enumerate(DOCUMENTS) if text is None]
    assert table.scan(["id"], filter="v IS NULL").to_table()["id"].to_pylist() == missing
    assert table.count_rows("v IS NOT NULL") == NUM_ROWS - len(missing)
    assert table.count_rows("v IS NULL OR id < 2") == len({0, 1, *missing})


def test_texts_are_compared_as_they_are_returned(table: Dataset) -> None:
    texts = table.scan(["v"]).to_table()["v"].to_pylist()
    for text in ("5", "null", texts[1], '{"no": 1}'):
        expected = [row for row, other in enumerate(texts) if other == text]
        quoted = text.replace("'", "''")
        assert table.scan(["id"], filter=f"v = '{quoted}'").to_table()["id"].to_pylist() == expected


@pytest.mark.parametrize("version", FILE_VERSIONS)
def test_documents_inside_others(tmp_path: Path, version: str) -> None:
    texts = documents(300)
    lists: list[Any] = [texts[row : row + row % 4] if row % 6 else None for row in range(300)]
    structs = [{"j": text, "n": row} for row, text in enumerate(texts)]
    schema = pa.schema(
        [
            pa.field("l", pa.list_(FIELD.with_name("item"))),
            pa.field("s", pa.struct([FIELD.with_name("j"), pa.field("n", pa.int64())])),
            pa.field("ll", pa.list_(pa.struct([FIELD.with_name("j")]))),
        ]
    )
    nested = [[{"j": text} for text in texts[row : row + row % 3]] for row in range(300)]
    given = pa.table({"l": lists, "s": structs, "ll": nested}, schema=schema)
    table = lance_sql.write(given, str(tmp_path / "t.lance"), file_version=version)
    for rows in (table.scan().to_table(), table.scan(limit=300, batch_size=37).to_table()):
        found = rows.to_pydict()
        assert [each and values_of(each) for each in found["l"]] == [each and values_of(each) for each in lists]
        assert values_of([each["j"] for each in found["s"]]) == values_of(texts)
        assert [values_of([item["j"] for item in each]) for each in found["ll"]] == [
            values_of([item["j"] for item in each]) for each in nested
        ]
    passing = table.scan(["l", "s"], filter="s.n % 3 = 1").to_table()
    assert values_of([each["j"] for each in passing["s"].to_pylist()]) == values_of(texts[1::3])
    taken = table.take([17, 4, 299], columns=["l"])["l"].to_pylist()
    assert [each and values_of(each) for each in taken] == [
        lists[row] and values_of(lists[row]) for row in (17, 4, 299)
    ]
    assert table.count_rows("s.j IS NULL") == texts.count(None)


@pytest.mark.parametrize("version", FILE_VERSIONS)
@pytest.mark.parametrize("way", ["stream", "filtered", "taken", "evaluated", "nested"])
@pytest.mark.parametrize(
    ("document", "error", "reason"),
    [
        ("2000000010000001ff", CorruptFile, "a JSON string is not UTF-8"),
        ("80000001", CorruptFile, "a JSON value of 4 bytes cannot have 1 entries"),
        ("20000000 20000001 10", UnsupportedFeature, "a JSON number of kind 0x10 with 0 bytes"),
    ],
)
def test_damage_is_found_with_its_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    way: str,
    document: str,
    error: type[LanceError],
    reason: str,
) -> None:
    def damaged(texts: pa.Array) -> pa.Array:
        documents = from_text(texts).to_pylist()
        documents[1234] = bytes.fromhex(document)
        return pa.array(documents, pa.large_binary())

    from_text = jsonb.from_text
    monkeypatch.setattr(jsonb, "from_text", damaged)
    given = rows(list(map(str, range(2000))))
    schema = given.schema.append(pa.field("s", pa.struct([FIELD.with_name("j")])))
    structs = pa.StructArray.from_arrays([given["v"].combine_chunks()], fields=[FIELD.with_name("j")])
    table = lance_sql.write(
        pa.Table.from_arrays([*given.columns, structs], schema=schema), str(tmp_path / "t.lance"), file_version=version
    )
    ways = {
        "stream": lambda: table.scan(["v"]).to_table(),
        "filtered": lambda: table.scan(["v"], filter="id >= 1000 AND id % 2 = 0").to_table(),
        "taken": lambda: table.take([5, 1234], columns=["v"]),
        "evaluated": lambda: table.scan(["id"], filter="v LIKE '12%4'").to_table(),
        "nested": lambda: table.scan(["s"]).to_table(),
    }
    place = rf"t\.lance.*\.lance.*column '?[vs]'?.*page 0.*{reason}"
    with pytest.raises(error, match=place) as caught:
        ways[way]()
    assert "\n" not in str(caught.value)
    assert table.count_rows("v IS NOT NULL") == 2000


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_documents_that_repeat_are_texts_in_engines(tmp_path: Path, version: str) -> None:
    texts = [None if row % 9 == 4 else json.dumps({"k": row % 5, "s": "ä"}) for row in range(3000)]
    values = pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts))
    table = lance_sql.write(pa.table({"id": range(3000), "j": values}), tmp_path / "t.lance", file_version=version)
    found = lance_sql.connect().execute(f"SELECT j FROM '{table.uri}' ORDER BY id").fetchall()
    assert values_of([text for (text,) in found]) == values_of(texts)
