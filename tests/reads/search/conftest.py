"""Tables to search, for all surfaces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lance_sql


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """100 rows, of which the second version has changed three; row i is at (i, 0)."""
    values = np.stack([np.arange(100), np.zeros(100)], axis=1).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), 2)
    table = pa.table({"id": np.arange(100), "kind": ["a", "b"] * 50, "v": vectors})
    folder = tmp_path_factory.mktemp("search") / "t.lance"
    dataset = lance_sql.write(table, folder, stable_row_ids=True)
    dataset.tags.create("first", 1)
    dataset.update({"id": "id + 1000"}, "id BETWEEN 10 AND 12")
    return str(folder)


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> str:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8.0)), 2)
    texts = ["the quick fox", "a slow dog", "quick quick dogs", "rivers"]
    folder = tmp_path_factory.mktemp("search") / "articles.lance"
    dataset = lance_sql.write(pa.table({"id": [1, 2, 3, 4], "body": texts, "v": vectors}), folder, stable_row_ids=True)
    dataset.update({"body": "'a quick river'"}, "id = 2")
    return str(folder)
