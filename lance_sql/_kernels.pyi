"""Kernels: pure functions on contiguous buffers.

Buffers are any objects with the buffer protocol (pyarrow.Buffer, bytes, memoryview, C-contiguous NumPy
arrays); inputs are only read, outputs belong to the caller, must be writable and may be longer than needed.
Nothing outside a buffer is read or written. Integers are little endian; bitmaps and values of odd widths
are packed least significant bit first. All functions are thread-safe and release the GIL.

raises: InvalidDataError if sizes, counts or offsets are inconsistent (a damaged file), or a count is negative
or above 2**48; TypeError if an argument is not a buffer, or an output is read-only
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NoReturn, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

class _HasBuffer(Protocol):
    def __buffer__(self, flags: int, /) -> memoryview: ...

Buffer: TypeAlias = bytes | bytearray | memoryview | pa.Buffer | npt.NDArray[np.generic] | _HasBuffer
"""Argument type of the kernels; exists only in this stub."""

class InvalidDataError(ValueError):
    """Inconsistent bytes, counts or positions."""

class UnsupportedDataError(InvalidDataError):
    """What is in order, and not read here: `lance_sql.errors.UnsupportedFeature` with its place."""

# Enumerations. Numbers of the format and of the kernels stand in C++ alone: kernels/bind/shared_numbers.h.

class Compression(IntEnum):
    """Compression of buffers as opaque bytes."""

    LZ4 = 0
    ZSTD = 1

class FragmentColumn(IntEnum):
    """The columns of `fragment_table`."""

    START = 0
    """Start of the fragment's message, in bytes."""
    SIZE = 1
    """Size of the message, in bytes."""
    ID = 2
    PHYSICAL_ROWS = 3
    NUM_FILES = 4
    """Number of data files."""
    SIZE_BYTES = 5
    """Size of all data files; 0 if one is unknown."""
    HAS_DELETIONS = 6
    """Whether there is a deletion file."""
    NUM_DELETED_ROWS = 7
    NUM_OVERLAYS = 8
    ROW_IDS_FORM = 9
    """A `SequenceForm`."""
    ROW_IDS_LEAST = 10
    ROW_IDS_GREATEST = 11
    CREATED_AT_FORM = 12
    CREATED_AT_LEAST = 13
    CREATED_AT_GREATEST = 14
    LAST_UPDATED_AT_FORM = 15
    LAST_UPDATED_AT_LEAST = 16
    LAST_UPDATED_AT_GREATEST = 17
    HAS_LEGACY_FILES = 18
    """Whether a data file lists no columns, as those of version 0.1 do."""

class IpcCodec(IntEnum):
    """Compression of the values of an Arrow IPC file."""

    NONE = -1
    """Uncompressed."""
    LZ4_FRAME = 0
    ZSTD = 1

class JsonFaultKind(IntEnum):
    """Why a JSON document is refused."""

    DAMAGED = 0
    UNSUPPORTED = 1
    MISMATCH = 2
    """Its member is valid, and cannot become the result."""

class JsonResult(IntEnum):
    """Result of a function of the members of JSON documents. NULL for a null, if nothing else is said."""

    TEXT = 0
    """JSON text; null is a text as well."""
    STRING = 1
    """A string as it is; others as JSON text."""
    DOCUMENT = 2
    """A document of its own; null is one as well."""
    INTEGER = 3
    """int64, rounded. Strings may be numbers; booleans are 0 and 1."""
    FLOAT = 4
    """float64, likewise."""
    BOOLEAN = 5
    """Strings may be true, false, yes and no."""
    SCALAR = 6
    """Text of a string, number or boolean."""
    EXISTS = 7
    """Whether there is one; null is one."""
    LENGTH = 8
    """int64: the items of a list; 0 for others."""
    CONTAINS = 9
    """Whether it is a list with an item that is a text, as JSON or as a string."""

class JsonStepKind(IntEnum):
    """Step of a path into JSON."""

    KEY = 0
    INDEX = 1
    LAST = 2
    EITHER = 3
    """A member of an object, or an item of a list by the number that the key is."""

class Metric(IntEnum):
    """Distance measure of vectors."""

    L2 = 0
    """The square of the Euclidean distance."""
    COSINE = 1
    DOT = 2
    """1 - the product."""
    HAMMING = 3
    """Number of different bits; only for bytes."""

class NamedKind(IntEnum):
    """Kind of a file that a fragment refers to."""

    DATA = 0
    DELETIONS = 1
    EXTERNAL = 2
    """Row ids or versions of rows."""

class Outcome(IntEnum):
    """Relation of the left one of two values to the right one; a bit for each."""

    LESS = 1
    EQUAL = 2
    GREATER = 4

class PageForm(IntEnum):
    """Arrays of a reader of a page."""

    NONE = 0
    """There are no arrays: at most, values are tested for NULL."""
    VALUES = 1
    """Values of the type; for a type of indices whose page has no dictionary, those of its items."""
    PARTS = 2
    """The same, put together of their parts."""
    INDICES = 3
    """Indices to items of the page."""

class SequenceForm(IntEnum):
    """Storage of the row ids or versions of a fragment."""

    NONE = 0
    INLINE = 1
    EXTERNAL = 2
    """In a separate file."""
    HIDDEN_COLUMN = 3
    """In a data file."""

class ShapeKind(IntEnum):
    """Nesting of the columns of a batch."""

    STRUCT = 0
    LIST = 1
    MAP = 2

class Splitting(IntEnum):
    """Splitting of texts into words."""

    WORDS = 0
    """Into runs of word characters."""
    WHITESPACE = 1
    """At white space."""
    WHOLE = 2
    """The whole text is one word."""
    NGRAMS = 3
    """Into all substrings of so many characters."""

class ValueOrder(IntEnum):
    """Mapping of values to unsigned keys in the order of the values."""

    UNSIGNED = 0
    SIGNED = 1
    """The highest bit is flipped."""
    FLOAT = 2
    """IEEE: -0.0 is 0.0, and NaN is above everything."""

_Shape: TypeAlias = tuple[object, ...]
"""A kind of array, which is one of ("null",), ("plain", has offsets, bits, whether they may be stored in 128 bits),
("lists", items, shape), ("struct", shapes), and ("other",) for one that values with parts cannot have."""

Items: TypeAlias = tuple[int, int, bytes | None, bytes]
"""The items of a dictionary: their number, the bits of one or of an offset, offsets of byte strings, and their bytes.
An only one may have no offsets, and has all of the bytes."""

@final
class ColumnType:
    """The type that pages of files 2.1 and 2.2 become.

    shape: of a value; of an item, for a type of indices
    index_bits: of indices, otherwise 0
    most_items: that indices count
    makes_items: whether values without a dictionary are read as what items are
    outer: around a value, from the inside: bits of the offsets of a list or 0, items of a fixed-size list or 1
    is_nested: as arrays of all of it; otherwise of the values alone, where a value is NULL if a struct around it is
    are_places: the places of blobs, which are inside of the pages of blobs
    leaf_name, name: of the type of a value, and of the whole, for errors
    """

    def __init__(
        self,
        shape: _Shape,
        *,
        index_bits: int,
        most_items: int,
        makes_items: bool,
        outer: list[tuple[int, int]],
        is_nested: bool,
        are_places: bool,
        leaf_name: str,
        name: str,
    ) -> None: ...

