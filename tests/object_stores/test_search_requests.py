"""The number of requests of searches on a freshly opened table with unread indices."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from tests.object_stores.places import Place
from tests.object_stores.proxy import kinds

# of a word, two are of the file of lists: its end, in which the lengths of all lists are, and one list
MOST: Final = {"vector": 10, "word": 9}


@pytest.fixture(scope="module")
def uri(_place: Place) -> str:
    rng = np.random.default_rng(1)
    count, size = 250_000, 16
    words = np.array([f"word{number}" for number in range(5000)])
    rows = pa.table(
        {
            "id": np.arange(count),
            "v": pa.FixedSizeListArray.from_arrays(rng.normal(size=count * size).astype(np.float32), size),
            "text": [" ".join(row) for row in words[rng.integers(0, 5000, (count, 8))].tolist()],
        }
    )
    uri = _place.new_uri()
    table = lance_sql.write(rows, uri, storage_options=_place.options)
    table.indices.create("v", "ivf_pq", num_partitions=100, num_sub_vectors=8).indices.create("text", "inverted")
    return uri


def test_nearest_vectors(place: Place, uri: str) -> None:
    table = lance_sql.open(uri, storage_options=place.options)
    with place.proxy.counted() as seen:
        found = table.search([0.5] * 16, column="v", columns=["id"], nprobes=20).to_table()
    assert found.num_rows == 10
    assert sum(kinds(seen).values()) <= MOST["vector"], kinds(seen)


def test_a_word(place: Place, uri: str) -> None:
    table = lance_sql.open(uri, storage_options=place.options)
    with place.proxy.counted() as seen:
        found = table.search(text="word77", text_column="text", columns=["id"]).to_table()
    assert found.num_rows == 10
    assert sum(kinds(seen).values()) <= MOST["word"], kinds(seen)
