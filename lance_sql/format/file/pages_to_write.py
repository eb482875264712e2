"""Pages between being filled and being put out, and what fills them."""

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
"""Of pages that are encoded together: what is gathered for it takes memory."""


@dataclass(frozen=True, slots=True)
class PageJob:
    """One page that waits for being encoded.

    name: of the field, for messages
    num_rows: of the table
    num_bytes: of the input
    make: encodes it
    numbers: the values, where they are what `encode_numbers` takes
    """

    column: int
    name: str
    num_rows: int
    num_bytes: int
    make: Callable[[], EncodedPage]
    numbers: pa.Array | None = None

    def encode(self) -> EncodedPage:
        """The page; errors say which column it is of."""
        try:
            return self.make()
        except LanceError as error:
            error.column = error.column or self.name
            raise


def with_numbers(jobs: Iterable[PageJob], rules: PageRules | None) -> Iterator[tuple[PageJob, EncodedPage | None]]:
    """The jobs in their order, each with its page where it is one of a few numbers, many of which are encoded together.

    rules: of the file version; None where pages are of another kind
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
    """Collects the values of one top-level field for the columns that a version of the format has for it."""

    @property
    def fields(self) -> Sequence[Field]:
        """The fields that have columns, in the order of these."""

    @property
    def num_bytes(self) -> int:
        """Of the input that waits for its page to be full."""

    def add(self, array: pa.Array, first_row: int) -> Iterable[PageJob]:
        """The pages that further rows complete.

        raises: InvalidArgument for values that the field cannot have, with column and row
        """

    def finish(self) -> Iterable[PageJob]:
        """The last pages."""
