"""Files of search indices: whatever is in them, a search gives rows of the table, once each, or says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz import index_files
from fuzz.inputs import Values
from fuzz.mutations import damage, data_file_cuts, is_legacy
from lance_sql.search.scan import SearchScan
from tests.damaged import messages
from tests.damaged.tables import damaged

DIMENSION = 8
_WORDS: tuple[Any, ...] = (
    "text 3",
    {"match": {"terms": "txt three", "fuzziness": 2}},
    {"phrase": {"terms": "some text", "slop": 1}},
)


def read(values: Values) -> None:
    """Searches by the index.

    raises: LanceError
    """
    dataset = index_files.open_dataset(values, use_indices=True)
    if values["column"] == "v":
        query = np.arange(DIMENSION) % 5
        _check(dataset.search(query, k=7, nprobes=2, columns=["k"]))
        _check(dataset.search(query, k=3, refine_factor=2, filter="k > 20", columns=["k"]))
    else:
        for words in _WORDS:
            _check(dataset.search(text=words, k=9, columns=["k"]))


def _check(search: SearchScan) -> None:
    keys = search.to_table()["k"].to_pylist()
    assert len(keys) == len(set(keys)), f"a row twice: {keys}"


def mutate(rng: np.random.Generator, values: Values) -> Values:
    """Damaged bytes of an index file, damaged metadata of its pages, or valid files that say something else."""
    paths = sorted(path for path in values if path.startswith("_indices/"))
    path = str(rng.choice(paths))
    content = values[path]
    assert isinstance(content, bytes)
    chosen = rng.random()
    if chosen < 0.25 and not is_legacy(content):
        return {**values, path: messages.damage_columns(rng, content)}
    if chosen < 0.5:
        # texts, and the numbers of messages, lie at the end
        weights = np.ones(len(content))
        weights[-min(len(content), 1200) :] += 10
        return {**values, path: damaged(rng, content, weights / weights.sum())}
    if chosen < 0.75:
        weights = np.ones(len(content))
        for bound in data_file_cuts(content):
            weights[bound : bound + 16] += 10
        return {**values, path: damaged(rng, content, weights / weights.sum())}
    return {**values, path: damage(rng, content)}
