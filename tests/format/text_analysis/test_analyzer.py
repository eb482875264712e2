"""Tokenization of words."""

from __future__ import annotations

from lance_sql.format.text_analysis.analyzer import Analyzer


def test_an_empty_word_is_left_out_unless_it_is_the_whole_text() -> None:
    assert Analyzer().changed("") is None
    assert Analyzer(base="raw").changed("") == ""
    assert Analyzer(base="raw").changed("a b") == "a b"
