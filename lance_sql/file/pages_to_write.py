"""Pages between being filled and being put out, and what fills them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lance_sql.errors import LanceError
from lance_sql.layouts.shredded import EncodedPage
from lance_sql.schema import Field


@dataclass(frozen=True, slots=True)
class PageJob:
    """One page that waits for being encoded.

    name: of the field, for messages
    num_rows: of the table
    num_bytes: of the input
    make: encodes it
    """

    column: int
    name: str
    num_rows: int
    num_bytes: int
    make: Callable[[], EncodedPage]

    def encode(self) -> EncodedPage:
        """The page; errors say which column it is of."""
        try:
            return self.make()
        except LanceError as error:
            error.column = error.column or self.name
            raise


class ColumnsWriter(Protocol):
    """Collects the values of one top-level field for the columns that a version of the format has for it."""

    @property
    def fields(self) -> Sequence[Field]:
        """The fields that have columns, in the order of these."""

    @property
    def num_bytes(self) -> int:
        """Of the input that waits for its page to be full."""

    def add(self, array: pa.Array, first_row: int) -> Iterator[PageJob]:
        """The pages that further rows complete.

        raises: InvalidArgument for values that the field cannot have, with column and row
        """

    def finish(self) -> Iterator[PageJob]:
        """The last pages."""
