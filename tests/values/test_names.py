"""Each kind of name has one check."""

from __future__ import annotations

import pytest

from lance_sql.errors import InvalidArgument
from lance_sql.values import names

BAD: dict[names.Kind, tuple[object, ...]] = {
    "table": ("", ".", "..", "a/b", "../a", "a\\b", "a$b", "a\0b", "a\nb", "\x1b[31m", "\ud800", "a.lance@b", 5, None),
    "namespace": (
        *("", "..", "a/b", "a\\b", "a$b", "a.b", "\t", "\ud800"),
        *("Information_Schema", "pg_catalog", "x" * 245, "é" * 123),
    ),
    "tag": ("", "a b", "a/b", ".a", "a.", "a.lock", "a..b", "é", "a\0", "x" * 151, 5),
    "cursor": ("", "a/b", "..", "a\n"),
    "rule": ("", "a/b", "..", "a\n"),
    "branch": ("", "main", "a//b", "/a", "a/..", "a.lock", "é", "x" * 151),
    "index": ("", "__a", "a\0b", "\ud800", 5),
    "application": ("", "a\0b", "\ud800", 5),
    "column": ("", "a\0b", "\ud800", 5),
}
GOOD: dict[names.Kind, tuple[str, ...]] = {
    "table": (
        "a",
        "a b",
        "a.b",
        "x.lance",
        "~",
        "%2F",
        "it's",
        '"',
        "é",
        "🙂",
        "..a",
        "a@b",
        "*",
        "select",
        "a\u202eb",
    ),
    "namespace": ("a", "é", "a b", "x" * 244),
    "tag": ("a", "a.b-c_d", "1a", "20"),
    "cursor": ("a", "20"),
    "rule": ("a", "20"),
    "branch": ("a/b", "20"),
    "index": ("a", "é b", "a\nb"),
    "application": ("a", "a/b"),
    "column": ("a", "a\nb", "$", "é"),
}


@pytest.mark.parametrize("kind", BAD)
def test_names_have_the_form_of_their_kind(kind: names.Kind) -> None:
    for name in BAD[kind]:
        with pytest.raises(InvalidArgument) as raised:
            names.check(name, kind)
        assert kind in str(raised.value)
        assert "\n" not in str(raised.value)
    for name in GOOD[kind]:
        assert names.check(name, kind) == name


@pytest.mark.quick
@pytest.mark.parametrize(
    "name",
    ["20", "01", "-1", "latest", "LATEST", "earliest", "yesterday", "Today", "1d", "90m", "2026-11-21", "20261121T01"],
)
def test_new_references_do_not_read_as_versions_or_times(name: str) -> None:
    with pytest.raises(InvalidArgument, match="reads as a version or a time"):
        names.check_new_reference(name, "tag")
    with pytest.raises(InvalidArgument, match="reads as a version or a time"):
        names.check_new_reference(name, "branch")


@pytest.mark.parametrize("name", ["v20", "load-2026-11-24", "1.0", "audited", "now", "first", "day1"])
def test_other_references_are_taken(name: str) -> None:
    assert names.check_new_reference(name, "tag") == names.check_new_reference(name, "branch") == name


@pytest.mark.parametrize(("name", "other"), [("Orders", "orders"), ("e\u0301", "é"), ("SS", "ß"), ("É", "e\u0301")])
def test_names_that_are_alike_are_found(name: str, other: str) -> None:
    assert names.like(name, ["x", other]) == other
    assert names.like(name, ["x", "y"]) is None
