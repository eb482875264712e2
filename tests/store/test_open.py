"""From a path or URI to a store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lance_sql.errors import InvalidArgument, MissingDependency
from lance_sql.store import FsspecStore, LocalStore, open_store


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost"])
def test_plain_paths_and_file_uris_are_local(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    store = open_store(f"{prefix}{tmp_path}")
    assert isinstance(store, LocalStore)
    assert store.tail("a", 3)[0] == 3


def test_other_schemes_are_file_systems_of_fsspec() -> None:
    assert isinstance(open_store("memory://somewhere/t.lance"), FsspecStore)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_missing_package_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingDependency, match=r"pip install 'boto3>=.*' 'obstore>=.*'"):
        open_store(f"{scheme}://bucket/t.lance")


def test_an_unknown_scheme_is_the_callers_mistake() -> None:
    with pytest.raises(InvalidArgument, match="nosuch://bucket"):
        open_store("nosuch://bucket/t.lance")


@pytest.mark.parametrize("uri", ["a\0b.lance", "~\0", "file:///a%00b.lance", "a/\ud800"])
def test_invalid_paths_are_refused(uri: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a valid path"):
        open_store(uri)
