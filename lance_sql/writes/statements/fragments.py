"""Writers of rows to new data files, which become fragments that no version has yet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import pyarrow as pa

from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.format.file.writer import FileWriter, WrittenFile
from lance_sql.format.schema import Schema
from lance_sql.store import Store
from lance_sql.table.fragment import MAX_ROWS_PER_FILE, DataFile, Fragment

MAX_BYTES_PER_FILE: Final = 90 * 1024**3
"""Size at which a file is finished, and another one started."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Size limits of a data file.

    raises: InvalidArgument for limits below 1
    """

    max_rows: int = MAX_ROWS_PER_FILE
    max_bytes: int = MAX_BYTES_PER_FILE

    def __post_init__(self) -> None:
        for name, limit in (("rows", self.max_rows), ("bytes", self.max_bytes)):
            if limit < 1:
                raise InvalidArgument(f"max_{name}_per_file={limit} must be at least 1")


def new_file_name(prefix: str = "") -> str:
    """Returns a unique name of a data file."""
    return f"{prefix}{uuid4().hex}.lance"


def data_file(written: WrittenFile) -> DataFile:
    """Returns the manifest entry of a file that was written to the folder of data files."""
    return DataFile(
        path=written.path.removeprefix("data/"),
        fields=written.fields,
        column_indices=written.column_indices,
        file_version=written.file_version,
        size_bytes=written.size_bytes,
        checksum=written.checksum,
    )


@dataclass
class FragmentWriter:
    """Writes rows into as many data files as they need. Nothing refers to the files before a commit.

    schema: of the files; batches have its columns in its order
    prefix: prefix of the file names
    """

    store: Store
    schema: Schema
    file_version: str
    limits: FileLimits = FileLimits()
    prefix: str = ""
    fragments: list[Fragment] = field(default_factory=list)
    _path: str | None = None
    _file: FileWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows.

        raises: InvalidArgument for values that the schema does not allow; errors of the store
        """
        while batch.num_rows:
            if self._file is None:
                self._path = f"data/{new_file_name(self.prefix)}"
                self._file = FileWriter(self.store, self._path, self.schema, self.file_version)
            elif self._file.excess(batch) is not None:
                # in a new file, the dictionaries of the rows fit
                self._finish_file()
                continue
            room = self.limits.max_rows - self._file.num_rows
            self._file.write(batch if batch.num_rows <= room else batch.slice(0, room))
            batch = batch.slice(min(room, batch.num_rows))
            if self._file.num_rows >= self.limits.max_rows or self._file.num_bytes >= self.limits.max_bytes:
                self._finish_file()

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> tuple[Fragment, ...]:
        """Writes all rows, and calls `finish`."""
        for batch in batches:
            self.write(batch)
        return self.finish()

    def finish(self) -> tuple[Fragment, ...]:
        """Completes the last file. Without rows, no file is written."""
        if self._file is not None:
            self._finish_file()
        return tuple(self.fragments)

    def abort(self) -> None:
        """Removes every file that was written."""
        if self._file is not None:
            self._file.abort()
            self._file = None
        if self._path is not None:
            # an interrupt may have come when the file was complete, but not listed yet; the original error matters
            # more than a failed removal
            with suppress(OSError, LanceError):
                self.store.delete(self._path)
            self._path = None
        for fragment in self.fragments:
            for file in fragment.files:
                self.store.delete(f"data/{file.path}")
        self.fragments.clear()

    def _finish_file(self) -> None:
        assert self._file is not None
        written = self._file.finish()
        self.fragments.append(Fragment(0, (data_file(written),), None, written.num_rows))
        self._file = self._path = None
