"""Texts of nst/JSONTestSuite: those that are JSON keep their values, others are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.format.schema import jsonb
from tests.documents import ROOT

FOLDER = os.environ.get("LANCE_SQL_FOREIGN_FILES")
TEXTS = sorted(Path(FOLDER, "JSONTestSuite", "test_parsing").glob("*.json")) if FOLDER else []

pytestmark = pytest.mark.skipif(
    not TEXTS, reason="LANCE_SQL_FOREIGN_FILES names no folder with nst/JSONTestSuite, see docs/testing.md"
)

TWICE = "a key occurs twice in one object"
REFUSED = {
    "a number beyond the range of doubles": "beyond the range of doubles",
    "a number with digits that a double does not have": "if these have all their digits",
    "half of a surrogate pair": "halves of surrogate pairs raise an error",
    "it is not UTF-8": "UTF-8 without escapes",
    "more than 200 levels": "up to 200 levels",
    # a byte order mark
    "a number that is not complete, or no value at all": "a byte order mark",
}
"""Reasons to refuse texts that a parser may refuse, with the words of docs/json.md."""


def stored(content: bytes) -> str | jsonb.InvalidJson:
    """Returns the text that comes back, or why it is refused."""
    buffers = [None, pa.py_buffer(np.array([0, len(content)], np.int64)), pa.py_buffer(content)]
    try:
        documents = jsonb.from_text(pa.Array.from_buffers(pa.large_string(), 1, buffers))
    except jsonb.InvalidJson as error:
        return error
    (text,) = jsonb.to_text(documents).to_pylist()
    return str(text)


def test_the_page_has_each_reason() -> None:
    page = " ".join((ROOT / "docs" / "json.md").read_text().split())
    assert all(words in page for words in REFUSED.values())


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_text_of_the_suite(path: Path) -> None:
    content = path.read_bytes()
    found = stored(content)
    if path.name.startswith("n_"):
        assert isinstance(found, jsonb.InvalidJson)
    elif isinstance(found, str):
        assert json.loads(found) == json.loads(content)
    elif path.name.startswith("y_"):
        assert found.reason == TWICE
    else:
        assert any(found.reason.startswith(reason) for reason in REFUSED), found.reason
