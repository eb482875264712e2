"""A store on S3, Google Cloud Storage or Azure.

The client repeats a request that got no answer, even one that creates an object. FileExistsError may therefore mean
that this very call created the object. Callers that must know read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Final, TypeVar

import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, StoreError, UnsupportedFeature, at
from lance_sql.runtime import observing
from lance_sql.store import client, conditional_puts
from lance_sql.store.client_errors import NO_REASON, NOT_IMPLEMENTED, OutsideError, first_line, to_error
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, Unmapped, check_path, check_ranges
from lance_sql.store.options import to_object_store
from lance_sql.store.ranges import ROUND_TRIP_BYTES, cut_out, merge
from lance_sql.store.requests import CONCURRENCY, innermost
from lance_sql.store.uploads import UploadSink

_T = TypeVar("_T")

SCHEMES: Final = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss")

# Larger tails are requested as the whole object: a server need not accept a number of that size.
_MAX_SUFFIX: Final = 2**31
_READ_ATTEMPTS: Final = 4
_FIRST_WAIT_SECONDS: Final = 0.1
_OBJECTS_PER_CHUNK: Final = 200


class ObjectStore(Unmapped):
    """The objects below a URI. Neighboring ranges are fetched together, separate ones at the same time.

    storage_options: names of object_store (`aws_access_key_id`, `region`, ...); those of fsspec's packages (`key`,
        `anon`, ...) are translated
    """

    def __init__(self, uri: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.uri = uri
        self._options = dict(storage_options or {})
        scheme, _, rest = uri.partition("://")
        bucket, _, prefix = rest.partition("/")
        if not bucket:
            raise InvalidArgument(f"{uri!r} names no bucket: write {scheme}://bucket/path/to/table")
        self._obstore = client.load(scheme)
        settings = to_object_store(scheme, bucket, self._options)
        self._client = client.connect(self._obstore, scheme, bucket, prefix.strip("/"), settings)
        self._settings = settings
        self._bucket = f"{scheme}://{bucket}"
        # Azure has no requests for the end of an object.
        self._has_suffixes = scheme in ("s3", "s3a", "gs", "gcs")
        # Directory buckets list names in their own order.
        self.lists_by_name = not bucket.endswith("--x-s3")

    def __reduce__(self) -> tuple[type[ObjectStore], tuple[str, dict[str, Any]]]:
        return ObjectStore, (self.uri, self._options)

    gap = ROUND_TRIP_BYTES
    concurrency = CONCURRENCY

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        check_path(path)
        with at(file=path):
            for wanted in ranges:
                check_ranges([wanted], max(wanted.end, 0))
        parts, placements = merge(ranges)
        return cut_out(ranges, placements, self._fetch(path, parts))

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        check_path(path)
        if num_bytes == 0:
            return self._size(path) if size is None else size, pa.py_buffer(b"")
        if num_bytes > _MAX_SUFFIX or (size is not None and size <= num_bytes and not self._has_suffixes):
            return self._get(path, None)
        if self._has_suffixes:
            return self._get(path, num_bytes)
        size = self._size(path) if size is None else size
        start = max(0, size - num_bytes)
        (content,) = self._fetch(path, [ByteRange(start, size)])
        return size, content

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        if prefix:
            check_path(prefix)
        start = f"{prefix}/" if prefix else ""
        last = ""
        # A listing that breaks off continues after the last received name.
        for attempt in range(_READ_ATTEMPTS):
            try:
                for info in self._list(prefix, last):
                    path = str(info["path"])
                    last = path
                    # an empty object "data/", which other tools make for a folder, is listed as "data"
                    if path != prefix and "/" not in path.removeprefix(start):
                        yield ObjectInfo(path, int(info["size"]), info.get("e_tag") or None)
                return
            except StoreError as error:
                if not error.is_unanswered or attempt == _READ_ATTEMPTS - 1:
                    raise
                if not self.lists_by_name and last:
                    raise
                time.sleep(_FIRST_WAIT_SECONDS * 2**attempt)

    def folders(self, prefix: str) -> Iterator[str]:
        if prefix:
            check_path(prefix)
        listing = self._read(
            prefix, lambda: self._obstore.list_with_delimiter(self._client, prefix or None), verb="list"
        )
        for folder in listing["common_prefixes"]:
            yield str(folder).rstrip("/").rpartition("/")[2]

    def modified(self, path: str) -> datetime | None:
        check_path(path)
        modified = self._read(path, lambda: self._obstore.head(self._client, path), verb="head")["last_modified"]
        return modified.astimezone(UTC) if isinstance(modified, datetime) else None

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        check_path(path)
        content = bytes(memoryview(data))
        if mode not in ("create", "next"):
            self._repeated(partial(self._put, path, content, "overwrite"))
            return
        conditional_puts.check(
            self._bucket,
            None if self._settings.endpoint is None else self._settings.endpoint.address,
            self.uri,
            create=lambda probe: self._put(probe, b"", "create"),
            exists=self._exists,
            delete=self.delete,
        )
        self._put(path, content, "create")

    def _put(self, path: str, content: bytes, mode: str) -> None:
        with self._client_errors(path, creates=mode == "create", verb="put", bytes=len(content)):
            try:
                self._obstore.put(self._client, path, content, mode=mode, use_multipart=False)
            except self._obstore.exceptions.BaseError as error:
                if mode == "create" and NOT_IMPLEMENTED.search(first_line(error)):
                    raise NotImplementedError from error
                raise

    def _exists(self, path: str) -> bool:
        try:
            self._size(path)
        except FileNotFoundError:
            return False
        return True

    def create(self, path: str) -> Sink:
        check_path(path)
        return UploadSink(lambda parts, options: self._upload(path, parts, options), lambda: self.delete(path))

    def delete(self, path: str) -> None:
        check_path(path)
        with suppress(FileNotFoundError):
            self._repeated(partial(self._delete, path))

    def _delete(self, path: str) -> None:
        with self._client_errors(path, verb="delete"):
            self._obstore.delete(self._client, path)

    def _repeated(self, call: Callable[[], None]) -> None:
        """Runs a call that may be repeated, again if another request for the object was in progress."""
        for attempt in range(_READ_ATTEMPTS):
            try:
                call()
                return
            except StoreError as error:
                if not error.is_conflict or attempt == _READ_ATTEMPTS - 1:
                    raise
                time.sleep(_FIRST_WAIT_SECONDS * 2**attempt)

    def _upload(self, path: str, content: Any, options: Mapping[str, Any]) -> None:
        with self._client_errors(path, verb="upload"):
            self._obstore.put(self._client, path, content, **options)

    def _list(self, prefix: str, after: str) -> Iterator[Mapping[str, Any]]:
        stream = None
        while True:
            with self._client_errors(prefix, verb="list"):
                if stream is None:
                    stream = iter(
                        self._obstore.list(
                            self._client, prefix or None, offset=after or None, chunk_size=_OBJECTS_PER_CHUNK
                        )
                    )
                chunk = next(stream, None)
            if chunk is None:
                return
            yield from chunk

    def _size(self, path: str) -> int:
        def head() -> Any:
            try:
                return self._obstore.head(self._client, path)
            except self._obstore.exceptions.BaseError as error:
                if NO_REASON.search(str(error)):
                    # an answer to HEAD has no body with the reason, that to GET has
                    self._obstore.get_range(self._client, path, start=0, end=1)
                raise

        return int(self._read(path, head, verb="head")["size"])

    def _get(self, path: str, suffix: int | None) -> tuple[int, pa.Buffer]:
        """Returns the size of an object and its end, or all of it."""

        def get() -> tuple[int, pa.Buffer]:
            options = {"range": {"suffix": suffix}} if suffix is not None else None
            answer = self._obstore.get(self._client, path, options=options)
            size, content = int(answer.meta["size"]), pa.py_buffer(answer.bytes())
            wanted = size if suffix is None else min(size, suffix)
            if packing := answer.attributes.get("Content-Encoding"):
                raise _WrongAnswerError(f"the body is packed by {packing}")
            if content.size != wanted:
                raise _WrongAnswerError(f"the body has {content.size} bytes in place of {wanted}")
            return size, content

        try:
            return self._read(path, get, verb="get", bytes=suffix)
        except OSError as error:
            # A suffix request fails for an empty object.
            if suffix is None or isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
                raise
            with suppress(OSError):
                if self._size(path) == 0:
                    return 0, pa.py_buffer(b"")
            raise

    def _fetch(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        asked = [wanted for wanted in ranges if wanted.end > wanted.start]

        def fetch(some: Sequence[ByteRange]) -> Sequence[Any]:
            starts, ends = [each.start for each in some], [each.end for each in some]
            contents: Sequence[Any]
            if len(some) == 1:
                contents = [self._obstore.get_range(self._client, path, start=starts[0], end=ends[0])]
            else:
                contents = self._obstore.get_ranges(self._client, path, starts=starts, ends=ends, coalesce=0)
            for wanted, content in zip(some, contents, strict=True):
                num_bytes = memoryview(content).nbytes
                # a file that ends before the range is damaged, which is no fault of the answer
                if num_bytes != wanted.end - wanted.start and self._size(path) >= wanted.end:
                    raise _WrongAnswerError(
                        f"the body has {num_bytes} bytes in place of {wanted.start} to {wanted.end}"
                    )
            return contents

        # the client would merge ranges that touch into one request
        touch = any(before.end == after.start for before, after in pairwise(asked))
        sets = [asked[::2], asked[1::2]] if touch else [asked] if asked else []
        try:
            calls = [
                partial(
                    self._read,
                    path,
                    partial(fetch, some),
                    verb="get",
                    requests=len(some),
                    bytes=sum(each.end - each.start for each in some),
                )
                for some in sets
            ]
            contents_of_sets = innermost(calls)
        except OutsideError:
            end = max(each.end for each in asked)
            with at(file=path):
                raise CorruptFile(f"bytes up to {end} were requested, but the file is shorter") from None
        fetched = (each for several in zip_longest(*contents_of_sets) for each in several if each is not None)
        contents = [
            pa.py_buffer(next(fetched)) if wanted.end > wanted.start else pa.py_buffer(b"") for wanted in ranges
        ]
        for wanted, content in zip(ranges, contents, strict=True):
            if content.size != wanted.end - wanted.start:
                with at(file=path):
                    raise CorruptFile(
                        f"bytes {wanted.start} to {wanted.end} were requested, but the file has"
                        f" {wanted.start + content.size} at most"
                    )
        return contents

    def _read(self, path: str, call: Callable[[], _T], **facts: Any) -> _T:
        """Returns the result of a read-only call. Retries if the answer breaks off, and once if it is wrong.

        raises: FileNotFoundError, IsADirectoryError, StoreError, PermissionError
        """
        is_again = False
        for attempt in range(_READ_ATTEMPTS):
            try:
                with self._client_errors(path, **facts):
                    return call()
            except FileNotFoundError:
                if path and next(self._list(path, ""), None) is not None:
                    raise IsADirectoryError(path) from None
                raise
            except _WrongAnswerError as error:
                if is_again:
                    raise StoreError(
                        f"{self.uri}: the answer of the store for {path} is wrong: {error}: try again, and look for"
                        " proxies on the way if that does not help"
                    ) from error
                is_again = True
            except StoreError as error:
                if not error.is_unanswered or attempt == _READ_ATTEMPTS - 1:
                    raise
                time.sleep(_FIRST_WAIT_SECONDS * 2**attempt)
        raise AssertionError

    @contextmanager
    def _client_errors(self, path: str, *, creates: bool = False, **facts: Any) -> Iterator[None]:
        """Converts errors of the client to the types that stores raise, and records the request.

        creates: a conflict means that the object exists
        """
        client.check_process(self.uri)
        exceptions = self._obstore.exceptions
        try:
            with observing.recorded("request", store=self.uri, path=path, **facts):
                yield
        except exceptions.AlreadyExistsError as error:
            if creates:
                raise FileExistsError(path) from error
            failure = StoreError(f"{self.uri}: {first_line(error)}")
            failure.is_conflict = True
            raise failure from error
        except (exceptions.NotSupportedError, NotImplementedError) as error:
            raise UnsupportedFeature(
                f"{self.uri} cannot create an object only if it does not exist, so two writers could overwrite each"
                ' other\'s commits: pass manifest_store= and conditional_put="disabled", or conditional_put="etag" if'
                " the server can"
            ) from error
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(f"{self.uri}: no such bucket") from error
            raise FileNotFoundError(path) from error
        except exceptions.BaseError as error:
            raise to_error(self._obstore, self.uri, error, self._settings) from error


class _WrongAnswerError(Exception):
    """An answer with another body than the one that was requested."""
