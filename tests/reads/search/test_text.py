"""Searches for words: the same rows and scores as pylance, over tables that went through changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance.query import BooleanQuery, BoostQuery, FullTextOperator, MatchQuery, MultiMatchQuery, Occur, PhraseQuery

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.text_analysis.analyzer import Analyzer
from tests.seeds import seeds

TEXT = """
river apple running runs quick brown fox the a of Orders ordering café naïve Straße dogs dog hello world jumped jumps
easily weiß data x1 42 über
"""
WORDS = TEXT.split()


def texts(rng: np.random.Generator, count: int) -> list[str | None]:
    weights = 1 / np.arange(1, len(WORDS) + 1)
    found: list[str | None] = []
    for _ in range(count):
        if rng.random() < 0.03:
            found.append(None)
            continue
        size = int(rng.integers(0, 25))
        words = rng.choice(WORDS, size, p=weights / weights.sum())
        found.append("".join(f"{word}{rng.choice([' ', ', ', '. '])}" for word in words))
    return found


def rows(rng: np.random.Generator, first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table(
        {"id": ids, "grp": rng.integers(0, 1000, count), "other": np.zeros(count), "text": texts(rng, count)}
    )


QUERIES: list[tuple[Any, Any]] = [
    (MatchQuery("river", "text"), "river"),
    (MatchQuery("hello hello world", "text"), "hello hello world"),
    (MatchQuery("the quick FOX runs", "text"), "the quick FOX runs"),
    (
        MatchQuery("quick fox", "text", operator=FullTextOperator.AND),
        {"match": {"terms": "quick fox", "operator": "AND"}},
    ),
    (MatchQuery("cafe über nothing", "text"), "cafe über nothing"),
    (
        BooleanQuery([(Occur.MUST, MatchQuery("river", "text")), (Occur.SHOULD, MatchQuery("dog", "text"))]),
        {"boolean": {"must": [{"match": {"terms": "river"}}], "should": [{"match": {"terms": "dog"}}]}},
    ),
    (
        BoostQuery(MatchQuery("river fox", "text"), MatchQuery("dog", "text"), negative_boost=0.3),
        {
            "boost": {
                "positive": {"match": {"terms": "river fox"}},
                "negative": {"match": {"terms": "dog"}},
                "negative_boost": 0.3,
            }
        },
    ),
]
PHRASES: list[tuple[Any, Any]] = [
    (PhraseQuery("river apple", "text"), {"phrase": {"terms": "river apple"}}),
    (PhraseQuery("apple the running", "text"), {"phrase": {"terms": "apple the running"}}),
    (PhraseQuery("river apple", "text", slop=2), {"phrase": {"terms": "river apple", "slop": 2}}),
]


def compare(dataset: lance.LanceDataset, opened: lance_sql.Dataset, theirs: Any, ours: Any, filter: str | None) -> None:
    other = dataset.to_table(columns=["id", "_score"], full_text_query=theirs, filter=filter, prefilter=True)
    found = opened.search(text=ours, text_column="text", k=None, filter=filter, columns=["id"]).to_table()
    wanted = dict(zip(other["id"].to_pylist(), other["_score"].to_pylist(), strict=True))
    got = dict(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))
    assert got.keys() == wanted.keys()
    for row, score in got.items():
        # pylance adds the words of a document up in another order now and then
        assert score == pytest.approx(wanted[row], rel=1e-6, abs=0), row
    scores = found["_score"].to_pylist()
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("with_position", [False, True])
@seeds(range(1), range(1, 3))
def test_random_tables(tmp_path: Path, seed: int, with_position: bool) -> None:
    rng = np.random.default_rng([seed, with_position])
    path = tmp_path / "t.lance"
    dataset = lance.write_dataset(rows(rng, 0, 900), path, max_rows_per_file=400)
    dataset.create_scalar_index("text", "INVERTED", with_position=with_position)
    next_id = 900
    for _ in range(7):
        dataset = lance.dataset(path)
        match int(rng.integers(0, 6)):
            case 0:
                lance.write_dataset(rows(rng, next_id, 90), path, mode="append")
                next_id += 90
            case 1:
                dataset.delete(f"id % 17 = {rng.integers(0, 17)}")
            case 2:
                dataset.update({"text": "'the quick fox of river'"}, where=f"id % 31 = {rng.integers(0, 31)}")
            case 3:
                dataset.optimize.optimize_indices(num_indices_to_merge=0)
            case 4:
                dataset.optimize.optimize_indices(num_indices_to_merge=10)
            case _:
                dataset.optimize.compact_files(target_rows_per_fragment=1000)
        dataset = lance.dataset(path)
        opened = lance_sql.open(path)
        for theirs, ours in QUERIES + (PHRASES if with_position else []):
            for filter in (None, "grp < 300", "grp < 5"):
                compare(dataset, opened, theirs, ours, filter)


@pytest.mark.parametrize(
    "options",
    [
        {"stem": False, "remove_stop_words": False},
        {"lower_case": False, "ascii_folding": False},
        {"base_tokenizer": "whitespace", "max_token_length": 6},
        {"base_tokenizer": "raw", "stem": False},
        {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 3},
        {"base_tokenizer": "ngram", "prefix_only": True},
        {"language": "German"},
        {"custom_stop_words": ["river"]},
    ],
    ids=str,
)
def test_ways_to_take_texts_apart(tmp_path: Path, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(11)
    path = tmp_path / "t.lance"
    dataset = lance.write_dataset(rows(rng, 0, 500), path)
    dataset.create_scalar_index("text", "INVERTED", **options)
    if options.get("base_tokenizer") != "ngram":
        # of rows without an index, pylance counts an n-gram that the query has twice twice, and of others once
        lance.write_dataset(rows(rng, 500, 60), path, mode="append")
    dataset, opened = lance.dataset(path), lance_sql.open(path)
    for theirs, ours in QUERIES:
        compare(dataset, opened, theirs, ours, None)


def test_rows_without_an_index(tmp_path: Path) -> None:
    dataset = lance.write_dataset(rows(np.random.default_rng(12), 0, 400), tmp_path / "t.lance")
    opened = lance_sql.open(tmp_path / "t.lance")
    for theirs, ours in QUERIES[:4]:
        compare(dataset, opened, theirs, ours, None)
        compare(dataset, opened, theirs, ours, "grp < 300")


def test_several_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    table = rows(rng, 0, 400).append_column("title", pa.array(texts(rng, 400)))
    dataset = lance.write_dataset(table, tmp_path / "t.lance")
    for name in ("text", "title"):
        dataset.create_scalar_index(name, "INVERTED")
    opened = lance_sql.open(tmp_path / "t.lance")
    asked = {"multi_match": {"query": "river fox", "columns": ["text", "title"], "boosts": [1.0, 2.0]}}
    compare(dataset, opened, MultiMatchQuery("river fox", ["text", "title"], boosts=[1.0, 2.0]), asked, None)
    with pytest.raises(InvalidArgument, match=r"has several text columns \(text, title\)"):
        opened.search(text="river")


def small(path: Path, **options: Any) -> lance_sql.Dataset:
    table = pa.table({"id": [1, 2, 3, 4], "text": ["the quick fox", "a slow dog", "quick quick dogs", None]})
    dataset = lance.write_dataset(table, path, enable_stable_row_ids=True)
    dataset.create_scalar_index("text", "INVERTED", **options)
    return lance_sql.open(path)


def test_updated_rows_are_found_by_what_they_are_now(tmp_path: Path) -> None:
    dataset = small(tmp_path / "t.lance").update({"text": "'a river'"}, "id = 1")
    for _ in range(2):
        assert dataset.search(text="fox").count_rows() == 0
        assert dataset.search(text="river").to_table()["id"].to_pylist() == [1]
        assert dataset.search(text="dog", since=1).count_rows() == 0
        theirs = lance.dataset(tmp_path / "t.lance")
        theirs.optimize.optimize_indices(num_indices_to_merge=10)
        dataset = dataset.latest()
    assert lance_sql.open(dataset.uri, version=dataset.history()[0].version + 1).search(text="fox").count_rows() == 1


def test_words_that_are_alike(tmp_path: Path) -> None:
    dataset = small(tmp_path / "t.lance")
    assert dataset.search(text="quik").count_rows() == 0
    found = dataset.search(text={"match": {"terms": "quik", "fuzziness": 1}}).to_table()
    assert found["id"].to_pylist() == [3, 1]


def test_by_words_and_vectors(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.0, 0, 1, 0, 2, 0, 9, 0]), 2)
    table = pa.table({"id": [1, 2, 3, 4], "text": ["fox", "dog", "dog dog", "river"], "v": vectors})
    dataset = lance_sql.write(table, tmp_path / "t.lance")
    found = dataset.search([0, 0], text="dog", k=3, columns=["id"]).to_table()
    assert found.column_names == ["id", "_distance", "_score", "_hybrid_score"]
    assert found["id"].to_pylist()[0] == 3
    assert found["_score"].null_count == 1
    by_rank = dataset.search([0, 0], text="dog", k=4, fusion="rrf", columns=["id"]).to_table()
    expected = {1: 1 / 60, 2: 1 / 61 + 1 / 61, 3: 1 / 62 + 1 / 60, 4: 1 / 63}
    got = dict(zip(by_rank["id"].to_pylist(), by_rank["_hybrid_score"].to_pylist(), strict=True))
    assert got == pytest.approx(expected)
    with pytest.raises(InvalidArgument, match="neither linear nor rrf"):
        dataset.search([0, 0], text="dog", fusion="x")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"match": {"terms": "a"}, "phrase": {"terms": "b"}}, "must have one of"),
        ({"match": "a"}, "a dict of its parts"),
        ({"match": {"terms": 1}}, "words of a query must be text"),
        ({"match": {"terms": "a", "operator": "XOR"}}, "neither AND nor OR"),
        ({"match": {"terms": "a", "fuzzy": 1}}, "no part 'fuzzy'"),
        ({"match": {"terms": "a", "fuzziness": -1}}, "fuzziness=-1"),
        ({"boolean": {"must_not": [{"match": {"terms": "a"}}]}}, "add must or should"),
        ({"multi_match": {"query": "a"}}, "needs columns"),
    ],
)
def test_queries_that_make_no_sense(tmp_path: Path, query: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        small(tmp_path / "t.lance").search(text=query)


def test_unknown_content_is_refused(tmp_path: Path) -> None:
    dataset = small(tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match="'combined_fields'"):
        dataset.search(text={"combined_fields": {"query": "a"}})
    with pytest.raises(UnsupportedFeature, match="is int64, not text"):
        dataset.search(text="a", text_column="id")
    with pytest.raises(InvalidArgument, match="vector, text, or both"):
        dataset.search()
    lance.dataset(tmp_path / "t.lance").create_scalar_index("text", "INVERTED", base_tokenizer="icu", replace=True)
    with pytest.raises(UnsupportedFeature, match="tokenizer 'icu'"):
        dataset.latest().search(text="fox").to_table()


def test_damaged_indices_are_reported(tmp_path: Path) -> None:
    dataset = small(tmp_path / "t.lance")
    (file,) = (tmp_path / "t.lance").rglob("part_*_docs.lance")
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(lance_sql.CorruptFile, match=r"docs\.lance"):
        lance_sql.open(tmp_path / "t.lance").search(text="fox").to_table()
    assert lance_sql.open(dataset.uri).search(text="fox", use_index=False).count_rows() == 1


ANALYSES: list[dict[str, Any]] = [
    {"base_tokenizer": "simple"},
    {"base_tokenizer": "whitespace", "lower_case": False},
    {"base_tokenizer": "raw"},
    {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 3},
    {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 4, "prefix_only": True},
]


@pytest.mark.parametrize("options", ANALYSES, ids=str)
@given(text=st.text(st.sampled_from("aBc ÉŒß日本-_.,'\n\t🙂1"), max_size=30))
def test_words_are_found_where_they_are(options: dict[str, Any], text: str) -> None:
    analyzer = Analyzer.of(options)
    spans = list(analyzer.spans(text))
    assert [token for _, _, token in spans] == [token for _, token in analyzer.tokens(text)]
    assert all(0 <= start <= end <= len(text) for start, end, _ in spans)