def page_head(encoding: Buffer, num_buffers: int) -> list[int]:
    """Returns the numbers of the buffers that a page is opened with.

    encoding: the message of its layout
    raises: InvalidDataError if the layout cannot have this many; UnsupportedDataError for one that is not known
    """

@final
class PageReader:
    """A page that the kernels can read; created once, read in any rows, by any number of threads.

    format: of its arrays: whether there are offsets, and the bits of a value or of an offset
    list_size: of fixed-size lists: the items of each, which together are one value of `format`
    """

    @property
    def takes_extents(self) -> bool:
        """Whether it can read rows that are far apart without the bytes between them."""
    @staticmethod
    def stored(
        encoding: Buffer,
        num_rows: int,
        buffers: Sequence[tuple[int, int]],
        head: list[pa.Buffer],
        type: ColumnType,
    ) -> PageReader:
        """Opens a page of a file 2.1 or 2.2.

        encoding: the message of its layout
        buffers: start and end of each in the file
        head: the contents of those of `page_head`
        raises: InvalidDataError for a damaged page, and for values that cannot have the type; UnsupportedDataError
        """
    @property
    def form(self) -> PageForm:
        """The arrays of a stored page."""
    @property
    def place(self) -> tuple[int, int] | None:
        """Start and end of the bytes of a stored page; None for one that nothing reads here, such as of blobs."""
    @property
    def refusal(self) -> tuple[str, bool] | None:
        """Why the values of a stored page cannot be read, and whether they are in order."""
    @property
    def items(self) -> Items | None:
        """The items of the dictionary of a stored page."""
    @staticmethod
    def array_values(
        num_rows: int,
        *,
        size: int,
        values: tuple[int, int],
        validity: tuple[int, int] | None,
        format: tuple[bool, int],
        list_size: int | None = None,
    ) -> PageReader:
        """Creates a reader of a page of fixed-width values, with a validity bit for each.

        size: of the page's bytes; values, validity: buffers among them, as start and size
        raises: ValueError for buffers that are too short
        """
    @staticmethod
    def array_strings(
        num_rows: int,
        *,
        size: int,
        ends: tuple[int, int],
        bytes: tuple[int, int],
        null_adjustment: int,
        format: tuple[bool, int],
    ) -> PageReader:
        """Creates a reader of a page of adjacent byte strings: u64 end of each, greater by null_adjustment for NULL;
        see `array_values`."""
    @staticmethod
    def array_keys(
        num_rows: int,
        *,
        size: int,
        keys: tuple[int, int],
        key_bits: int,
        num_items: int,
        offset_bits: int,
        offsets: Buffer,
        data: Buffer,
        first_is_null: bool,
        format: tuple[bool, int],
    ) -> PageReader:
        """Creates a reader of dictionary keys of byte strings in memory; first_is_null: key 0 is NULL; see
        `array_values`."""
    @staticmethod
    def in_structs(values: PageReader, num_structs: int, num_rows: int) -> PageReader:
        """Creates a reader of values inside structs that are never NULL."""
    @staticmethod
    def constant(
        num_rows: int,
        *,
        format: tuple[bool, int],
        list_size: int | None = None,
        value: Buffer | None,
        validity: Buffer | None = None,
    ) -> PageReader:
        """Creates a reader of a page of one value for all rows; NULL without one.

        validity: a bit for each row, 0 for NULL; None if all rows have the value
        raises: ValueError for a value of another width, for too few bits, and for bits without a value
        """
    @staticmethod
    def number_runs(num_rows: int, *, starts: Buffer, values: Buffer, step: int) -> PageReader:
        """Creates a reader of unsigned 64-bit numbers that are in no file: runs of equal or consecutive numbers.

        starts: the first row of each run, int64, ascending from 0
        values: the number of that row, uint64
        step: difference of adjacent rows of a run, 0 or 1
        raises: ValueError for runs that do not match the number of rows
        """

@final
class PageTest:
    """Condition on rows of a page; NULL passes only `validity(False)`."""

    @staticmethod
    def range(order: ValueOrder, low: Buffer, high: Buffer, inside: bool) -> PageTest:
        """Tests for keys from low to high, both included, or for all others.

        low, high: 16 bytes, little endian
        """
    @staticmethod
    def items(answers: Buffer) -> PageTest:
        """Tests dictionary indices by a byte of 0 or 1 for each item of the page's dictionary."""
    @staticmethod
    def strings(low: Buffer, end: Buffer | None, inside: bool) -> PageTest:
        """Tests for byte strings from `low` on and before `end`, in byte order, or for all others."""
    @staticmethod
    def validity(is_valid: bool) -> PageTest:
        """Tests for valid values, or for NULL."""

@final
class NativeArray:
    """An ArrowArray of the C data interface, at `address`, for one import."""

    @property
    def address(self) -> int: ...

PageParts: TypeAlias = Sequence[tuple[int, Buffer, int] | tuple[int, Buffer, int, Buffer | None]]
"""Bytes of pages in ascending order: number of the page, the bytes, and their start in the file; for separate parts
also their starts and ends, int64[k, 2]."""

@final
class FileParts:
    """Bytes of some rows of a column, as read by `read_scattered`."""

@final
class ColumnReader:
    """A column of a file, whose pages are opened on demand.

    row_starts: first row of each page, then the number of rows: int64[pages + 1]
    """

    def __init__(self, row_starts: Buffer) -> None: ...
    def row_starts(self) -> npt.NDArray[np.int64]:
        """Returns the first row of each page, then the number of rows: int64[pages + 1]."""
    @property
    def lends(self) -> bool:
        """Whether an open page has values that may be passed on without a copy from the file."""
    def opened(self) -> list[tuple[int, PageForm]]:
        """Returns the numbers of the open pages of files 2.1 and 2.2, and their arrays."""
    def tested_values(self, page: int) -> tuple[int, bool, bool, Items | None] | None:
        """Returns what a test of a filter needs to know of an open page of files 2.1 and 2.2; None for others.

        returns: bits of numbers that are tested as they are stored, or of indices, otherwise 0; whether values are
            byte strings that are tested as they are stored; whether some may be NULL; the number of items of a
            dictionary, the bits of an item or of an offset, offsets of strings, and the items. The value of a constant
            page is its only item, without offsets
        """
    def open(self, page: int, reader: PageReader, start: int, end: int) -> None:
        """Opens a page, unless it is open; its bytes are [start, end) of the file."""
    def pages_of(self, first_row: int, end_row: int) -> tuple[int, int]:
        """Returns the first page of the rows, and the one after the last."""
    def scattered_spans(self, rows: Buffer) -> npt.NDArray[np.int64]:
        """Returns the bytes of the file with the rows: page, start and end of each part, int64[parts, 3]. Pages whose
        rows are far apart have several parts, without the gaps.

        rows: ranges of rows of open pages, int64[k, 2]
        """
    def observe(self, rows: Buffer, parts: PageParts, zones: ZoneBounds) -> None:
        """Adds the values of rows to the bounds of zones, for kinds of pages with keys.

        rows: as for `scattered_spans`
        """

