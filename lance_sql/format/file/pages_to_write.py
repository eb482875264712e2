"""Full pages that wait to be encoded and written, and the protocol for filling them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from lance_sql.errors import LanceError
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import encode_numbers
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.schema import Field

_TOGETHER_BYTES: Final = 1 << 20
"""Maximum size of pages that are encoded together, because gathering them takes memory."""


@dataclass(frozen=True, slots=True)
class PageJob:
    """One page that waits to be encoded.

    name: of the field, for messages
    num_rows: of the table
    num_bytes: of the input
    make: encodes it
    numbers: the values, if `encode_numbers` supports them
    """

    column: int
    name: str
    num_rows: int
    num_bytes: int
    make: Callable[[], EncodedPage]
    numbers: pa.Array | None = None

    def encode(self) -> EncodedPage:
        """Encodes the page. Errors name its column."""
        try:
            return self.make()
        except LanceError as error:
            error.column = error.column or self.name
            raise


def with_numbers(jobs: Iterable[PageJob], rules: PageRules | None) -> Iterator[tuple[PageJob, EncodedPage | None]]:
    """Yields the jobs in order. A page of a few numbers comes encoded, because many of them are encoded together.

    rules: of the file version; None for pages of another kind
    """
    waiting: list[PageJob] = []
    num_bytes = 0
    for job in jobs:
        waiting.append(job)
        num_bytes += job.num_bytes
        if num_bytes >= _TOGETHER_BYTES:
            yield from _encoded(waiting, rules)
            waiting, num_bytes = [], 0
    yield from _encoded(waiting, rules)


def _encoded(jobs: Sequence[PageJob], rules: PageRules | None) -> Iterator[tuple[PageJob, EncodedPage | None]]:
    pages: Sequence[EncodedPage | None] = [None] * len(jobs)
    if rules is not None:
        pages = encode_numbers.encode_pages([job.numbers for job in jobs], rules)
    return zip(jobs, pages, strict=True)


class ColumnsWriter(Protocol):
    """Collects the values of one top-level field for its columns in a version of the format."""

    @property
    def fields(self) -> Sequence[Field]:
        """The fields with columns, in the order of these."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the input that waits for a full page."""

    def add(self, array: pa.Array, first_row: int) -> Iterable[PageJob]:
        """Adds rows, and returns the pages that they complete.

        raises: InvalidArgument for values that the field cannot have, with column and row
        """

    def finish(self) -> Iterable[PageJob]:
        """Returns the last pages."""
