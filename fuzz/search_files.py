"""Files of search indices: with any contents, a search returns rows of the table, once each, or raises an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from fuzz import index_files
from fuzz.inputs import Values
from fuzz.mutations import damage, data_file_cuts, is_legacy
from lance_sql.dataset import Dataset
from lance_sql.reads.search.search_scan import SearchScan
from tests.damaged import messages
from tests.damaged.tables import damaged

DIMENSION = 8


def read(values: Values) -> None:
    """Searches by the index.

    raises: LanceError
    """
    _search(index_files.open_dataset(values, use_indices=True), values)


def _search(dataset: Dataset, values: Values) -> None:
    """One search of those that there are, or each."""
    searches = _VECTOR_SEARCHES if values["column"] == "v" else _TEXT_SEARCHES
    if values.get("is_ngram"):
        # n-grams have no order for a phrase
        searches = searches[:-1]
    chosen = values.get("search")
    for search in searches if chosen is None else (searches[int(chosen) % len(searches)],):
        search(dataset)


_QUERY: Final = np.arange(DIMENSION) % 5
_VECTOR_SEARCHES: Final[tuple[Callable[[Dataset], None], ...]] = (
    lambda dataset: _check(dataset.search(_QUERY, k=7, nprobes=2, columns=["k"])),
    lambda dataset: _check(dataset.search(_QUERY, k=3, refine_factor=2, filter="k > 20", columns=["k"])),
    # as many queries as there are, by the centroids together
    lambda dataset: _check_each(dataset.search([_QUERY, _QUERY + 1], k=2, columns=["k"])),
)
_TEXT_SEARCHES: Final[tuple[Callable[[Dataset], None], ...]] = tuple(
    partial(lambda words, dataset: _check(dataset.search(text=words, k=9, columns=["k"])), words)
    for words in (
        "text 3",
        {"match": {"terms": "txt three", "fuzziness": 2}},
        {"phrase": {"terms": "some text", "slop": 1}},
    )
)


_TEXTS: Final[tuple[str, dict[str, Any]]] = ("inverted", {"stem": False})
_CODED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("ivf_rq", {"num_partitions": 3, "num_bits": 3}),
    ("ivf_pq", {"num_partitions": 3, "num_sub_vectors": 4}),
)


def build(values: Values) -> None:
    """Adds a segment to the index, or makes it anew; what it is made of may be damaged as well.

    raises: LanceError
    """
    dataset = index_files.open_dataset(values, use_indices=True)
    data = values.get("data")
    if isinstance(data, int):
        # vectors and texts that are other ones, or none
        kind, options = _TEXTS if values["column"] == "s" else _CODED[data % len(_CODED)]
        dataset = dataset.indices.drop(dataset.indices.list()[0].name).indices.create(
            str(values["column"]), kind, **options
        )
        assert not any(each.num_uncovered for each in dataset.indices.list())
        return
    _search(dataset.indices.optimize(), values)


def damage_source(rng: np.random.Generator, values: Values) -> Values:
    """A damaged index file, or damaged data."""
    if rng.random() < 0.7:
        return mutate(rng, values)
    path = str(rng.choice(sorted(path for path in values if path.startswith("data/"))))
    content = values[path]
    assert isinstance(content, bytes)
    # pages are at the beginning
    weights = np.ones(len(content))
    weights[: len(content) // 2] += 3
    return {**values, path: damaged(rng, content, weights / weights.sum()), "data": int(rng.integers(1, 3))}


def _check(search: SearchScan) -> None:
    keys = search.to_table()["k"].to_pylist()
    assert len(keys) == len(set(keys)), f"a row twice: {keys}"


def _check_each(search: SearchScan) -> None:
    found = search.to_table()
    pairs = list(zip(found["query_index"].to_pylist(), found["k"].to_pylist(), strict=True))
    assert len(pairs) == len(set(pairs)), f"a row twice: {pairs}"


def mutate(rng: np.random.Generator, values: Values) -> Values:
    """Damaged bytes of an index file or damaged metadata of its pages, and which search goes by it."""
    return {**_damage(rng, values), "search": int(rng.integers(6))}


def _damage(rng: np.random.Generator, values: Values) -> Values:
    paths = sorted(path for path in values if path.startswith("_indices/"))
    path = str(rng.choice(paths))
    content = values[path]
    assert isinstance(content, bytes)
    chosen = rng.random()
    if chosen < 0.25 and not is_legacy(content):
        return {**values, path: messages.damage_columns(rng, content)}
    if chosen < 0.5:
        # texts, and the numbers of messages, are at the end
        weights = np.ones(len(content))
        weights[-min(len(content), 1200) :] += 10
        return {**values, path: damaged(rng, content, weights / weights.sum())}
    if chosen < 0.75:
        weights = np.ones(len(content))
        for bound in data_file_cuts(content):
            weights[bound : bound + 16] += 10
        return {**values, path: damaged(rng, content, weights / weights.sum())}
    return {**values, path: damage(rng, content)}
