"""Reading rows of the columns of data files: few rounds of requests, however many columns and pages there are.

A flat column takes two: the first brings the heads of pages that are met for the first time (chunk tables,
dictionaries), the second the values. All columns of a file ask for their ranges of a round at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.file import ahead, batch, native_columns
from lance_sql.file.batch import UnreadColumn, UntestedColumn
from lance_sql.file.native_columns import NativeRows
from lance_sql.file.reader import FileReader
from lance_sql.file.statistics import PageStatistics
from lance_sql.layouts.matching import Flags, ValueTest
from lance_sql.layouts.native import Form
from lance_sql.layouts.reading import Reading, Shared, run, together
from lance_sql.row_ranges import RowRanges
from lance_sql.store import ByteRange, requests

T = TypeVar("T")


class Column(Protocol):
    """A leaf of a table's field in one data file, with all that is around it up to the top-level field."""

    @property
    def file(self) -> FileReader: ...

    @property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """First table row of each page, then the number of rows: int64[pages + 1].

        raises: CorruptFile when the pages do not add up to the file's rows
        """
        ...

    @property
    def is_flat(self) -> bool:
        """Whether every table row is one value."""
        ...

    @property
    def row_bytes(self) -> float:
        """Bytes of Arrow data that one row takes, roughly."""
        ...

    def page_bytes(self, page: int) -> int:
        """Bytes of a page in the file, roughly."""
        ...

    def ahead(self, rows: RowRanges, short: int) -> list[ByteRange]:
        """Bytes that whoever reads the rows may ask for before the pages are opened; see `ahead`.

        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def has_dictionaries(self, most_items: int) -> bool | None:
        """Whether a page has a dictionary, of at most so many items, or strings that are short enough to become indices
        of one; None when a page has other values."""
        ...

    def num_dictionary_items(self) -> int | None:
        """The items of the largest dictionary of a page, 1 for a page of one value; None when a page has values without
        one.

        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def statistics(self) -> PageStatistics | None:
        """What is known of each page; reads what the file stores of it.

        raises: CorruptFile
        """
        ...

    def are_null(self, page: int, depth: int) -> bool | None:
        """Whether all values of a page are NULL, or none is, as far as its layout tells: None where it does not.

        depth: which values: 1 for those of the table's column, 2 for members of a struct that it is, and so on
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def read(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array | UnreadColumn]:
        """Reads `rows` (relative to the file's first row; at least one) in the form of the field's type, or fetches
        what the kernels need for it.

        raises: CorruptFile or UnsupportedFeature with the file, column and page
        """
        ...

    def native(self, rows: RowRanges) -> NativeRows | None:
        """The rows for the kernels, which know the pages; None where Python has a part in reading them. Of tests they
        may know nothing.

        raises: as `read`
        """
        ...

    def nested(self, rows: RowRanges) -> NativeRows | None:
        """The same for a leaf with the lists and structs around it, as arrays of the whole chain; such columns are not
        tested.

        raises: as `read`
        """
        ...

    def member(self, rows: RowRanges) -> NativeRows | None:
        """The same for a leaf inside of structs at most, as values by themselves: NULL where a struct around them is.
        Those are tested like the values of `native`.

        raises: as `read`
        """
        ...

    def observe(self, rows: RowRanges, zones: _kernels.ZoneBounds) -> None:
        """Shows the values of `rows` to the bounds of zones, as far as the kernels can look at them in the file.

        raises: as `read`, for damage of what is around values
        """
        ...

    def match(self, rows: RowRanges, test: ValueTest, flags: Flags) -> Reading[bool | UntestedColumn]:
        """Clears the flags of `rows` that do not match, or fetches what the kernels need for it; False, and no flag
        cleared, where they have to be read to know.

        flags: one for each of `rows`
        raises: as `read`
        """
        ...

    def select(self, rows: RowRanges) -> Reading[UnreadColumn | None]:
        """Fetches what the kernels need to read some of the rows; None where that is no faster than to read all.

        raises: as `read`
        """
        ...


def read_columns(columns: Sequence[Column], rows: RowRanges) -> list[pa.Array]:
    """One array for each column, in order; see `Column.read`."""
    rows = np.ascontiguousarray(rows)
    with ahead.holding(columns, rows):
        native = [_with_form(column.native(rows)) for column in columns]
        if None not in native:
            return native_columns.read([each for each in native if each is not None])[1]

        def start(places: Sequence[int]) -> list[Reading[pa.Array | UnreadColumn]]:
            shared = Shared()
            return [columns[place].read(rows, shared) for place in places]

        return batch.read(_fetch(columns, start))[1]


@dataclass(frozen=True, slots=True)
class Filtered:
    """What is left of some rows.

    done: which of the tests were carried out
    num_left: rows that have passed them
    arrays: one for each column, of the rows that are left; None where all rows are to be read
    """

    done: Sequence[bool]
    num_left: int
    arrays: Sequence[pa.Array | None]


def filter_columns(
    tests: Sequence[tuple[Column, ValueTest]], columns: Sequence[Column], rows: RowRanges, flags: Flags
) -> Filtered:
    """Clears the flags of rows that fail one of the tests, and reads the columns for the rows that are left.

    All columns ask for their bytes at once. The tests come one after the other: what one has ruled out, the next does
    not decode. Unless all of them can be carried out, no column is read.
    """
    everything = [column for column, _ in tests] + list(columns)
    with ahead.holding(everything, rows):
        return _filter_held(tests, columns, np.ascontiguousarray(rows), flags)


def _filter_held(
    tests: Sequence[tuple[Column, ValueTest]], columns: Sequence[Column], rows: RowRanges, flags: Flags
) -> Filtered:
    native = _filter_native(tests, columns, rows, flags)
    if native is not None:
        return native
    num_tests = len(tests)
    everything = [column for column, _ in tests] + list(columns)

    def start(places: Sequence[int]) -> list[Reading[bool | UntestedColumn | UnreadColumn | None]]:
        return [
            tests[place][0].match(rows, tests[place][1], flags)
            if place < num_tests
            else columns[place - num_tests].select(rows)
            for place in places
        ]

    found = _fetch(everything, start)
    done = [answer is not False for answer in found[:num_tests]]
    untested = [answer for answer in found[:num_tests] if isinstance(answer, UntestedColumn)]
    selected = [column if isinstance(column, UnreadColumn) else None for column in found[num_tests:]]
    if not all(done):
        selected = [None] * len(columns)
    num_left, arrays = batch.read([column for column in selected if column is not None], untested, flags)
    made = iter(arrays)
    return Filtered(done, num_left, [next(made, None) if column is not None else None for column in selected])


def _filter_native(
    tests: Sequence[tuple[Column, ValueTest]], columns: Sequence[Column], rows: RowRanges, flags: Flags
) -> Filtered | None:
    """The same where the kernels know all tested columns; None, and nothing done, where they do not."""
    tested = []
    for column, test in tests:
        found = column.native(rows)
        answers = found.column.test(test, found.pages) if found is not None else None
        if found is None or answers is None:
            return None
        tested.append((found, answers))
    wanted = [_with_form(column.native(rows)) for column in columns]
    num_left, arrays = native_columns.read([each for each in wanted if each is not None], tested, flags)
    made = iter(arrays)
    return Filtered([True] * len(tests), num_left, [next(made, None) if each is not None else None for each in wanted])


def _with_form(rows: NativeRows | None) -> tuple[NativeRows, Form] | None:
    form = rows.column.form(rows.pages) if rows is not None else None
    return (rows, form) if rows is not None and form is not None else None


def _fetch(columns: Sequence[Column], start: Callable[[Sequence[int]], list[Reading[T]]]) -> list[T]:
    """The results of readings of the columns, in order; those of one file share their requests.

    start: the readings of the columns at some places
    """
    by_file: dict[FileReader, list[int]] = {}
    for place, column in enumerate(columns):
        by_file.setdefault(column.file, []).append(place)
    concurrency = max((file.concurrency for file in by_file), default=1)
    calls = [partial(run, together(start(places)), file.fetch) for file, places in by_file.items()]
    results: dict[int, T] = {}
    for places, found in zip(by_file.values(), requests.together(calls, concurrency), strict=True):
        results.update(zip(places, found, strict=True))
    return [results[place] for place in range(len(columns))]
