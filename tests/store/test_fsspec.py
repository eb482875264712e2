"""File systems of fsspec: which of them can create a file only once, and what they remember."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_sql.errors import UnsupportedFeature
from lance_sql.store import ByteRange, FsspecStore


class Remembering(MemoryFileSystem):  # type: ignore[misc]  # the base has no types
    """Answers from the listings that it has made, as file systems of object stores do."""

    protocol = "remembering"
    store: dict[str, Any] = {}  # noqa: RUF012 - the base class has one as well
    pseudo_dirs = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(path.replace("remembering://", "memory://"))
        return stripped

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        path = self._strip_protocol(path)
        try:
            found = self.dircache[path]
        except KeyError:
            found = self.dircache[path] = super().ls(path, detail=True)
        return found if detail else [info["name"] for info in found]

    def info(self, path: str, **kwargs: Any) -> Any:
        path = self._strip_protocol(path)
        try:
            listed = self.dircache[path.rpartition("/")[0]]
        except KeyError:
            return super().info(path)
        for info in listed:
            if info["name"] == path:
                return info
        raise FileNotFoundError(path)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registry = importlib.import_module("fsspec.registry")._registry
    monkeypatch.setitem(registry, "remembering", Remembering)
    yield
    Remembering.store.clear()
    Remembering.clear_instance_cache()


def test_a_file_system_that_cannot_create_a_file_only_once_is_refused() -> None:
    store = FsspecStore("remembering://bucket/t.lance")
    with pytest.raises(UnsupportedFeature, match="remembering:// cannot create a file only if it does not exist"):
        store.put("x", b"one", mode="create")
    assert list(store.files("")) == []


def test_files_that_others_have_added_are_found() -> None:
    store = FsspecStore("remembering://bucket/t.lance")
    store.put("data/a", b"a", mode="overwrite")
    assert [info.path for info in store.files("data")] == ["data/a"]
    theirs = Remembering(skip_instance_cache=True)
    theirs.pipe_file("/bucket/t.lance/data/b", b"another")
    assert store.tail("data/b", 3)[1] == b"her"
    assert store.get_ranges("data/b", [ByteRange(0, 4)])[0] == b"anot"
    assert sorted(info.path for info in store.files("data")) == ["data/a", "data/b"]
    theirs.pipe_file("/bucket/t.lance/data/b", b"longer than before")
    assert store.tail("data/b", 6) == (18, b"before")
    theirs.rm_file("/bucket/t.lance/data/b")
    with pytest.raises(FileNotFoundError):
        store.tail("data/b", 3)


def test_filesystems_of_the_user_are_not_changed() -> None:
    """fsspec gives everyone the same instance, with one memory."""
    yours = Remembering()
    yours.pipe_file("/bucket/t.lance/data/a", b"a")
    yours.ls("/bucket/t.lance/data")
    store = FsspecStore("remembering://bucket/t.lance")
    Remembering(skip_instance_cache=True).pipe_file("/bucket/t.lance/data/b", b"b")
    assert store.tail("data/b", 1)[1] == b"b"
