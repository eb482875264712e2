"""A store that commits manifests through a manifest store.

    _versions/<name>.manifest-<uuid>      1. staged
    (table, version) -> staged path       2. entered, unless another writer was first: from here on the version exists
    _versions/<name>.manifest             3. copied to its own name
    (table, version) -> own path          4. the entry is updated, and the staged file removed

A reader or writer that meets an entry of step 2 completes the remaining steps first.

Source: table format, external manifest store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final
from uuid import uuid4

import pyarrow as pa

from lance_sql.errors import CorruptFile, LanceError, at
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Store
from lance_sql.store.delegating import DelegatingStore
from lance_sql.store.manifest_store import ManifestEntry, ManifestStore

_VERSIONS: Final = "_versions"
_MANIFEST: Final = re.compile(r"_versions/(\d{1,20})\.manifest")
_STAGED: Final = re.compile(r"_versions/\d{1,20}\.manifest-[0-9a-fA-F-]{32,36}")
_WHOLE_FILE: Final = 2**62
# Names of 20 digits count down from here.
_TOP: Final = 2**64 - 1


class ExternalManifests(DelegatingStore):
    """The files of another store. A manifest is created by its entry, and visible at the path of its entry.

    uri: of the table, in the user's spelling
    table: its key in the manifest store
    """

    def __init__(self, files: Store, manifests: ManifestStore, uri: str, table: str) -> None:
        super().__init__(files, uri)
        self._manifests = manifests
        self._table = table

    def __reduce__(self) -> tuple[type[ExternalManifests], tuple[Store, ManifestStore, str, str]]:
        return ExternalManifests, (self._files, self._manifests, self.uri, self._table)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        try:
            return self._files.get_ranges(path, ranges)
        except FileNotFoundError:
            self._finalize_version(path)
            return self._files.get_ranges(path, ranges)

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        try:
            return self._files.tail(path, num_bytes, size=size)
        except FileNotFoundError:
            self._finalize_version(path)
            return self._files.tail(path, num_bytes)

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        entry = self._manifests.latest(self._table) if prefix == _VERSIONS else None
        if entry is None:
            yield from self._files.files(prefix)
            return
        self._finalize(entry)
        newest = _final(self._path(entry))
        is_seen = False
        for info in self._files.files(prefix):
            is_seen |= info.path == newest
            if self.lists_by_name and info.path > newest and not is_seen:
                break
            yield info
        if not is_seen:
            with at(file=newest):
                raise CorruptFile(f"the manifest store names version {entry.version}, whose manifest is missing")

    def names(self, prefix: str) -> None:
        return None

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        version = _version(path)
        if version is None:
            self._files.put(path, data, mode=mode)
            return
        # A version may exist without an entry: from before the manifest store, or from a writer without it.
        if self._exists(path):
            raise FileExistsError(path)
        staged = f"{path}-{uuid4()}"
        self._files.put(staged, data, mode="overwrite")
        entry = ManifestEntry(version, f"{self._table}/{staged}", len(memoryview(data)))
        if not self._manifests.put_if_absent(self._table, entry):
            taken = self._manifests.get(self._table, version)
            if taken is None or taken.path != entry.path:
                if taken is not None:
                    # Another's entry, or our own that was finalized since: the staged file is not needed.
                    with suppress(OSError, LanceError):
                        self._files.delete(staged)
                raise FileExistsError(path)
        # The version exists: the next reader or writer repairs a failure from here on.
        with suppress(OSError, LanceError):
            self._finalize(entry, data)

    def delete(self, path: str) -> None:
        version = _version(path)
        if version is not None:
            # First the entry: one without its file could not be read.
            self._manifests.delete(self._table, version)
        self._files.delete(path)

    def _exists(self, path: str) -> bool:
        try:
            self._files.tail(path, 0)
        except FileNotFoundError:
            return False
        return True

    def _finalize_version(self, path: str) -> None:
        """Copies the staged manifest of a path to that path, if it is entered.

        raises: FileNotFoundError
        """
        version = _version(path)
        entry = self._manifests.get(self._table, version) if version is not None else None
        if entry is None:
            raise FileNotFoundError(path)
        self._finalize(entry)

    def _finalize(self, entry: ManifestEntry, content: bytes | pa.Buffer | None = None) -> None:
        """Runs steps 3 and 4, unless they were done.

        content: of the manifest, if known
        raises: CorruptFile for an entry of another place; errors of the stores
        """
        staged = self._path(entry)
        if ".manifest-" not in staged:
            return
        final = _final(staged)
        if content is None:
            try:
                _, content = self._files.tail(staged, _WHOLE_FILE)
            except FileNotFoundError:
                # Another process was faster, and has removed the staged file.
                if self._exists(final):
                    return
                with at(file=staged):
                    raise CorruptFile("the manifest store names this manifest, which is missing") from None
        self._files.put(final, content, mode="overwrite")
        size = len(memoryview(content))
        self._manifests.replace(self._table, ManifestEntry(entry.version, f"{self._table}/{final}", size))
        with suppress(OSError, LanceError):
            self._files.delete(staged)

    def _path(self, entry: ManifestEntry) -> str:
        """Returns the path of an entry below the root of the table.

        raises: CorruptFile
        """
        path = entry.path.removeprefix(f"{self._table}/")
        if not (_MANIFEST.fullmatch(path) or _STAGED.fullmatch(path)):
            with at(file=entry.path):
                raise CorruptFile(f"the manifest store names it for version {entry.version}, but it is not a manifest")
        return path


def _final(path: str) -> str:
    """Returns the path of a manifest after it is finalized."""
    return path.partition(".manifest")[0] + ".manifest"


def _version(path: str) -> int | None:
    """Returns the version of a manifest by its path, or None for every other file."""
    match = _MANIFEST.fullmatch(path)
    if match is None:
        return None
    digits = match[1]
    return _TOP - int(digits) if len(digits) == 20 else int(digits)
