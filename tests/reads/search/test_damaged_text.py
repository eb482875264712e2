"""Damaged metadata of full-text indices: rejected with the reason, and no size is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.index_files.token_fst import TokenFst
from lance_sql.format.text_analysis.analyzer import Analyzer


@pytest.mark.parametrize(
    "parameters",
    [{"min_ngram_length": "x"}, {"max_ngram_length": -1}, {"max_token_length": True}, {"custom_stop_words": 5}],
    ids=str,
)
def test_parameters_of_other_types(parameters: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match=next(iter(parameters)).replace("custom_", "").replace("_words", " words")):
        Analyzer.of({"stem": False, **parameters})


def test_long_ngrams() -> None:
    """As many as the text has, however long they may be."""
    analyzer = Analyzer.of({"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": (1 << 32) - 1})
    assert [token for _, token in analyzer.tokens("abc")] == ["ab", "abc", "bc"]
    assert list(analyzer.spans("abc")) == [(0, 2, "ab"), (0, 3, "abc"), (1, 3, "bc")]


@pytest.mark.parametrize("base", ["simple", "whitespace", "raw", "ngram"])
def test_spans_are_those_of_tokens(base: str) -> None:
    analyzer = Analyzer.of({"base_tokenizer": base, "stem": False})
    for text in ("The größte fox, 2 of them\nthere", "", " "):
        spans = list(analyzer.spans(text))
        assert [token for _, _, token in spans] == [token for _, token in analyzer.tokens(text)]
        assert [analyzer.changed(text[start:end]) for start, end, _ in spans] == [token for _, _, token in spans]


def test_steps_that_do_not_ascend() -> None:
    data = _kernels.token_set(b"ab", np.array([0, 1, 2]), 2)
    assert [word for word, _ in TokenFst(data).words()] == [b"a", b"b"]
    damaged = TokenFst(data.replace(b"ba", b"aa"))
    with pytest.raises(CorruptFile, match="do not ascend"):
        list(damaged.words())
