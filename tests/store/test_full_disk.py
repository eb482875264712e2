"""A full disk: the error names the file, and nothing stays behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lance_sql


class FullDisk:
    """Writes to files of a folder until its bytes are used up."""

    def __init__(self, num_bytes: int) -> None:
        self.left = num_bytes

    def write(self, write: Callable[..., int], *arguments: Any) -> int:
        data = memoryview(arguments[-1])
        self.left -= data.nbytes
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(*arguments)


@pytest.mark.parametrize("num_bytes", [0, 100, 700_000])
def test_the_error_names_a_file_of_the_table(tmp_path: Path, num_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.write({"id": [1, 2, 3]}, tmp_path / "t.lance")
    before = sorted(tmp_path.rglob("*"))
    disk, write, fdopen = FullDisk(num_bytes), os.write, os.fdopen

    def opened(*arguments: Any, **options: Any) -> Any:
        file = fdopen(*arguments, **{**options, "buffering": 0})
        content = type("Content", (), {name: getattr(file, name) for name in ("flush", "fileno", "close")})()
        content.write = lambda data: disk.write(file.write, data)
        return content

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda *arguments: disk.write(write, *arguments))
        patched.setattr(os, "fdopen", opened)
        with pytest.raises(OSError, match=r"No space left on device: '.*t\.lance/") as raised:
            lance_sql.write({"id": np.random.default_rng(1).integers(0, 1 << 60, 100_000)}, table, mode="append")
    assert raised.value.errno == errno.ENOSPC
    assert table.latest().version == 1
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and path.is_file()] == []
