"""Object stores: which of them can create a file only once, and how they say that it is there."""

from __future__ import annotations

import errno
import importlib
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_sql.errors import UnsupportedFeature
from lance_sql.store import FsspecStore


class Azure(MemoryFileSystem):  # type: ignore[misc]
    """Takes `overwrite`, as the file system of Azure does."""

    protocol = "az"

    def pipe_file(self, path: str, value: bytes, overwrite: bool = True, **kwargs: Any) -> None:
        super().pipe_file(path, value, mode="overwrite" if overwrite else "create")


class Old(MemoryFileSystem):  # type: ignore[misc]
    """Of a time when nothing could be created only once."""

    protocol = "gs"

    def pipe_file(self, path: str, value: bytes, **kwargs: Any) -> None:
        super().pipe_file(path, value)


class AnswerError(Exception):
    """What an HTTP client raises."""

    def __init__(self, code: str) -> None:
        self.response = {"Error": {"Code": code}}


class S3(MemoryFileSystem):  # type: ignore[misc]
    """Answers with an error code."""

    protocol = "s3"
    code = "PreconditionFailed"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        assert mode == "create"
        raise OSError(errno.EIO, "failed") from AnswerError(self.code)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = importlib.import_module("fsspec.registry")._registry
    for implementation in (Azure, Old, S3):
        monkeypatch.setitem(registry, implementation.protocol, implementation)


def test_each_file_system_is_asked_in_its_own_way() -> None:
    store = FsspecStore("az://container/t.lance")
    store.put("x", b"one", mode="create")
    with pytest.raises(FileExistsError):
        store.put("x", b"two", mode="create")
    assert store.tail("x", 9)[1] == b"one"
    store.put("x", b"two", mode="overwrite")
    assert store.tail("x", 9)[1] == b"two"


def test_packages_that_are_too_old_are_refused() -> None:
    store = FsspecStore("gs://bucket/t.lance")
    with pytest.raises(UnsupportedFeature, match="gs:// cannot create a file only if it does not exist"):
        store.put("x", b"one", mode="create")
    assert list(store.files("")) == []


@pytest.mark.parametrize("code", ["PreconditionFailed", "ConditionalRequestConflict"])
def test_answers_that_mean_that_another_was_first(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(S3, "code", code)
    with pytest.raises(FileExistsError):
        FsspecStore("s3://bucket/t.lance").put("x", b"one", mode="create")


def test_other_answers_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(S3, "code", "SlowDown")
    with pytest.raises(OSError, match="failed") as raised:
        FsspecStore("s3://bucket/t.lance").put("x", b"one", mode="create")
    assert not isinstance(raised.value, FileExistsError)
