"""Conditions of queries on members of JSON, pushed to scans: random documents, paths and operators, against DuckDB's
functions of JSON over a table of its own with the texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.one_sql import narrowing
from lance_sql.providers.sources import Source
from tests.json_documents import FIELD, MISSING, document, quoted, rows_of

KEYS = ("a", "b", "é", "k y", "a.b", "0", 'q"t', "A", "", "$", "a*")
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, 7, -7, 7.0, 7.5, -0.0, 1e-5, 1e22, 1e300, 123456789.5, 2**53 + 1, 2**64 - 1, -(2**63),
    "", "7", "7.0", "x", "true", "null", "é", 'q"\\\n\u001f/', " 7", "[1]", "{}", "1e22", "2024-01-01", "abc",
)  # fmt: skip
NUM_DOCUMENTS = 150


def write(path: Path, seed: int) -> tuple[Dataset, pa.Table]:
    draw = random.Random(seed)
    documents = [MISSING if draw.random() < 0.05 else document(draw, KEYS, SCALARS) for _ in range(NUM_DOCUMENTS)]
    table = lance_sql.write(rows_of(documents), str(path))
    return table, table.scan(["id", "v"]).to_table()


def path(draw: random.Random) -> str:
    """A path as users type it, of a kind that may be pushed or not."""
    steps = [draw.choice(("a", "b", "é", "k y", "a.b", "0", "A", "")) for _ in range(draw.choice([1, 1, 2]))]
    forms = [
        quoted(steps[0]),
        quoted("$." + ".".join(steps)),
        quoted("$" + "".join(f'."{step}"' for step in steps)),
        quoted("$" + "".join(f'["{step}"]' for step in steps)),
        quoted(f"$.{steps[0]}[{draw.randrange(3)}]"),
        quoted(f"${draw.choice(['[0]', '[1].a', '[#-1]', '.*', '.a*', ''])}"),
        quoted("/" + "/".join(steps)),
        str(draw.randrange(-2, 3)),
    ]
    return draw.choice(forms[:5] if draw.random() < 0.8 else forms)


def member(draw: random.Random) -> str:
    at = path(draw)
    forms = [f"(v->>{at})", f"json_extract_string(v, {at})", f"(v->{at})", f"json_extract(v, {at})"]
    forms.append(f"(v->{path(draw)}->>{at})")
    return draw.choice(forms)


def condition(draw: random.Random) -> str:
    constants = [quoted(each) for each in ("7", "x", "7.0", "1e22", "true", "null", "", "abc", "[1]", "-7", "é", '"x"')]
    one = draw.choice(constants)
    forms = [
        lambda: f"{member(draw)} {draw.choice(['=', '=', '=', '<>', '<', '>='])} {one}",
        lambda: f"{one} = {member(draw)}",
        lambda: f"{member(draw)} IN ({', '.join(draw.sample(constants, 2))})",
        lambda: f"{member(draw)} IS {draw.choice(['', 'NOT '])}NULL",
        lambda: f"TRY_CAST({member(draw)} AS {draw.choice(['INTEGER', 'DOUBLE', 'BOOLEAN'])}) = 7",
        lambda: f"TRY_CAST({member(draw)} AS INTEGER) IS {draw.choice(['', 'NOT '])}NULL",
        lambda: f"{member(draw)}::VARCHAR LIKE 'x%'",
        lambda: f"{member(draw)} BETWEEN '1' AND '8'",
        lambda: f"json_exists(v, {path(draw)})",
    ]
    made = draw.choice(forms)()
    kind = draw.random()
    if kind < 0.15:
        return f"NOT ({made})"
    if kind < 0.3:
        return f"{made} {draw.choice(['AND', 'OR'])} {draw.choice(forms)()}"
    return f"{made} AND id % 2 = 0" if kind < 0.4 else made


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The filters that queries pushed to scans."""
    filters: list[str] = []
    original = narrowing._filtered

    def recorded(source: Source, where: str | None) -> Source:
        made = original(source, where)
        filters.extend([made.where] if made.where is not None else [])
        return made

    monkeypatch.setattr(narrowing, "_filtered", recorded)
    return filters


def check(folder: Path, seed: int, count: int, pushed: list[str]) -> None:
    table, texts = write(folder / "t.lance", seed)
    with duckdb.connect() as own:
        own.register("texts", texts)
        own.execute("CREATE TABLE t AS FROM texts")
        draw, num_answers = random.Random(seed), 0
        for _ in range(count):
            text = condition(draw)
            try:
                expected = [row for (row,) in own.execute(f"SELECT id FROM t WHERE {text} ORDER BY id").fetchall()]
            except duckdb.Error:
                continue
            query = f"SELECT id FROM '{table.uri}' WHERE {text} ORDER BY id"
            assert lance_sql.sql(query).to_table()["id"].to_pylist() == expected, (seed, text)
            num_answers += 1
    assert num_answers > count // 2
    assert num_answers // 3 < len(pushed) < num_answers


