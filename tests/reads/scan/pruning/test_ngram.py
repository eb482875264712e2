"""N-gram indices of pylance: which texts may have a text in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.format.index_files.ngram import trigrams

ALPHABET = "abcABC019 -%_\u00e9\u00df\u0130\u212a\u00c6\u0391\u4e2de\u0301\U0001f600\ufb01"


def written(path: Path, texts: list[str | None], **options: Any) -> lance_sql.Dataset:
    """A table of the texts, with an index on them."""
    table = pa.table({"s": pa.array(texts, pa.string()), "k": range(len(texts))})
    lance.write_dataset(table, path, **options)
    lance.dataset(path).create_scalar_index("s", "NGRAM")
    return lance_sql.open(path)


def check(path: Path, condition: str) -> None:
    found = lance_sql.open(path).scan(["k"], condition).to_table()
    assert found.equals(lance_sql.open(path, use_indices=False).scan(["k"], condition).to_table()), condition


def candidates(path: Path, condition: str) -> int:
    return lance_sql.open(path).scan(["k"], condition).plan.num_candidates


@pytest.fixture(scope="module", params=[False, True], ids=["addresses", "row ids"])
def words(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of three fragments, of which some were deleted, updated and appended since the index was built."""
    path = tmp_path_factory.mktemp("words") / "t"
    texts = [None if i % 17 == 3 else f"Row {i} of City{i % 40:03d}-Street" for i in range(600)]
    written(path, texts, max_rows_per_file=200, enable_stable_row_ids=request.param)
    table = lance.dataset(path)
    table.delete("k % 7 = 2")
    table.update({"s": "'now in city005'"}, "k = 31")
    table.insert(pa.table({"s": ["new in city005", None], "k": [600, 601]}))
    return path


@pytest.mark.parametrize(
    ("condition", "at_most"),
    [
        ("contains(s, 'City005')", 30),
        ("s LIKE '%City005-%'", 30),
        ("s LIKE 'Row 5%City005%'", 30),
        ("s = 'Row 5 of City005-Street'", 30),
        ("s IN ('Row 5 of City005-Street', 'Row 6 of City006-Street')", 40),
        ("ends_with(s, 'City005-Street')", 30),
        ("contains(s, 'City005') AND contains(s, 'Row 4')", 30),
        ("contains(s, 'City005') OR contains(s, 'City006')", 50),
        ("contains(s, 'nowhere')", 5),
        (r"s LIKE '%City\_005%' ESCAPE '\'", 30),
        ("contains(s, 'of') OR contains(s, 'City005')", 700),
        ("contains(s, 'Ci')", 700),
        ("NOT contains(s, 'City005')", 700),
        ("s IS NULL", 700),
        ("s > 'City005'", 700),
    ],
)
def test_rows_without_the_trigrams_are_ruled_out(words: Path, condition: str, at_most: int) -> None:
    check(words, condition)
    assert candidates(words, condition) <= at_most
    if at_most < 700:
        assert "s_idx (ngram)" in lance_sql.open(words).scan(["k"], condition).explain()


def test_texts_too_short_for_a_trigram_ask_for_nothing() -> None:
    assert trigrams("ab") == trigrams("a-b-c") == trigrams("\u00e9\u00e9\u00e9") == []
    assert trigrams("xABC") == trigrams("xabc")
    assert 15516 in trigrams("x-abc")
    # a sign whose lower case is a k is no letter here
    assert trigrams("a\u212ab") == []


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), stable=st.booleans())
def test_no_row_is_lost(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, stable: bool) -> None:
    path = tmp_path_factory.mktemp("texts") / "t"
    some = st.text(ALPHABET, max_size=12)
    texts = data.draw(st.lists(st.none() | some, min_size=1, max_size=30))
    written(path, texts, max_rows_per_file=10, enable_stable_row_ids=stable)
    known = [text for text in texts if text] or ["abc"]
    for _ in range(8):
        text = data.draw(st.sampled_from(known))
        first = data.draw(st.integers(0, len(text)))
        part = data.draw(st.just(text[first : first + data.draw(st.integers(1, 6))]) | some)
        for condition in (f"contains(s, '{part}')", f"s LIKE '%{part}%'", f"s = '{part}'", f"starts_with(s, '{part}')"):
            check(path, condition)


def test_many_texts_are_not_looked_up(words: Path) -> None:
    """The lists of each would be read: reading the column takes less time."""
    few, many = (
        ", ".join(f"'Row {i} of City{i % 40:03d}-Street'" for i in range(start, start + count))
        for start, count in ((4, 10), (4, 300))
    )
    for listed in (few, many):
        check(words, f"s IN ({listed})")
    assert candidates(words, f"s IN ({few})") < 200 < candidates(words, f"s IN ({many})")
