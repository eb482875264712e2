"""Scans with the interface of `pyarrow.dataset.Dataset`, which engines that read Arrow datasets accept.

DuckDB, DataFusion and Polars read the schema of a dataset, then call `scanner(columns, filter)`. They test for the
class, not for the methods. Engines remove a pushed-down filter from their plan, so it is applied exactly, in SQL's
order.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import pyarrow as pa

# The module with the class: importing `pyarrow.dataset` takes three times as long.
from pyarrow import _dataset
from pyarrow._fs import LocalFileSystem

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.values.arguments import column_names
from lance_sql.values.guessed_names import OF_ROWS, RowsGuessed
from lance_sql.values.keywords import check_keywords

if TYPE_CHECKING:
    import pyarrow.compute as pc


class AnyTask(Protocol):
    """A part of a scan."""

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """Returns its rows."""
        ...

    def to_table(self) -> pa.Table:
        """Returns its rows in memory."""
        ...

    def project(self, columns: Any, schema: pa.Schema) -> AnyTask:
        """Returns the same rows with the columns of a scan."""
        ...

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports its rows to an engine without Python between the threads of both. The engine gets the text of
        errors."""
        ...


class AnyScan(Protocol):
    """A read of some columns and rows, with the members that a dataset needs."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """Columns in the form that `AnyTask.project` takes."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Schema of every batch."""
        ...

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """Returns all rows."""
        ...

    def to_table(self) -> pa.Table:
        """Returns all rows in memory."""
        ...

    def count_rows(self) -> int:
        """Counts the rows."""
        ...

    def to_pandas(self, **options: Any) -> Any:
        """Returns all rows as a DataFrame of pandas."""
        ...

    def to_polars(self) -> Any:
        """Returns all rows as a DataFrame of Polars."""
        ...

    def tasks(self, target_count: int) -> Sequence[AnyTask]:
        """Splits the scan into about `target_count` parts."""
        ...

    def task(self, parts: Any) -> AnyTask:
        """Returns a part of the scan; `()` for one without rows."""
        ...

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports all rows; see `AnyTask`."""
        ...


def limit_wait_for_interpreter(seconds: float) -> None:
    """Sets a timeout for threads of engines that wait for Python's lock while they read a stream of this process.
    Streams then fail with an error. 0, the default, suits engines that do not hold the lock while they wait for
    their threads."""
    _kernels.limit_wait_for_interpreter(seconds)


def _refused(name: str) -> Callable[..., Any]:
    """Returns a method of Arrow's datasets that Lance tables do not have."""

    def method(*_: Any, **__: Any) -> NoReturn:
        raise _unsupported(name)

    return method


_WAY_OUT: Final = "Arrow cannot scan a Lance table: pass dataset.scan().to_reader()"


@cache
def _unreadable() -> _dataset.FileSystemDataset:
    """Returns a dataset without columns whose scan fails with the way out.

    Arrow's threads open its file, whose path no file can have. A file system in Python would deadlock where the caller
    holds the interpreter's lock, as pylance does.
    """
    kind, place = _dataset.IpcFileFormat(), LocalFileSystem()
    fragment = kind.make_fragment(f"{os.devnull}/{_WAY_OUT}", place)
    return _dataset.FileSystemDataset([fragment], pa.schema([]), kind, place)


if TYPE_CHECKING:
    # pyarrow has no types: a base class without types would hide misspelled names from type checkers
    _Base = object
else:
    _Base = _dataset.UnionDataset


