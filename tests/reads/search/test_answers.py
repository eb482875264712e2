"""Changes of a result between two versions, compared with both results and the rows of both versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, VersionNotFound

WORDS = ("fox", "dog", "river", "stone", "quick", "slow")


def rows(rng: np.random.Generator, first: int, count: int) -> pa.Table:
    values = rng.integers(0, 9, (count, 3)).astype(np.float32)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(count)]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), 3)
    return pa.table({"id": np.arange(first, first + count), "grp": rng.integers(0, 3, count), "v": vectors, "s": texts})


def table(path: Path, rng: np.random.Generator) -> lance_sql.Dataset:
    """Six commits over 60 rows."""
    dataset = lance_sql.write(rows(rng, 0, 60), path, stable_row_ids=True, max_rows_per_file=25)
    dataset = lance_sql.write(rows(rng, 60, 10), dataset, mode="append")
    dataset = dataset.delete("id % 7 = 3")
    changed = rows(rng, 20, 15)
    dataset = dataset.merge(changed, on="id", when_matched="update", when_not_matched="ignore")
    dataset = dataset.update({"grp": "grp + 1"}, "id % 5 = 0")
    dataset = dataset.restore(2)
    dataset = dataset.update({"s": "'quick stone quick stone'"}, "id < 4")
    return dataset.maintenance.compact()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    """A table that no test changes."""
    return table(tmp_path_factory.mktemp("answers") / "t.lance", np.random.default_rng(3))


def expected(dataset: lance_sql.Dataset, since: int, **asked: Any) -> set[tuple[Any, ...]]:
    """From both answers and every row of both versions."""
    number = "_distance" if "vector" in asked else "_score"
    before = lance_sql.open(dataset.uri, version=since)
    answers, images = [], []
    for each in (before, dataset):
        found = each.search(columns=["_rowid", number], use_index=False, **asked).to_table()
        answers.append(dict(zip(found["_rowid"].to_pylist(), found[number].to_pylist(), strict=True)))
        every = each.scan([*each.schema.names, "_rowid"]).to_table().to_pylist()
        images.append({row.pop("_rowid"): row for row in every})
    told = set()
    for row_id in answers[0].keys() | answers[1].keys():
        was, now = images[0].get(row_id), images[1].get(row_id)
        row_change = "insert" if was is None else "delete" if now is None else "update" if was != now else None
        known = answers[0].get(row_id), answers[1].get(row_id)
        match row_id in answers[0], row_id in answers[1]:
            case True, True:
                change = "changed" if row_change else None
            case True, False:
                change = "gone"
            case _:
                change = "new"
        if change:
            image = was if change == "gone" else now
            assert image is not None
            told.add((image["id"], image["s"], change, row_change, known[1], known[0]))
    return told


@pytest.mark.parametrize("since", range(1, 9))
@pytest.mark.parametrize(
    "asked",
    [
        {"vector": [4, 4, 4], "k": 9},
        {"vector": [4, 4, 4], "k": None, "distance_range": (0, 12)},
        {"vector": [4, 4, 4], "k": 5, "filter": "grp = 1"},
        {"text": "fox", "k": None},
        {"text": "quick stone", "k": 6},
        {"text": {"match": {"terms": "slow dog", "operator": "AND"}}, "k": None, "filter": "id < 40"},
    ],
    ids=str,
)
def test_both_answers_are_compared(shared: lance_sql.Dataset, since: int, asked: dict[str, Any]) -> None:
    number = "_distance" if "vector" in asked else "_score"
    found = shared.search_changes(since=since, **asked).to_table()
    names = ["id", "s", "_change", "_row_change", number, f"_previous{number}"]
    got = [tuple(row[name] for name in names) for row in found.to_pylist()]
    assert len(got) == len(set(got))
    assert set(got) == expected(shared, since, **asked)
    if since == 4 or (since == 1 and "match" not in str(asked)):
        assert got, "nothing changed, and nothing was tested"
    # the best rows of now come first, then those that are gone
    kinds = [row[2] == "gone" for row in got]
    assert kinds == sorted(kinds)


def test_the_table_may_have_begun_since(tmp_path: Path) -> None:
    dataset = table(tmp_path / "t.lance", np.random.default_rng(4))
    found = dataset.search_changes(text="fox", since=0, k=None).to_table()
    now = dataset.search(text="fox", k=None, columns=["id"]).to_table()
    assert found["id"].to_pylist() == now["id"].to_pylist()
    assert set(found["_row_change"].to_pylist()) == {"insert"}
    assert set(found["_previous_score"].to_pylist()) == {None}
    assert dataset.search_changes(text="fox", since=dataset.version).to_table().num_rows == 0


def test_columns_filters_and_limits(tmp_path: Path) -> None:
    dataset = table(tmp_path / "t.lance", np.random.default_rng(5))
    asked = dataset.search_changes([4, 4, 4], since=2, k=20, columns=["s", "id"])
    every = asked.to_table()
    assert every.schema.names == ["s", "id", "_change", "_row_change", "_distance", "_previous_distance"]
    assert asked.count_rows() == every.num_rows
    changes = asked.changes
    wanted = [row["id"] for row in every.to_pylist() if row["_change"] != "new" and row["id"] < 50]
    assert changes.scan(["id"], "_change <> 'new' AND id < 50").to_table()["id"].to_pylist() == wanted
    assert changes.scan(["_change"], limit=2).to_table() == every.select(["_change"]).slice(0, 2)
    assert changes.scan([], "_distance IS NULL").count_rows() == every["_distance"].null_count
    assert "now: search of" in asked.explain()
    with pytest.raises(InvalidArgument, match="selected twice"):
        changes.scan(["id", "id"])


def test_columns_that_earlier_versions_had_otherwise(tmp_path: Path) -> None:
    dataset = lance_sql.write(
        {"id": pa.array([1, 2, 3], pa.int32()), "word": ["a fox", "a dog", "fox"]}, tmp_path / "t.lance"
    )
    dataset = dataset.alter_column("id", type=pa.int64()).add_columns({"more": "id * 2"})
    dataset = dataset.delete("id = 3").rename_columns({"id": "key"})
    found = dataset.search_changes(text="fox", since=1).to_table().to_pylist()
    assert [(row["key"], row["more"], row["word"], row["_change"]) for row in found if row["_change"] == "gone"] == [
        (3, None, "fox", "gone")
    ]


def test_invalid_requests_are_refused(tmp_path: Path) -> None:
    plain = lance_sql.write({"id": [1], "s": ["fox"]}, tmp_path / "plain.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match="without stable row ids"):
        plain.search_changes(text="fox", since=1)
    dataset = table(tmp_path / "t.lance", np.random.default_rng(6))
    with pytest.raises(InvalidArgument, match="one query at a time"):
        dataset.search_changes([[1, 2, 3], [4, 5, 6]], since=1)
    with pytest.raises(VersionNotFound):
        dataset.search_changes(text="fox", since="no-such-tag")
    with pytest.raises(InvalidArgument, match="a vector, text, or both"):
        dataset.search_changes(since=1)
    taken = lance_sql.write({"_change": [1], "s": ["fox"]}, tmp_path / "taken.lance", stable_row_ids=True)
    with pytest.raises(InvalidArgument, match="_change"):
        taken.search_changes(text="fox", since=0)


@pytest.mark.parametrize("engine", ["connection", "duckdb", "datafusion"])
def test_in_sql(tmp_path: Path, engine: str) -> None:
    dataset = table(tmp_path / "t.lance", np.random.default_rng(7))

    def ids(arguments: str) -> list[tuple[Any, ...]]:
        sql = f"SELECT id, _change FROM lance_search_changes('{dataset.uri}', {arguments}) WHERE _change <> 'changed'"
        if engine == "connection":
            return sorted(lance_sql.connect().execute(sql).fetchall())
        return sorted((row["id"], row["_change"]) for row in lance_sql.sql(sql, engine=engine).to_table().to_pylist())

    def wanted(**asked: Any) -> list[tuple[Any, ...]]:
        found = dataset.search_changes(**asked).to_table().to_pylist()
        return sorted((row["id"], row["_change"]) for row in found if row["_change"] != "changed")

    assert ids("2, text_column := 's', query := 'fox', k := NULL") == wanted(text="fox", since=2, k=None)
    found = ids("3, vector_column := 'v', vector := [4, 4, 4], k := 7, filter := 'grp < 2'")
    assert found == wanted(vector=[4, 4, 4], since=3, k=7, filter="grp < 2")
    found = ids("3, vector_column := 'v', vector := [4, 4, 4], text_column := 's', query := 'dog', alpha := 0.25")
    assert found == wanted(vector=[4, 4, 4], text="dog", text_column="s", since=3, alpha=0.25)
    with pytest.raises(Exception, match="needs both"):
        ids("2, query := 'fox'")
    with pytest.raises(Exception, match="needs a version"):
        ids("NULL, text_column := 's', query := 'fox'")


def test_on_the_command_line(tmp_path: Path) -> None:
    from lance_sql.cli.main import main

    dataset = table(tmp_path / "t.lance", np.random.default_rng(8))
    arguments = ["search", dataset.uri, "fox", "--changes-since", "2", "-k", "50", "--output", "csv"]
    made = CliRunner().invoke(main, arguments)
    assert made.exit_code == 0, made.output
    wanted = dataset.search_changes(text="fox", since=2, k=50).to_table()
    assert made.output.splitlines()[0] == "id,grp,s,_change,_row_change,_score,_previous_score"
    assert len(made.output.splitlines()) == wanted.num_rows + 1
    wrong = CliRunner().invoke(main, [*arguments, "--since", "1"])
    assert wrong.exit_code == 2
    assert "--changes-since" in wrong.output


def test_it_is_a_relation(tmp_path: Path) -> None:
    import pickle

    dataset = table(tmp_path / "t.lance", np.random.default_rng(9))
    changes = dataset.search_changes([4, 4, 4], since=2).changes
    again = pickle.loads(pickle.dumps(changes))
    assert again.scan().to_table() == changes.scan().to_table()
    assert issubclass(InvalidArgument, LanceError)
