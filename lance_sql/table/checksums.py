"""Checksums of the files of a table, in a folder that other implementations ignore.

    _checksums/<transaction>-<hash>.json     of the files that one commit wrote
    _checksums/merged-<uuid>.json            of the files that remain after a cleanup

    {"hash": "xxh64", "block_bytes": 1048576,
     "files": {"data/1f.lance": {"size": 1203, "blocks": "9c56cc51b374c3ba"}}}

A checksum is valid as long as its file exists, in all versions. Files of other writers and of earlier releases have
none. See docs/decisions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

from lance_sql.errors import CorruptFile, at
from lance_sql.store import Store, check_path
from lance_sql.store.checksums import BLOCK_BYTES, Checksum
from lance_sql.store.requests import concurrently
from lance_sql.table.paths import CHECKSUMS

_HASH: Final = "xxh64"
_SUFFIX: Final = ".json"
# A longer file was not written by this library.
_MAX_BYTES: Final = 64 << 20
# Enough for most records in one request.
_FIRST_BYTES: Final = 256 << 10
# Approximate size of the files that a cleanup merges records into.
_BYTES_PER_RECORD: Final = 16 << 20
_BYTES_PER_ENTRY: Final = 128
# More records than this are merged by a cleanup. Long tables may still have more.
_MOST_RECORDS: Final = 32


@dataclass(frozen=True, slots=True)
class Record:
    """The checksums in one file, by paths in the table's store."""

    path: str
    files: Mapping[str, Checksum]


def record_path(transaction_file: str, files: Iterable[str]) -> str:
    """Returns the path of the record with the checksums of a commit.

    files: their paths; another attempt at the same transaction, with other files, has its own record
    """
    digest = hashlib.blake2b("\n".join(sorted(files)).encode(), digest_size=4).hexdigest()
    return f"{CHECKSUMS}/{transaction_file.removesuffix('.txn')}-{digest}{_SUFFIX}"


def write(store: Store, path: str, files: Mapping[str, Checksum]) -> None:
    """Records the checksums of files, by their paths.

    raises: what the store does
    """
    entries = {name: {"size": each.size_bytes, "blocks": each.hashes.hex()} for name, each in files.items()}
    content = {"hash": _HASH, "block_bytes": BLOCK_BYTES, "files": entries}
    store.put(path, json.dumps(content, separators=(",", ":")).encode(), mode="overwrite")


def read(store: Store) -> tuple[list[Record], list[CorruptFile]]:
    """Reads all checksum records of a table; returns the records and the errors of unreadable ones.

    raises: what the store does
    """
    records: list[Record] = []
    errors: list[CorruptFile] = []
    paths = _paths(store)
    for each in concurrently([partial(_read, store, path) for path in paths], store.concurrency):
        if isinstance(each, Record):
            records.append(each)
        elif each is not None:
            errors.append(each)
    return records, errors


def read_new(store: Store, known: Mapping[str, Mapping[str, Checksum]]) -> dict[str, Mapping[str, Checksum]]:
    """Returns the checksums of all records, by the paths of records; reads those that are not known. Unreadable ones
    have no checksums.

    raises: what the store does
    """
    paths = _paths(store)
    new = [path for path in paths if path not in known]
    read = concurrently([partial(_read, store, path) for path in new], store.concurrency)
    files = {path: each.files if isinstance(each, Record) else {} for path, each in zip(new, read, strict=True)}
    return {path: known[path] if path in known else files[path] for path in paths}


def _paths(store: Store) -> list[str]:
    """Returns the paths of all records. Hidden files of other tools are none."""
    paths = [info.path for info in store.files(CHECKSUMS)]
    return [path for path in paths if path.endswith(_SUFFIX) and not path.startswith(f"{CHECKSUMS}/.")]


def tidy(store: Store, records: Iterable[Record], files: Container[str]) -> None:
    """Removes records of missing files, and merges many records into a few.

    records: as read before `files` were listed
    files: the existing files
    raises: what the store does
    """
    needed: list[Record] = []
    gone: list[Record] = []
    for record in records:
        (needed if any(path in files for path in record.files) else gone).append(record)
    if len(needed) > _MOST_RECORDS:
        left = ((path, each) for record in needed for path, each in record.files.items() if path in files)
        for part in _parts(left):
            write(store, f"{CHECKSUMS}/merged-{uuid4()}{_SUFFIX}", dict(part))
        gone += needed
    for record in gone:
        store.delete(record.path)


def _parts(entries: Iterable[tuple[str, Checksum]]) -> Iterator[list[tuple[str, Checksum]]]:
    part: list[tuple[str, Checksum]] = []
    num_bytes = 0
    for entry in entries:
        part.append(entry)
        num_bytes += _BYTES_PER_ENTRY + 2 * len(entry[1].hashes)
        if num_bytes > _BYTES_PER_RECORD:
            yield part
            part, num_bytes = [], 0
    if part:
        yield part


def _read(store: Store, path: str) -> Record | CorruptFile | None:
    """Reads a record; returns the error of a damaged one, None for a missing one or another kind of hash."""
    try:
        with at(file=path):
            size, content = store.tail(path, _FIRST_BYTES)
            if size > _MAX_BYTES:
                raise CorruptFile(f"checksums of {size} bytes")
            if size > _FIRST_BYTES:
                _, content = store.tail(path, size, size=size)
            return _parse(path, bytes(memoryview(content)))
    except FileNotFoundError:
        return None
    except CorruptFile as error:
        return None if isinstance(error.__cause__, FileNotFoundError) else error


def _parse(path: str, content: bytes) -> Record | None:
    try:
        stored: Any = json.loads(content)
        if (stored["hash"], stored["block_bytes"]) != (_HASH, BLOCK_BYTES):
            return None
        files = {name: _checksum(name, entry) for name, entry in stored["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFile("not a record of checksums") from error
    return Record(path, files)


def _checksum(name: str, entry: Any) -> Checksum:
    check_path(name)
    made = Checksum(int(entry["size"]), bytes.fromhex(entry["blocks"]))
    if made.size_bytes < 0 or not made.is_consistent:
        raise CorruptFile(f"the checksum of {name!r} is not one")
    return made