@pytest.mark.parametrize("seed", range(2))
def test_conditions_on_members_have_the_meaning_of_duckdb(tmp_path: Path, seed: int, pushed: list[str]) -> None:
    check(tmp_path, seed, 60, pushed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_many_conditions_on_members(tmp_path: Path, seed: int, pushed: list[str]) -> None:
    check(tmp_path, seed, 300, pushed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v->>'a' = '7'", """(json_extract_string("v", '$.a') IN ('7'))"""),
        ("V->>'$.a' IN ('x', '7')", """(json_extract_string("v", '$.a') IN ('x', '7'))"""),
        ("'x' = json_extract_string(v, '$.a[0].b')", """(json_extract_string("v", '$.a[0].b') IN ('x'))"""),
        ("v->>'a.b' = 'x'", """(json_extract_string("v", '$."a.b"') IN ('x'))"""),
        ("v->'a'->>0 = 'x'", """(json_extract_string("v", '$.a[0]') IN ('x'))"""),
        ("json_extract(v, '$.a') = '7'", """(json_extract("v", '$.a') IN ('7'))"""),
        ("json_exists(v, '$.a')", """json_exists("v", '$.a')"""),
        ("v->>'a' IS NULL", """(json_extract_string("v", '$.a') IS NULL)"""),
        ("v->>'a' = 'x' AND id = 3", """(json_extract_string("v", '$.a') IN ('x'))"""),
        ("v->>'a' = 'x' OR id = 3", """((json_extract_string("v", '$.a') IN ('x')) OR ("id" = 3))"""),
        # weaker ones
        ("(v->>'a')::INT > 3", """(json_extract_string("v", '$.a') IS NOT NULL)"""),
        ("v->>'a' = '7.0'", """(json_extract_string("v", '$.a') IS NOT NULL)"""),
        ("v->>'a' LIKE 'x%'", """(json_extract_string("v", '$.a') IS NOT NULL)"""),
        ("v->>'a' <> '7'", """(json_extract_string("v", '$.a') IS NOT NULL)"""),
        ("NOT (v->>'a') = '7'", """(json_extract_string("v", '$.a') IS NOT NULL)"""),
        # nothing
        ("NOT (v->>'a' = '7' OR coalesce(v->>'b', 'x') = 'x')", None),
        ("TRY_CAST(v->>'a' AS INT) IS NULL", None),
        ("coalesce(v->>'a', '7') = '7'", None),
        ("v->>'/a' = '7'", None),
        ("(v->>'$.*') = ['7']", None),
        ("v->>-1 = '7'", None),
        ("t->>'a' = '7'", None),
        ("v->>t = '7'", None),
        ("v->>'a' = t", None),
        ("v->>'a' = 'x' OR (v->>'b') || 'x' = 'y'", None),
    ],
)
def test_what_is_pushed(tmp_path: Path, text: str, expected: str | None, pushed: list[str]) -> None:
    schema = pa.schema([("id", pa.int64()), FIELD, ("t", pa.string())])
    rows = pa.table({"id": [1, 2], "v": ['{"a": 7}', None], "t": ['{"a": 1}', "[]"]}, schema=schema)
    table = lance_sql.write(rows, str(tmp_path / "t.lance"))
    lance_sql.sql(f"SELECT id FROM '{table.uri}' AS s WHERE {text}").to_table()
    assert pushed == ([] if expected is None else [expected])


def test_filters_of_one_table_leave_another_whole(tmp_path: Path, pushed: list[str]) -> None:
    schema = pa.schema([("id", pa.int64()), FIELD])
    texts = ['{"a": 7}', '{"a": 8}', None]
    table = lance_sql.write(pa.table({"id": [1, 2, 3], "v": texts}, schema=schema), str(tmp_path / "t.lance"))
    queries: dict[str, list[int | None]] = {
        f"SELECT a.id FROM '{table.uri}' a, '{table.uri}' b WHERE a.v->>'a' = '7' ORDER BY 1": [1, 1, 1],
        f"SELECT b.id FROM '{table.uri}' a LEFT JOIN '{table.uri}' b ON a.id = b.id AND (b.v->>'a') = '7' ORDER BY 1": [
            1,
            None,
            None,
        ],
        f"WITH c AS (FROM '{table.uri}') SELECT id FROM c WHERE v->>'a' = '8'": [2],
        f"SELECT id FROM (SELECT * FROM '{table.uri}' ORDER BY id DESC LIMIT 2) WHERE v->>'a' = '7'": [],
        f"SELECT id FROM '{table.uri}' QUALIFY row_number() OVER (ORDER BY id) = 2 AND (v->>'a') = '8'": [2],
        f"SELECT count(*) FILTER (WHERE v->>'a' = '7') AS id FROM '{table.uri}'": [1],
        f"SELECT id FROM '{table.uri}' WHERE v->>'a' = '7' UNION ALL SELECT id FROM '{table.uri}' ORDER BY 1": [
            1,
            1,
            2,
            3,
        ],
    }
    for query, expected in queries.items():
        found = lance_sql.sql(query).to_table()["id"].to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, expected)), query
    assert len(pushed) >= 4
