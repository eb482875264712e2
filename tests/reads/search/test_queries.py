"""Queries as values: each finds the rows that the keywords of `Dataset.search` find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    random = np.random.default_rng(3)
    words = random.choice(["fox", "dog", "quick", "lazy"], (300, 4))
    vectors = random.normal(size=300 * 8).astype("float32")
    rows = {
        "id": np.arange(300),
        "body": [" ".join(row) for row in words],
        "v": pa.FixedSizeListArray.from_arrays(vectors, 8),
    }
    table = lance_sql.write(pa.table(rows), tmp_path_factory.mktemp("queries") / "articles.lance")
    return table.indices.create("body", "inverted").indices.create("v", "ivf_flat", num_partitions=4)


QUERY = np.linspace(-1, 1, 8).tolist()


@pytest.mark.parametrize(
    ("values", "keywords"),
    [
        ([lance_sql.nearest(QUERY)], {"vector": QUERY}),
        ([QUERY], {"vector": QUERY}),
        ([lance_sql.nearest(QUERY, "v", metric="cosine")], {"vector": QUERY, "column": "v", "metric": "cosine"}),
        ([lance_sql.nearest(QUERY, nprobes=1)], {"vector": QUERY, "nprobes": 1}),
        ([lance_sql.nearest(QUERY, use_index=False)], {"vector": QUERY, "use_index": False}),
        ([lance_sql.nearest(QUERY, distance_range=(2.0, 6.0))], {"vector": QUERY, "distance_range": (2.0, 6.0)}),
        ([lance_sql.words("quick fox")], {"text": "quick fox"}),
        ([lance_sql.words("quick", "body", use_index=False)], {"text": "quick", "use_index": False}),
        ([lance_sql.words("fox"), lance_sql.nearest(QUERY)], {"text": "fox", "vector": QUERY}),
        ([lance_sql.nearest(QUERY), lance_sql.words("fox")], {"text": "fox", "vector": QUERY}),
    ],
)
@pytest.mark.parametrize("k", [1, 7])
def test_values_find_what_keywords_find(
    articles: lance_sql.Dataset, values: list[Any], keywords: dict[str, Any], k: int
) -> None:
    expected = articles.search(k=k, **keywords).to_table()
    assert articles.search(*values, k=k).to_table().equals(expected)
    assert expected.num_rows == k


def test_a_value_is_used_for_several_tables(articles: lance_sql.Dataset, tmp_path: Path) -> None:
    query = lance_sql.words("fox")
    other = lance_sql.write({"note": ["no", "a fox"]}, tmp_path / "notes.lance")
    assert other.search(query).to_table()["note"].to_pylist() == ["a fox"]
    assert articles.search(query, k=None).count_rows() > 10


@pytest.mark.parametrize("method", ["search", "search_changes"])
def test_two_queries_of_a_kind(articles: lance_sql.Dataset, method: str) -> None:
    since = {} if method == "search" else {"since": 1}
    for queries, keywords in (
        ([lance_sql.nearest(QUERY), QUERY], {}),
        ([lance_sql.words("a"), lance_sql.words("b")], {}),
        ([QUERY], {"vector": QUERY}),
        ([lance_sql.words("a")], {"text": "b"}),
    ):
        with pytest.raises(InvalidArgument, match="one vector and one text"):
            getattr(articles, method)(*queries, **keywords, **since)


def test_arguments_of_a_value_belong_to_it(articles: lance_sql.Dataset) -> None:
    with pytest.raises(InvalidArgument, match=r"pass metric to nearest\(\) or words\(\)"):
        articles.search(lance_sql.nearest(QUERY), metric="dot")
    with pytest.raises(TypeError, match="Did you mean 'metric'"):
        articles.search(QUERY, metrics="dot")  # type: ignore[call-arg]  # misspelled
    with pytest.raises(InvalidArgument, match="pass a vector, text, or both"):
        articles.search()


def test_changes_of_a_result_are_exact_by_default(articles: lance_sql.Dataset) -> None:
    changed = articles.delete("id % 3 = 0")
    exact = changed.search_changes(lance_sql.nearest(QUERY), since=articles.version, k=5).to_table()
    assert exact.equals(changed.search_changes(QUERY, since=articles.version, k=5, use_index=False).to_table())
    plan = changed.search_changes(lance_sql.nearest(QUERY, use_index=True), since=articles.version, k=5).explain()
    assert "v_idx" in plan