def spans(columns: list[tuple[ColumnReader, Buffer]]) -> list[list[tuple[int, int, int]]]:
    """Returns the bytes of their files with rows of each column: page, start and end of each part.

    columns: with ranges of rows of open pages, int64[k, 2]
    """

def bound_runs(
    order: ValueOrder, num_bits: int, values: Buffer, validity: Buffer | None, offset: int, edges: Buffer
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Returns the bounds of ranges of an Arrow array: int64[k, 4], smallest and largest key (bits of uint64) of values
    that are neither NULL nor NaN, number of values, and of NaN among them.

    num_bits: as for `ZoneBounds`
    edges: positions from `offset` on, ascending: int64[k + 1]
    """

@final
class ZoneBounds:
    """Statistics of the keys of a column, zone by zone. Thread-safe.

    num_bits: of a value; for 128 bits, keys beyond 64 bits are not distinguished
    A zone is known once all of its rows were added, in adjacent runs.
    """

    def __init__(self, order: ValueOrder, num_bits: int, num_rows: int, rows_per_zone: int) -> None: ...
    @property
    def number(self) -> int:
        """Unique number among all bounds of the process, never reused."""
    @property
    def num_rows(self) -> int: ...
    @property
    def num_known(self) -> int: ...
    @property
    def all_known(self) -> bool: ...
    def numbers(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Returns int64[zones, 6]: first row seen and the one after the last, smallest and largest key (bits of uint64)
        of values that are neither NULL nor NaN, number of values, and of NaN among them."""
    def add_numbers(self, numbers: Buffer) -> None:
        """Adds rows of such numbers, each inside one zone; refuses inconsistent ones."""
    def observe_array(self, row: int, values: Buffer, validity: Buffer | None, offset: int, count: int) -> None:
        """Adds values of an Arrow array from `offset` on, which are those of the rows from `row` on."""
    def observe_strings(
        self,
        row: int,
        offsets: Buffer,
        offset_bits: int,
        data: Buffer,
        validity: Buffer | None,
        offset: int,
        count: int,
    ) -> None:
        """Adds strings like `observe_array`; their keys are their first eight bytes, big endian."""

@final
class ColumnTest:
    """A test of the values of a column, page by page."""

    def __init__(self, num_pages: int) -> None: ...
    def set(self, page: int, test: PageTest | bool) -> None:
        """Sets the condition on rows of a page, or whether all of them pass."""

def read_scattered(
    path: str, columns: Sequence[tuple[ColumnReader, Buffer]]
) -> tuple[Sequence[FileParts | None] | None, tuple[int, str] | None]:
    """Reads the bytes of rows that are far apart in a local file, without the gaps between them.

    columns: (column, ranges of rows) of the file
    returns: the bytes of each column, None for one that needs long ranges; None for all of them if no
        column has rows far apart, or if the file is shorter, is missing, is not a plain file, or is a link. And
        the damage: (number of the column, message)
    """

def read_rows(
    tests: Sequence[tuple[ColumnReader, Buffer, PageParts | FileParts, ColumnTest]],
    columns: Sequence[
        tuple[ColumnReader, Buffer, PageParts | FileParts] | tuple[ColumnReader, Buffer, PageParts | FileParts, int]
    ],
    flags: Buffer | None,
) -> tuple[int, list[NativeArray], tuple[bool, int, int, str] | None]:
    """Reads columns of a batch, all rows or those that pass tests; one array for each column.

    tests: (column, ranges of rows int64[k, 2], parts of its pages, condition on rows of each page)
    columns: likewise, and the position of the first row in the batch, if it is not 0
    flags: a byte for each row of the batch, cleared where a test fails; None: all rows are read
    returns: rows left, arrays (none if there are no rows left), and the damage: (in a test, number of the
        column, number of the page, message)
    """

def read_mapped(
    files: Sequence[tuple[Buffer, str | None, Sequence[ColumnReader | None], Buffer]],
) -> tuple[NativeArray, list[list[tuple[int, int]]]] | None:
    """Reads rows of columns of mapped files, of all files as one array.

    files: (all bytes, local path for rows that are far apart, columns, ranges of rows int64[k, 2]); each with the same
        columns
    returns: the columns, as a struct, and the bytes of each file that were touched: (start, end). None if a page was
        not opened by `open_columns`, or is damaged
    """

def to_batch(columns: Sequence[NativeArray]) -> NativeArray:
    """Returns columns of equal length, at least one, as one array, which is a struct of them."""

def hold_zone_bounds() -> None:
    """Waits, before a fork, until no thread is inside `ZoneBounds`, and keeps all threads out."""

def release_zone_bounds() -> None:
    """Reopens `ZoneBounds` after a fork, in the parent."""

def renew_zone_bounds() -> None:
    """Renews `ZoneBounds` after a fork, in the child."""

FilterStep: TypeAlias = int | Sequence[Sequence[FilterStep]]
"""Condition on rows: a test, by its number, a pair of columns, by its number after those of all tests, or all
steps of one of several lists."""

Shape: TypeAlias = int | tuple[ShapeKind, Sequence[Shape]]
"""A column of a batch: a column that is read, by its number, or its kind and its members."""

@final
class TestedColumn:
    """Column of a fragment whose values are tested.

    parts: of its pages
    test: what rows can pass
    bounds: learned of it; None for none
    """

    def __init__(self, reader: ColumnReader, parts: PageParts, test: ColumnTest, bounds: ZoneBounds | None) -> None: ...

@final
class ComparedColumns:
    """Two columns of a fragment whose values are compared row by row. NULL passes nothing.

    order: of the values; None for strings, by their bytes
    outcomes: of the left value that pass, added up
    divisor: above 0, the left value is the rest of an integer of at most 64 bits, with the integer's sign
    raises: ValueError for outcomes above 7
    """

    def __init__(
        self,
        left: ColumnReader,
        left_parts: PageParts,
        right: ColumnReader,
        right_parts: PageParts,
        order: ValueOrder | None,
        outcomes: int,
        divisor: int,
    ) -> None: ...

@final
class DeliveredColumn:
    """Column of a fragment that batches contain.

    nullable: whether there may be NULLs
    items: (first row, items): values from that row on are indices of the items, or 32 or 64, the bits of the offsets of
        strings that become indices of items
    lent: (page, bytes): bytes, as an array of uint8, are handed over without a copy where values lie in them as Arrow
        has them
    is_json: whether values are JSON documents, of which batches have the texts
    """

    def __init__(
        self,
        reader: ColumnReader,
        parts: PageParts,
        nullable: bool,
        items: Sequence[tuple[int, pa.Array | int]],
        lent: Sequence[tuple[int, pa.Array]],
        is_json: bool,
    ) -> None: ...

@final
class Evaluation:
    """The rest of a filter, evaluated by a function on values of the rows that pass all steps.

    columns, shapes: its input, as those of `FragmentRows`
    evaluate: called with a struct of these columns, by any thread. Returns the columns that are kept of the rows that
        pass, and a byte for each row, 1 if it passes, or None if all do; None if no row passes
    kept_at: the places of the kept columns in a batch, ascending
    """

    def __init__(
        self,
        columns: list[DeliveredColumn],
        shapes: Sequence[Shape | None],
        evaluate: Callable[[NativeArray], tuple[pa.RecordBatch | None, Buffer | None] | None],
        kept_at: Sequence[int],
    ) -> None: ...

@final
class FragmentRows:
    """Rows of one fragment that a stream decodes on its own, split into batches.

    steps: conditions that all have to hold
    evaluation: of the rows that pass them; its columns are numbered behind the others for `raise_failure`
    shapes: the columns of a batch; each column that is read is in one of them, by its number or among the members of a
        struct, as the items of a list, or as the entries of a map; None is a column of NULLs, of Arrow's type for that
    rows: int64[k, 2], ascending
    ends: the number of rows before the end of each batch, int64[batches]
    raise_failure: called with (in a test, number of the column, page or None, message, whether it is unsupported
        instead of damaged); raises
    raises: ValueError if the batches do not match the rows
    """

    def __init__(
        self,
        tests: list[TestedColumn],
        pairs: list[ComparedColumns],
        steps: Sequence[FilterStep],
        columns: list[DeliveredColumn],
        shapes: Sequence[Shape | None],
        rows: Buffer,
        ends: Buffer,
        raise_failure: Callable[[bool, int, int | None, str, bool], NoReturn],
        most_joined: int,
        evaluation: Evaluation | None = None,
    ) -> None: ...

@final
class BatchStream:
    """Batches in order, decoded ahead by threads of the process. Each is a struct with the columns of the schema.

    Iteration raises the errors of `batches` and of `FragmentRows`; an Arrow C stream returns their text.

    batches: fragments and `pyarrow.RecordBatch`es; the next one is requested on demand
    most_ahead: maximum batches that are decoded or wait to be consumed
    eager: decode ahead from the first batch on; otherwise the first is decoded alone
    at_end: called when the consumer is done, by a thread of the kernels, after the last decoded batch
    most_rows: limit of rows; the stream ends with the last of them, and decodes ahead only what they probably take

    A thread of the kernels also frees `batches`, unless it is at its end: a signal that arrives while the main
    thread closes a generator would be lost.
    """

    def __init__(
        self,
        batches: Iterator[FragmentRows | pa.RecordBatch],
        schema: pa.Schema,
        *,
        most_ahead: int,
        eager: bool,
        at_end: Callable[[], object] | None = None,
        most_rows: int | None = None,
    ) -> None: ...
    def __iter__(self) -> BatchStream: ...
    def __next__(self) -> NativeArray: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns a capsule with the stream itself, for one consumer; the schema is always the stream's."""

class FileMapping:
    """The bytes of a whole file, mapped into memory until it is freed. It needs no descriptor."""

    def __init__(self, descriptor: int, num_bytes: int) -> None:
        """
        descriptor: of a file open for reading, not needed afterwards
        num_bytes: size of the file, more than 0
        raises: OSError; InvalidDataError if the file is shorter
        """
    @property
    def address(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    def give_back(self) -> None:
        """Removes accessed pages from the memory of the process."""

@final
class ProcessShare:
    """One holder's share of a bounded resource of the process; returned when it is freed.
    Thread-safe; a forked process inherits the shares of its parent."""

    def take(self, number: int, most: int) -> int:
        """Takes up to `number` more units, as long as all holders of the process have at most `most`. Returns the units
        taken."""
    @staticmethod
    def total() -> int:
        """Returns the units of all holders of the process."""

def limit_decode_threads(most: int) -> None:
    """Limits the number of decoding threads. Running threads stay."""

def stop_decoding(most_seconds: float) -> None:
    """Stops decoding at exit: streams end with an error from now on. Returns when no thread decodes and no other thread
    is inside a stream, after at most this wait for the latter."""

def forget_decode_threads() -> None:
    """Resets the threads in a forked process; streams of the parent cannot be read there."""

def limit_wait_for_interpreter(seconds: float) -> None:
    """Limits how long streams whose consumer does not hold the interpreter's lock wait for it while no thread gets it;
    they then end with an error. 0, the default, means no limit."""

def keep_buffers(most_bytes: int) -> None:
    """Recycles buffers of released arrays for later ones, up to so many bytes, from now on."""

def kept_buffers() -> tuple[int, int]:
    """Returns the bytes of recycled buffers, and of large buffers held by arrays."""

def forget_buffers() -> None:
    """Resets the recycled buffers in a forked process."""

def compression_library(compression: Compression) -> str | None:
    """Returns the name and the version of the library that decompresses, as "libzstd.so.1 1.5.4", or None."""

def decompress_with(decompress: Callable[[Compression, bytes], Buffer]) -> None:
    """Sets the function that decompresses a buffer if a library is missing."""

def use_compression_libraries(are_used: bool) -> None:
    """Enables the libraries; for tests. False behaves as if there were none."""

def fsst_values(
    offsets: Buffer,
    offset_bits: int,
    num_values: int,
    data: Buffer,
    symbol_table: Buffer,
    start_row: int,
    out_offsets: Buffer,
    out_offset_bits: int,
    out: Buffer,
) -> tuple[int, int]:
    """Decodes byte strings from the codes of a symbol table: data[offsets[i] : offsets[i + 1]] for each.

    Stops before a run of rows of up to 4 KiB, or one longer row, that does not fit.
    """

def unpack(packed: Buffer, word_bits: int, num_bits: int, num_values: int, out: Buffer) -> None:
    """Unpacks values of out-of-line bitpacking: groups of 1024; the rest is one more group or plain words.

    packed: exactly the groups and the rest; word_bits: 8, 16, 32 or 64
    out: num_values words
    source: message OutOfLineBitpacking
    """

def lz4_size(block: Buffer) -> int:
    """Returns the size of a decompressed raw LZ4 block, without decompressing it.

    raises: InvalidDataError for a block that ends inside a sequence; distances are not checked
    """

def jsonb_from_text(offsets: Buffer, data: Buffer, valid: Buffer, out_offsets: Buffer, out: Buffer) -> tuple[int, str]:
    """Converts texts to stored JSON; returns the position of the first text that is not JSON, or -1, and the reason.

    offsets: int64, one more than there are texts; valid: a byte for each text, 0 for one that is skipped
    out_offsets: as offsets; out: at least 4 bytes for each byte of text, and 24 for each text
    """

JsonFault: TypeAlias = tuple[int, int, str]
"""Kind of fault, row and reason."""

JsonStep: TypeAlias = tuple[JsonStepKind, str, int]
"""Kind, key and index."""

def json_texts(documents: pa.Array) -> tuple[NativeArray | None, JsonFault | None]:
    """Returns the text of each document, a string array, or the first fault.

    documents: large_binary
    """

def to_json_texts(chain: NativeArray) -> JsonFault | None:
    """Replaces documents by their texts, inside structs and lists as well; returns the first fault.

    chain: made by kernels; each array has at most one child. Inside others, a document without bytes is NULL
    """

def json_members(
    documents: pa.Array, path: Sequence[JsonStep], result: JsonResult, wanted: str
) -> tuple[NativeArray | None, JsonFault | None]:
    """Returns the result for the member at a path of each document, NULL without one, or the first fault.

    documents: large_binary
    wanted: the text of JsonResult.CONTAINS
    returns: texts and documents with offsets of 64 bits
    """

# Dictionaries. `indices`: unsigned, of `index_bits` 8, 16, 32 or 64. All raise ValueError when an index is
# not below num_items.

def check_indices(indices: Buffer, index_bits: int, num_indices: int, num_items: int) -> None:
    """Refuses indices that are not below num_items."""

def gather_fixed(
    indices: Buffer,
    index_bits: int,
    num_indices: int,
    items: Buffer,
    num_items: int,
    width_bytes: int,
    out: Buffer,
) -> None:
    """Gathers items of `width_bytes` by index: out is num_indices * width_bytes bytes."""

def gather_variable_offsets(
    indices: Buffer,
    index_bits: int,
    num_indices: int,
    item_offsets: Buffer,
    item_offset_bits: int,
    num_items: int,
    out_offsets: Buffer,
    out_offset_bits: int,
) -> int:
    """Writes num_indices + 1 offsets of items of variable width, beginning with 0; returns the last.

    item_offsets: num_items + 1 offsets of 32 or 64 bits; out_offset_bits: 32 or 64
    raises: InvalidDataError also if the offsets fall, or the bytes exceed 32-bit offsets
    """

def gather_variable_bytes(
    indices: Buffer,
    index_bits: int,
    num_indices: int,
    item_offsets: Buffer,
    item_offset_bits: int,
    num_items: int,
    items_data: Buffer,
    out: Buffer,
) -> int:
    """Copies the bytes of the same items; returns their number.

    item_offsets: positions in `items_data`
    out: as many bytes as gather_variable_offsets returned
    """

# Bits, numbers and texts.

def mask_to_ranges(bitmap: Buffer, bit_offset: int, num_bits: int) -> npt.NDArray[np.int64]:
    """Returns the runs of ones among num_bits bits from bit_offset on: half-open ranges, int64[k, 2]."""

def narrow_decimal(values: Buffer, num_values: int, out: Buffer) -> bool:
    """Writes the low 8 of every 16 bytes; returns False if a value needs more (`out` is then invalid)."""

def contains(offsets: Buffer, offset_bits: int, num_strings: int, data: Buffer, text: Buffer, out: Buffer) -> None:
    """Sets the bit of each string that contains the bytes of `text`, which is not empty, and clears all others.

    offsets: of the strings in `data`: num_strings + 1 of 32 or 64 bits, ascending
    """

def scatter_ranges(data: Buffer, starts: Buffer, lengths: Buffer, out_starts: Buffer, out: Buffer) -> None:
    """Copies byte ranges of `data` to positions of `out`.

    starts, lengths, out_starts: int64, one for each range
    """

# Writing pages.

def assemble_chunks(
    chunk_starts: Buffer,
    num_levels: Buffer,
    rep: tuple[Buffer, Buffer] | None,
    def_: tuple[Buffer, Buffer] | None,
    values: Sequence[tuple[Buffer, Buffer]],
    large: bool,
    out: Buffer,
) -> None:
    """Assembles the chunks of a mini-block page from their parts: headers, levels, value buffers, padding.

    chunk_starts: int64[n + 1], start of each chunk in `out`; must match the sizes of its parts
    num_levels: u16[n]
    rep, def_, values: bytes and int64[n + 1] offsets into them, part i for chunk i
    raises: InvalidDataError also for sizes that do not fit the header
    """

def variable_chunks(
    offsets: Buffer,
    offset_bits: int,
    num_values: int,
    data: Buffer,
    item_starts: Buffer,
    out_starts: Buffer,
    out: Buffer,
) -> int:
    """Writes the value buffers of chunks of strings: offsets from the start of the buffer, bytes, zeros up to an
    offset.

    offsets: num_values + 1 of them, rising, of any first one; item_starts, out_starts: int64[n + 1], the first item
    of each chunk and the start of its buffer in `out`
    """

def group_widths(values: Buffer, word_bits: int, num_values: int, item_starts: Buffer, out: Buffer) -> None:
    """Writes the bits of the widest value of each chunk of up to 1024 values: u8[n]; item_starts: int64[n + 1]."""

def pack_inline(
    values: Buffer, word_bits: int, num_values: int, item_starts: Buffer, widths: Buffer, out: Buffer
) -> None:
    """Packs each chunk of up to 1024 values: a word with its width (u8[n]), and 128 bytes for each bit of it."""

def pack(
    values: Buffer,
    word_bits: int,
    num_bits: int,
    num_values: int,
    item_starts: Buffer,
    out_starts: Buffer,
    out: Buffer,
) -> None:
    """Packs each chunk as groups of 1024 values of num_bits; a last group that is not full is packed, or plain values.

    out_starts: int64[n + 1], start of the groups of each chunk; the sizes determine which last groups are plain
    """

def align_bits(
    bits: Buffer, bits_per_value: int, num_values: int, item_starts: Buffer, out_starts: Buffer, out: Buffer
) -> None:
    """Aligns the bits of the values of each chunk to a whole byte; out_starts: int64[n + 1], in bytes."""

def split_bytes(values: Buffer, width: int, num_values: int, item_starts: Buffer, out: Buffer) -> None:
    """Transposes the bytes of the values of each chunk; width: 2, 4, 8 or 16 bytes."""

def number_facts(pages: Sequence[Buffer], word_bits: int, num_values: int) -> npt.NDArray[np.int64]:
    """Returns facts for the choice of the encoding of pages with as many words each: int64[pages, 2], a new array.

    columns: number of words that differ from the one before; bit-packed bytes, in groups of 1024
    raises: InvalidDataError for pages without values, and for fewer bytes than they take
    """

def distinct_numbers(pages: Sequence[Buffer], width: int, num_values: int, num_tried: int) -> npt.NDArray[np.int64]:
    """Counts the distinct values among the first num_tried values of each page: int64[pages], a new array.

    pages: num_values values of `width` bytes each, 8 or 16
    raises: InvalidDataError for fewer values than are tried, and for fewer bytes than they take
    """

def number_pages(
    pages: Sequence[Buffer], word_bits: int, num_values: int, log2_items: int, is_packed: bool, large: bool
) -> list[tuple[bytes, bytes]]:
    """Encodes mini-block pages without levels, of as many words each: the chunk words, and the chunks.

    log2_items: of a chunk, 10 where is_packed
    is_packed: bit-packed, each chunk as wide as its widest word; otherwise as they are
    large: sizes of chunks and buffers take 32 bits
    raises: InvalidDataError for pages without values, fewer bytes than they take, and chunks that are too large
    """

def count_changes(values: Buffer, value_bits: int, num_values: int) -> int:
    """Counts the values that differ from the one before."""

def count_runs(values: Buffer, value_bits: int, num_values: int, item_starts: Buffer, out: Buffer) -> None:
    """Counts the runs of up to 255 values in each chunk: int64[n]."""

def encode_runs(
    values: Buffer, value_bits: int, num_values: int, item_starts: Buffer, out_values: Buffer, out_lengths: Buffer
) -> None:
    """Encodes the runs of all chunks: their values, and their lengths in one byte each."""

def encode_run_blocks(
    values: Buffer, value_bits: int, num_values: int, item_starts: Buffer, run_counts: Buffer, out: Buffer
) -> None:
    """Encodes the runs of each chunk as one block, side by side: u64 bytes of the run values, the values, the lengths.

    run_counts: result of `count_runs`
    """

def number_fixed(values: Buffer, width: int, num_values: int, out_indices: Buffer, out_firsts: Buffer) -> int:
    """Numbers distinct values in order of appearance. Returns their number, or -1 if there are too many,
    or if a thousand share their hash.

    values: of `width` 8 or 16 bytes
    out_indices: u32[num_values], the number of each value
    out_firsts: int64, the first position of the value of each number; its length is the limit
    """

def number_strings(
    offsets: Buffer, offset_bits: int, num_values: int, data: Buffer, out_indices: Buffer, out_firsts: Buffer
) -> int:
    """Numbers distinct strings like `number_fixed`."""

def sample_fixed(values: Buffer, width: int, num_values: int, num_blocks: int, block_items: int) -> int:
    """Counts the distinct values in `num_blocks` runs of `block_items` values, spread over all values."""

def sample_strings(
    offsets: Buffer, offset_bits: int, num_values: int, data: Buffer, num_blocks: int, block_items: int
) -> int:
    """Counts distinct strings like `sample_fixed`."""

def check_offsets(offsets: Buffer, offset_bits: int, num_values: int, num_items: int) -> None:
    """Refuses num_values + 1 offsets that do not rise, or end after `num_items`."""

def longest_string(offsets: Buffer, offset_bits: int, num_values: int) -> int:
    """Returns the bytes of the longest string; refuses offsets that do not rise."""

def fsst_train(
    offsets: Buffer, offset_bits: int, num_values: int, data: Buffer, sample_bytes: int, out: Buffer
) -> None:
    """Trains a symbol table of 2312 bytes for the strings, on a sample of about `sample_bytes` of them."""

def fsst_encode(
    offsets: Buffer,
    offset_bits: int,
    num_values: int,
    data: Buffer,
    symbol_table: Buffer,
    out_offsets: Buffer,
    out: Buffer,
) -> int:
    """Encodes the strings as codes of the table; returns their bytes.

    out_offsets: num_values + 1, from 0, of the width of `offsets`; out: room for twice the bytes of the strings
    raises: InvalidDataError also for a table that `fsst_train` did not make: it may have symbols that cannot be found
    """

def zip(
    rep: Buffer | None,
    def_: Buffer | None,
    num_entries: int,
    bits_rep: int,
    bits_def: int,
    max_rep: int,
    max_visible: int,
    value_bytes: int,
    length_bytes: int,
    offsets: Buffer | None,
    offset_bits: int,
    values: Buffer,
    out: Buffer,
    out_row_starts: Buffer | None,
) -> int:
    """Writes full-zip entries from levels (u16, None: all zero) and values; returns their bytes.

    values: of value_bytes each, or by `offsets` where length_bytes is 4 or 8; one for each entry with
    def <= max_visible, also where variable ones are null and not stored
    out_row_starts: int64, where each entry with rep == max_rep begins, then the end
    """

def split_manifest(manifest: Buffer) -> tuple[bytes, bytes]:
    """Returns the fields of a serialized Manifest: its fragments, back to back, and all others; each as stored.

    raises: InvalidDataError for bytes that are not a message
    """

def schema_fields(manifest: Buffer) -> tuple[list[str], list[int], list[int], list[str], list[bool], list[int]]:
    """Returns the fields of the schema in a serialized Manifest, in order: names, ids, ids of parents, logical types,
    and nullability. Then the positions of those that also have a dictionary, an extension or metadata.

    raises: InvalidDataError for bytes that are not a message; UnicodeDecodeError for names that are not UTF-8
    source: message lance.file.Field
    """

def schema_part(manifest: Buffer) -> bytes:
    """Returns the fields and the metadata of the schema in a serialized Manifest, each as stored.

    raises: InvalidDataError for bytes that are not a message
    source: message lance.table.Manifest
    """

def fragment_table(fragments: Buffer, with_bounds: bool) -> npt.NDArray[np.int64]:
    """Returns the properties of the fragments of `split_manifest`: int64[fragments, columns], a new array.

    columns: those of `FragmentColumn`. Unsigned values keep their bits; a sequence that cannot be bounded has 0 and
        2^64 - 1 as its least and greatest value
    with_bounds: False leaves all sequences unbounded, which takes a part of the time
    raises: InvalidDataError for bytes that are not messages of fragments
    source: message lance.table.DataFragment
    """

def key_filter(keys: Buffer, width: int, bits: int) -> bytes:
    """Returns a table of 2^bits bytes that are 1 at the hashes of the keys, a product as in Fibonacci hashing.

    keys: numbers of `width` bytes, 1, 2, 4 or 8
    raises: InvalidDataError for other widths, and for tables of less than 1 or more than 30 bits
    """

def passing_keys(keys: Buffer, width: int, flags: Buffer) -> npt.NDArray[np.int64]:
    """Returns the positions of keys whose flag is set in a table of `key_filter`, ascending.

    All keys of that table pass, and a few others.

    raises: InvalidDataError as for `key_filter`
    """

@final
class FragmentNames:
    """The files that the fragments of versions refer to; each fragment is parsed once."""

    def __init__(self) -> None: ...
    def add(self, fragments: Buffer) -> tuple[list[tuple[NamedKind, int | None, str]], list[int]]:
        """Returns the new references of fragments as of `split_manifest`, and the positions of fragments left
        to the caller: with overlays, unknown or repeated parts, names that are not ASCII, and damage.

        returns: for each file its kind, its base id, and its name in the folder of its kind; of a sequence the path
        raises: InvalidDataError for bytes that are not fields of a manifest with fragments
        source: messages lance.table.DataFragment, DataFile, DeletionFile and ExternalFile
        """

def ipc_column(file: Buffer) -> tuple[bool, list[tuple[int, int, int, int, IpcCodec]]]:
    """Locates the values of an Arrow IPC file of one column of 32-bit integers without NULLs.

    Returns whether they are signed, and for each record batch: its rows; where its values begin in the file, and their
    bytes; these bytes once decompressed, padding included, at least 4 for each row; and how they are compressed.

    raises: InvalidDataError for other files, and for positions outside of this one
    source: Arrow columnar format, IPC file format
    """

def parse_column(
    metadata: Buffer, file_size: int
) -> tuple[bytes, list[tuple[int, list[tuple[int, int]], bytes | None]]]:
    """Parses a serialized ColumnMetadata: the bytes of its encoding, and for each page its rows, the
    (start, end) of its buffers, and the bytes of its encoding, None if these are elsewhere.

    raises: InvalidDataError for bytes that are not a message, and for buffers outside of a file of `file_size` bytes
    source: message lance.file.v2.ColumnMetadata
    """

def serialize_column(encoding: bytes, pages: Sequence[tuple[int, tuple[tuple[int, int], ...], bytes, int]]) -> bytes:
    """Serializes the ColumnMetadata of a column, byte for byte like protobuf.

    encoding: the bytes that describe the column as a whole
    pages: of each its rows, the (start, end) of its buffers, the bytes that describe its encoding, and its first row
    raises: InvalidDataError for numbers that are negative, and for buffers that end before their start
    source: message lance.file.v2.ColumnMetadata
    """

def num_rows_of_file(descriptor: Buffer) -> int:
    """Returns the number of rows in a serialized FileDescriptor.

    raises: InvalidDataError for bytes that are not a message, and for more than 2^48 rows
    """

def open_columns(
    parts: list[tuple[int, Buffer]],
    table: Buffer,
    file_size: int,
    num_rows: int,
    columns: list[tuple[int, ColumnType, ColumnReader | None]],
    rows: Buffer,
    are_plain: bool,
) -> tuple[list[ColumnReader | None], list[int], int]:
    """Opens columns of one data file of version 2.1 or 2.2, with their pages that have some of the rows.

    A column is left out that has another number of rows, such a page without arrays, or any damage.

    parts: start and bytes of parts of the file
    table: of the position and size of the metadata of columns
    num_rows: that each column must have
    columns: of each its index, its type, and its reader from an earlier call, which gets the pages
    rows: ranges, int64[k, 2]
    are_plain: whether columns are left out that have pages of other forms than VALUES
    returns: the readers; start and end of each range of bytes that is not in the parts, and whose columns are left out;
        and the approximate memory of the new pages
    source: messages ColumnMetadata, PageLayout and CompressiveEncoding
    """

def read_small_files(
    paths: Sequence[str],
    num_rows: Buffer,
    types: list[ColumnType],
    column_indices: Buffer,
) -> tuple[list[bool], list[NativeArray]]:
    """Reads columns of many small local data files of version 2.1 and 2.2.

    A file is left out that has other rows than expected, more than 1 MiB, a column that `open_columns` leaves out,
    values that many rows share and that become far more bytes than it has, or any damage. Links are not followed.

    num_rows: int64[files], of each file
    types: of values without parts, not inside others
    column_indices: int64[files, columns]
    returns: whether each file was read; and each column, of all files that were read, one after the other
    """

def read_tail(path: str, most_bytes: int) -> tuple[int, bytes] | None:
    """Returns the size of a local file and its last bytes, or all of a shorter one; None if it is missing, or not a
    plain file. Links are not followed.
    """

@final
class BlockHasher:
    """xxHash64 of each block of bytes that arrive piece by piece. The bytes are not stored."""

    def __init__(self, block_bytes: int) -> None: ...
    def update(self, data: Buffer) -> None:
        """Adds bytes."""
    def finish(self) -> bytes:
        """Returns the hashes of the blocks, the last of which may be shorter: 8 bytes each, little-endian. More bytes
        may be added afterwards."""

def hash_fixed(values: Buffer, width: int, num_values: int, out: Buffer) -> None:
    """Writes the xxHash64 with seed 0 of values of `width` bytes each to u64[num_values]."""

def hash_strings(offsets: Buffer, offset_bits: int, num_values: int, data: Buffer, out: Buffer) -> None:
    """Hashes the byte strings between num_values + 1 offsets like `hash_fixed`; refuses offsets that do not rise."""

def bloom_insert(hashes: Buffer, filter: Buffer) -> None:
    """Sets the bits of hashes, u64, in a split block bloom filter of whole blocks of 32 bytes."""

class NearestRows:
    """The `k` nearest of the added rows, for each of some queries: by distance, then by number. Rows whose
    distance is NaN or infinite are left out. For one thread at a time."""

    def __init__(self, num_queries: int, k: int, low: float, high: float) -> None:
        """
        k: 0 for all rows
        low, high: distances from `low` on and below `high` count; -inf and +inf include all of them
        """

    def add_vectors(
        self,
        metric: Metric,
        value_bits: int,
        dimension: int,
        queries: Buffer,
        values: Buffer,
        validity: Buffer | None,
        first_bit: int,
        rows: Buffer,
        num_rows: int,
    ) -> None:
        """Adds vectors, one for each row.

        value_bits: 16, 32 or 64 of floats, 8 of unsigned bytes
        queries: one after the other, in the type of the values; f32 for those of 16 bits
        validity: row i is NULL where bit `first_bit + i` is 0; None where none is
        rows: the numbers of the rows, u64
        """

    def add_multivectors(
        self,
        metric: Metric,
        value_bits: int,
        dimension: int,
        num_vectors: int,
        queries: Buffer,
        values: Buffer,
        offsets: Buffer,
        rows: Buffer,
        num_rows: int,
    ) -> None:
        """Adds rows of several vectors each, for one query of `num_vectors`. The distance is the sum, over the
        vectors of the query, of the smallest distance to any vector of the row.

        offsets: i64[num_rows + 1], in vectors
        """

    def add_distances(self, query: int, distances: Buffer, allowed: Buffer | None, rows: Buffer, num_rows: int) -> None:
        """Adds rows with their distances, f32.

        allowed: a byte for each row, 0 for those that are left out
        """

    def join(self, other: NearestRows) -> None:
        """Adds the rows of another one."""

    def count(self, query: int) -> int:
        """Returns the number of rows for a query."""

    def result(self, query: int, rows: Buffer, distances: Buffer) -> None:
        """Writes the rows, u64, and distances, f32, of a query, best first."""

def vector_distances(
    metric: Metric, value_bits: int, dimension: int, query: Buffer, values: Buffer, num_rows: int, out: Buffer
) -> None:
    """Computes the distances of vectors to one query, f32; see `NearestRows.add_vectors`."""

def decode_postings(
    blocks: Buffer,
    offsets: Buffer,
    num_documents: int,
    block_size: int,
    is_varint: bool,
    most_documents: int,
    documents: Buffer,
    frequencies: Buffer,
) -> None:
    """Decodes the documents of a posting list and the frequency of the token in each, u32 each.

    offsets: i64, of the blocks, and the end of the last one
    block_size: documents of a block, 128 or 256
    is_varint: the last, partial block has variable-length differences, else numbers of 32 bits
    raises: InvalidDataError for documents that do not ascend, or are not below `most_documents`
    """

class WordDictionary:
    """Numbers of distinct words, in order of appearance. For one thread at a time."""

    def __init__(self, splitting: Splitting, least: int, most: int, prefix_only: bool, word_characters: Buffer) -> None:
        """
        least, most: characters of NGRAMS
        prefix_only: of NGRAMS, those at the beginning of a text
        word_characters: u32 pairs, the first and the last code point of each range
        """

    def add(self, text: Buffer, offsets: Buffer, num_texts: int) -> tuple[bytes, bytes]:
        """Tokenizes texts: returns word numbers, u32, and the end of the words of each text, i64.

        offsets: i64, of the texts in `text`, and the end of the last one
        raises: InvalidDataError for offsets outside
        """

    @property
    def num_words(self) -> int:
        """Number of distinct words."""

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""

    def words(self, first: int) -> list[bytes]:
        """Returns the words from a number on."""

class PostingLists:
    """Posting lists of each word, being built. For one thread at a time."""

    def __init__(self, has_positions: bool, has_no_order: bool) -> None:
        """
        has_positions: whether to store positions of words
        has_no_order: all positions are 0
        """

    def add(self, tokens: Buffer, ends: Buffer, num_texts: int, words: Buffer, is_document: Buffer) -> None:
        """Adds texts; those without words do not count as documents.

        tokens, ends: as of `WordDictionary.add`
        words: u32, the word of each token number; 2^32 - 1 for one that is left out
        is_document: a byte for each text, written
        raises: InvalidDataError for numbers outside
        """

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""

    @property
    def num_words(self) -> int:
        """Number of words with lists."""

    @property
    def num_documents(self) -> int:
        """Number of texts with words."""

    def lengths(self) -> bytes:
        """Returns the number of words of each document, u32."""

    def encode(
        self, order: Buffer
    ) -> tuple[tuple[bytes, bytes, bytes], tuple[bytes, bytes, bytes], bytes, bytes, bytes, bytes, bytes, bytes]:
        """Encodes the lists of these words, u32: blocks and impacts, each as bytes, i64 ends of items and i32 ends of
        lists; greatest scores, f32, and counts, u32, of each word; positions as bytes, i64 ends of words, u32 starts of
        blocks and i32 ends of the lists of these. All ends begin with 0.

        raises: InvalidDataError for unknown words
        """

def token_set(words: Buffer, ends: Buffer, num_words: int) -> bytes:
    """Builds the transducer of words in byte order; the number of each is its position.

    ends: i64, with a 0 in front
    raises: InvalidDataError for words out of order
    """

def nearest_centroids(
    rows: Buffer,
    num_rows: int,
    stride: int,
    first: int,
    centroids: Buffer,
    num_centroids: int,
    dimension: int,
    numbers: Buffer,
    distances: Buffer | None,
) -> None:
    """Finds the nearest centroid of each row by the squared distance: numbers, u32, and distances, f32.

    rows: f32, `stride` values each, of which `dimension` from `first` on are used
    centroids: f32 [num_centroids, dimension]
    """

def sum_by_centroid(
    rows: Buffer,
    num_rows: int,
    stride: int,
    first: int,
    dimension: int,
    numbers: Buffer,
    num_centroids: int,
    sums: Buffer,
    counts: Buffer,
) -> None:
    """Adds rows to the sums, f64 [num_centroids, dimension], and counts, i64, of their centroids."""

def product_codes(
    rows: Buffer, num_rows: int, dimension: int, codebook: Buffer, num_parts: int, num_bits: int, out: Buffer
) -> None:
    """Finds the nearest codebook item for each part of each row, u8 [num_rows, num_parts * num_bits / 8].

    rows: f32 [num_rows, dimension]
    codebook: f32 [num_parts, 2^num_bits, dimension / num_parts]
    """

class CodedPartitions:
    """Partitions of product codes that are compared with a query together.

    items: the codebook, f32 [num_parts, 2^num_bits, size]
    of_products: codes are of vectors, for dot; else of residuals to their centroids
    columns: byte j of row i is at j * num_rows + i; else at i * (bytes of a row) + j
    """

    def __init__(
        self, items: Buffer, num_parts: int, num_bits: int, size: int, of_products: bool, columns: bool
    ) -> None: ...
    def add(self, asked: Buffer, codes: Buffer, rows: Buffer, num_rows: int) -> None:
        """Adds a partition.

        asked: the query, or its residual to the centroid, f32
        codes: of 8 bits, or 4, the low ones of a byte first
        rows: i64, negative for missing ones
        """

    def show(self, nearest: NearestRows, query: int, allowed: Buffer) -> int:
        """Adds the rows of all partitions to `nearest`, for one query; returns how many took part. Uses several
        threads.

        allowed: a byte for each number of a row
        raises: InvalidDataError for buffers that are too short
        """

def rotate(rows: Buffer, num_rows: int, dimension: int, signs: Buffer, out: Buffer) -> None:
    """Rotates rows by signs and Walsh-Hadamard transforms, four times; f32 [num_rows, dimension] before and after.

    signs: ceil(dimension / 8) bytes for each round, whose set bits are negated values
    """

def rotated_bits(
    rows: Buffer,
    num_rows: int,
    dimension: int,
    numbers: Buffer,
    centroids: Buffer,
    num_centroids: int,
    num_bits: int,
    of_products: bool,
    out: Buffer,
) -> None:
    """Codes rotated rows by `num_bits` bits a value, 1 to 9, with the factors of their distances.

    rows: f32 [num_rows, dimension], residuals of vectors to their centroids; the dimension is divisible by 8
    numbers: u32, the centroid of each row
    centroids: f32 [num_centroids, dimension], rotated like the rows
    of_products: factors for products instead of squared distances
    out: of each row dimension / 8 bytes of signs, and f32 summand, factor and error of these; with more than one bit
        ceil(dimension / 64) blocks of 8 * (num_bits - 1) bytes, and f32 summand and factor
    raises: InvalidDataError for a row of an unknown centroid
    """

class QueriedWords:
    """The words of a query, for ranking of documents."""

    def add(
        self, documents: Buffer, ratios: Buffer, starts: Buffer, greatest: Buffer, factor: float, times: int
    ) -> None:
        """Adds a word with its documents, u32, and what `prepare_word_list` has made of them.

        factor: of ratios
        times: number of occurrences of the word in the query
        """

    def show(
        self, nearest: NearestRows, rows: Buffer, num_documents: int, allowed: Buffer, needed: int, k: int
    ) -> None:
        """Adds rows to `nearest` with their negative scores: the sums of factor times ratio over the words, in their
        order.

        rows: i64, of each document; negative for one to ignore
        allowed: a byte for each number of a row
        needed: minimum number of query words in a document
        k: only the best `k` are guaranteed to be added; 0 for all
        raises: InvalidDataError for inconsistent lists
        """

def prepare_word_list(
    documents: Buffer,
    frequencies: Buffer,
    count: int,
    norms: Buffer,
    num_documents: int,
    ratios: Buffer,
    starts: Buffer,
    greatest: Buffer,
) -> None:
    """Computes the ratios, f32, 2.2 * f / (f + norm), of a list of documents and frequencies, u32; and for each window
    of 512 documents its start in the list, u32 with the end of the last one, and its greatest ratio, f32.

    norms: f32, of all documents
    raises: InvalidDataError for documents outside
    """
