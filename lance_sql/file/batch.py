"""Columns of a batch whose pages are read by the kernels: all of them, and the filter before them, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_sql import _kernels, row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.layouts.matching import Flags
from lance_sql.layouts.native import Form, Part
from lance_sql.layouts.page import concat


@dataclass(slots=True)
class NativePiece:
    """Rows of one or several pages that become one array.

    position: of the first row in the batch
    numbers: of the page of each part
    """

    position: int
    form: Form
    parts: list[Part]
    numbers: list[int]


@dataclass(frozen=True, slots=True)
class UnreadColumn:
    """A column of a batch, fetched and not yet decoded.

    pieces: in the order of the rows; arrays where a page is decoded in Python
    leaf: the type of the array
    where: adds to errors in which page they are
    """

    pieces: Sequence[NativePiece | pa.Array]
    leaf: pa.DataType
    where: Callable[[int], at]


@dataclass(frozen=True, slots=True)
class UntestedColumn:
    """A column of a batch, fetched and not yet tested.

    parts: rows of pages, each with its test and the position of the first row in the batch
    numbers: of the page of each part
    """

    parts: Sequence[tuple[object, ...]]
    numbers: Sequence[int]
    where: Callable[[int], at]


class Pieces:
    """Collects the pieces of a column, those of one form together."""

    def __init__(self) -> None:
        self.found: list[NativePiece | pa.Array] = []
        self._position = 0

    def add(self, number: int, form: Form, parts: Sequence[Part]) -> None:
        """More rows, which the kernels read."""
        last = self.found[-1] if self.found else None
        if not isinstance(last, NativePiece) or last.form != form:
            last = NativePiece(self._position, form, [], [])
            self.found.append(last)
        last.parts += parts
        last.numbers += [number] * len(parts)
        self._position += sum(row_ranges.count(part[1]) for part in parts)

    def add_array(self, array: pa.Array) -> None:
        """More rows, which Python has read."""
        self.found.append(array)
        self._position += len(array)


def read(
    columns: Sequence[UnreadColumn | pa.Array], tests: Sequence[UntestedColumn] = (), flags: Flags | None = None
) -> tuple[int, list[pa.Array]]:
    """The arrays of the columns, in order.

    tests, flags: with flags, those of rows that fail a test are cleared first, and the arrays have the rows that are
        left; no arrays when there are none
    returns: the number of rows left, and the arrays
    raises: CorruptFile with the file, column and page
    """
    pieces = [
        (column, piece)
        for column in columns
        if isinstance(column, UnreadColumn)
        for piece in column.pieces
        if isinstance(piece, NativePiece)
    ]
    num_left, failure = 0, None
    arrays: list[_kernels.NativeArray] = []
    if pieces or flags is not None:
        num_left, arrays, failure = _kernels.read_batch(
            [test.parts for test in tests], [(piece.position, piece.parts) for _, piece in pieces], flags
        )
    if failure is not None:
        in_test, place, part, message = failure
        owner = tests[place] if in_test else pieces[place][0]
        numbers = tests[place].numbers if in_test else pieces[place][1].numbers
        with owner.where(numbers[part]):
            raise CorruptFile(message)
    if flags is not None and num_left == 0:
        return 0, []
    imported = iter([_import(array, piece, column) for array, (column, piece) in zip(arrays, pieces, strict=True)])
    return num_left, [_joined(column, imported) if isinstance(column, UnreadColumn) else column for column in columns]


def _import(array: _kernels.NativeArray, piece: NativePiece, column: UnreadColumn) -> pa.Array:
    return piece.form.finish(pa.Array._import_from_c(array.address, piece.form.type), column.leaf)


def _joined(column: UnreadColumn, imported: Iterator[pa.Array]) -> pa.Array:
    return concat([next(imported) if isinstance(piece, NativePiece) else piece for piece in column.pieces])