class ArrowDataset(RowsGuessed, _Base):
    """A `pyarrow.dataset.Dataset` whose rows Arrow cannot scan itself.

    Overrides all methods of the base class that would. Functions of Arrow in C++, such as `Scanner.from_dataset`, get a
    dataset whose scan fails; without one they would crash the process.
    """

    _guessed_names = OF_ROWS

    def __init__(self) -> None:
        _dataset.UnionDataset.__init__(self, pa.schema([]), [_unreadable()])

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of the dataset."""

    @abstractmethod
    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> AnyScan:
        """Returns a read of some columns and rows."""

    is_widened: bool = False
    """Whether `cast` changes anything."""

    def cast(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Casts the batches of a scan to the types of `schema`."""
        return reader

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> Scanner:
        """Returns one scan, as engines request it.

        options: options of Arrow's own scans, which are ignored here
        raises: TypeError for others
        """
        check_keywords("scanner", options, ("columns", "filter", "batch_size"), also=IGNORED_KEYWORDS)
        return Scanner(self, self.scan(self._names(columns), filter, batch_size=batch_size))

    def get_fragments(self, filter: pc.Expression | None = None) -> list[DatasetFragment]:
        """Returns the parts that an engine reads in parallel; one without rows if the filter matches none."""
        scan = self.scan([], filter)
        # DataFusion cannot sort a dataset without partitions
        tasks = scan.tasks(os.cpu_count() or 1) or [scan.task(())]
        return [DatasetFragment(self, task) for task in tasks]

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows of `scanner`, batch by batch."""
        check_keywords("to_batches", options, ("columns", "filter", "batch_size"), also=IGNORED_KEYWORDS)
        return self.scanner(columns=columns, filter=filter, batch_size=batch_size).to_batches()

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> pa.Table:
        """Returns the rows of `scanner`, all in memory."""
        check_keywords("to_table", options, ("columns", "filter", "batch_size"), also=IGNORED_KEYWORDS)
        return self.scanner(columns=columns, filter=filter, batch_size=batch_size).to_table()

    def head(
        self, num_rows: int, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **options: Any
    ) -> pa.Table:
        """Returns the first rows."""
        check_keywords("head", options, ("num_rows", "columns", "filter"), also=IGNORED_KEYWORDS)
        return self.cast(self.scan(self._names(columns), filter, limit=num_rows).to_reader()).read_all()

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """Counts the rows that match the filter."""
        check_keywords("count_rows", options, ("filter",), also=IGNORED_KEYWORDS)
        return self.scan([], filter).count_rows()

    def to_pandas(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **options: Any
    ) -> Any:
        """Returns the rows as a DataFrame of pandas.

        columns, filter: as for `scan`
        options: of `pyarrow.Table.to_pandas`
        raises: as `scan`; MissingDependency
        """
        return self.scan(columns, filter).to_pandas(**options)

    def to_polars(self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None) -> Any:
        """Returns the rows as a DataFrame of Polars.

        columns, filter: as for `scan`
        raises: as `scan`; MissingDependency
        """
        return self.scan(columns, filter).to_polars()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        """Returns the given names, or all columns of this dataset, which may be more or fewer than those of a plain
        scan."""
        names = column_names(columns)
        return list(self.schema.names if names is None else names)

    def __dir__(self) -> list[str]:
        """Leaves out internals, and methods of Arrow's datasets that Lance tables do not have."""
        return [name for name in super().__dir__() if name not in _NOT_LISTED]

    @property
    def children(self) -> NoReturn:
        raise _unsupported("children")

    @property
    def partition_expression(self) -> NoReturn:
        raise _unsupported("partition_expression")

    @property
    def _scan_options(self) -> NoReturn:
        raise UnsupportedFeature(_WAY_OUT)

    def _scanner_options(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedFeature(_WAY_OUT)

    filter = _refused("filter")
    join = _refused("join")
    join_asof = _refused("join_asof")
    replace_schema = _refused("replace_schema")
    sort_by = _refused("sort_by")
    take = _refused("take")
    _get_fragments = _refused("_get_fragments")

    def __setstate__(self, state: object) -> NoReturn:
        raise _unsupported("__setstate__")


_NOT_LISTED: Final = frozenset(
    {
        *("cast", "children", "filter", "join", "join_asof", "partition_expression", "replace_schema", "sort_by"),
        *("arguments", "compact_types", "explain_commits", "get_fragments", "of_inserts_by", "of_version", "predicate"),
        *("is_widened", "range_type", "scanner", "snapshot", "system_columns", "with_properties"),
    }
)

IGNORED_KEYWORDS: Final = (
    "batch_readahead",
    "batch_size",
    "cache_metadata",
    "fragment_readahead",
    "fragment_scan_options",
    "memory_pool",
    "use_threads",
)
"""Options of Arrow's own scans, which methods of this class accept and ignore."""


class Scanner:
    """A scan as engines read it: `projected_schema`, then `to_reader()` or `to_batches()`."""

    def __init__(self, dataset: ArrowDataset, scan: AnyScan | AnyTask) -> None:
        self._dataset = dataset
        self._scan = scan

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the batches; reads nothing."""
        return self._dataset.cast(self._scan.to_reader()).schema

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream, which reads nothing before its first batch is requested."""
        return self._dataset.cast(pa.RecordBatchReader.from_stream(self._scan))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Returns the rows, batch by batch."""
        return iter(self.to_reader())

    def to_table(self) -> pa.Table:
        """Returns all rows in memory."""
        if not self._dataset.is_widened:
            return self._scan.to_table()
        return self._dataset.cast(self._scan.to_reader(keeps_all=True)).read_all()


class DatasetFragment:
    """A part of a dataset's rows: one partition of an engine."""

    def __init__(self, dataset: ArrowDataset, task: AnyTask) -> None:
        self._dataset = dataset
        self._task = task

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> Scanner:
        """Returns the part's rows with these columns. The filter is the one passed to `get_fragments`.

        batch_size: ignored, because engines pass a few thousand rows by default, and small batches are slow
        """
        check_keywords("scanner", options, ("schema", "columns", "filter", "batch_size"), also=IGNORED_KEYWORDS)
        scan = self._dataset.scan(self._dataset._names(columns))
        return Scanner(self._dataset, self._task.project(scan.columns, scan.schema))


def _unsupported(name: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"Arrow's Dataset.{name} is not available on a Lance table: use scan, or a SQL engine")
