"""Comparison of the files of versions with the checksums recorded when they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from lance_sql.errors import TABLE_ERRORS, CorruptFile, LanceError, UnsupportedFeature, at
from lance_sql.store import ByteRange, Store
from lance_sql.store.canonical import canonical_location
from lance_sql.store.checksums import Checksum, differences
from lance_sql.table import checksums
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from the written one.

    error: the difference, with the path
    data_file: None for a file of another kind
    index: the name of the index that the file belongs to
    """

    error: LanceError
    data_file: DataFile | None = None
    index: str | None = None

    @property
    def ranges(self) -> tuple[ByteRange, ...]:
        """Differing bytes, in blocks; empty if the file is missing or has another length."""
        return self.error.ranges if isinstance(self.error, _DifferentBytes) else ()


@dataclass
class ComparedFiles:
    """Compares each file once, even if several versions share it.

    num_compared: files that have a checksum
    num_without: files that have none, such as those of other writers
    errors: of unreadable records, by the location of the table
    """

    num_compared: int = 0
    num_without: int = 0
    errors: dict[str, list[CorruptFile]] = field(default_factory=dict)
    _known: dict[str, dict[str, Checksum]] = field(default_factory=dict)
    _errors: dict[tuple[str, str], LanceError | None] = field(default_factory=dict)

    def of_fragment(self, snapshot: Snapshot, fragment: Fragment) -> Iterator[ChangedFile]:
        """Yields the differences of the data files and the deletion file of a fragment."""
        files, deletions = snapshot.open_fragments.files, fragment.deletion_file
        for file in fragment.files:
            if difference := self._of(partial(files.resolve, file), file.size_bytes):
                yield ChangedFile(difference, data_file=file)
        if deletions is not None and (
            difference := self._of(partial(files.resolve_deletions, deletions, fragment.id), None)
        ):
            yield ChangedFile(difference)

    def of_indices(self, snapshot: Snapshot) -> Iterator[ChangedFile]:
        """Yields the differences of the index files of a version, including indices of unknown kinds.

        raises: CorruptFile for a damaged list of indices
        """
        files = snapshot.open_fragments.files
        for segment in snapshot.indices():
            for name, size in segment.file_sizes.items():
                if difference := self._of(
                    partial(files.resolve_index, segment.base_id, f"{segment.uuid}/{name}"), size
                ):
                    yield ChangedFile(difference, index=segment.name)

    def _of(self, resolve: Callable[[], tuple[Store, str]], size: int | None) -> LanceError | None:
        """Returns the difference of a file, or None.

        size: from the manifest; 0 or None if it does not record it
        """
        try:
            store, path = resolve()
        except TABLE_ERRORS as error:
            return error
        return self._compare(store, path, size or None)

    def _compare(self, store: Store, path: str, size: int | None) -> LanceError | None:
        """Returns the difference of a file, or None.

        size: from the manifest
        """
        key = (canonical_location(store), path)
        if key not in self._errors:
            self._errors[key] = self._compared(store, path, size, self._checksums(store).get(path))
        return self._errors[key]

    def _compared(self, store: Store, path: str, size: int | None, checksum: Checksum | None) -> LanceError | None:
        try:
            with at(file=path):
                num_bytes, _ = store.tail(path, 0)
                if checksum is None:
                    self.num_without += 1
                else:
                    self.num_compared += 1
                    size = checksum.size_bytes
                if size is not None and num_bytes != size:
                    raise CorruptFile(f"the file has {num_bytes} bytes, but {size} were written")
                ranges = () if checksum is None else tuple(differences(store, path, checksum))
                if not ranges:
                    return None
                shown = ", ".join(f"{start} to {end}" for start, end in ranges[:5]) + ", ..." * (len(ranges) > 5)
                raise _DifferentBytes(f"checksum mismatch in bytes {shown} of {num_bytes}", ranges)
        except TABLE_ERRORS as error:
            return error
        except OSError as error:
            return UnsupportedFeature(f"it cannot be read: {error}").located(path)

    def _checksums(self, store: Store) -> dict[str, Checksum]:
        key = canonical_location(store)
        if key not in self._known:
            records, self.errors[key] = checksums.read(store)
            self._known[key] = {path: each for record in records for path, each in record.files.items()}
        return self._known[key]


class _DifferentBytes(CorruptFile):
    """A file whose bytes differ from the written ones.

    ranges: the differing bytes, in blocks
    """

    def __init__(self, message: str, ranges: tuple[ByteRange, ...]) -> None:
        super().__init__(message)
        self.ranges = ranges
