"""Scans behind the interface of `pyarrow.dataset.Dataset`: what engines that read Arrow datasets accept.

DuckDB, DataFusion and Polars ask a dataset for its schema, then for `scanner(columns, filter)`; they look for the
class, not for the methods. A filter that they hand over leaves their plan, so it is applied exactly, in SQL's order.
"""

from __future__ import annotations

import difflib
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import pyarrow as pa

# The module that defines the class: `pyarrow.dataset` would cost three times as much to import.
from pyarrow import _dataset

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument, UnsupportedFeature

if TYPE_CHECKING:
    import pyarrow.compute as pc


class AnyTask(Protocol):
    """A part of a scan."""

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """Its rows."""
        ...

    def project(self, columns: Any, schema: pa.Schema) -> AnyTask:
        """The same rows with the columns of a scan."""
        ...

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Its rows for an engine: no Python is between its threads and theirs; of errors it gets the text."""
        ...


class AnyScan(Protocol):
    """A read of some columns and rows: what a dataset needs of it."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """What `AnyTask.project` takes."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Of every batch."""
        ...

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """All rows."""
        ...

    def count_rows(self) -> int:
        """The number of rows."""
        ...

    def tasks(self, target_count: int) -> Sequence[AnyTask]:
        """The scan in about so many parts."""
        ...

    def task(self, parts: Any) -> AnyTask:
        """A part of the scan; `()` for one without rows."""
        ...

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows; see `AnyTask`."""
        ...


def limit_wait_for_interpreter(seconds: float) -> None:
    """Has every stream of the process that an engine's thread reads give up, with an error, where nobody gets Python's
    lock for so long; 0, as at first, for engines that do not hold it while they wait for their threads."""
    _kernels.limit_wait_for_interpreter(seconds)


class ArrowDataset(_dataset.Dataset):  # type: ignore[misc]  # untyped base
    """A `pyarrow.dataset.Dataset` without Arrow's own dataset behind it.

    Whatever of the base class would need that is overridden here: partly it would crash the process.
    """

    def __init__(self) -> None:
        """Does not call the base class, which cannot be made from Python."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns that the dataset has."""

    @abstractmethod
    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> AnyScan:
        """A read of some columns and rows."""

    def cast(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """A scan's batches in the types of `schema`."""
        return reader

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> Scanner:
        """One scan, as engines ask for it.

        options: what Arrow's own scans could further be told, which has no meaning here
        raises: TypeError for others
        """
        check_keywords("scanner", options, ("columns", "filter", "batch_size"))
        return Scanner(self, self.scan(self._names(columns), filter, batch_size=batch_size))

    def get_fragments(self, filter: pc.Expression | None = None) -> list[Fragment]:
        """The parts that an engine reads in parallel; one without rows when the filter leaves none."""
        scan = self.scan([], filter)
        # DataFusion cannot sort what has no partitions
        tasks = scan.tasks(os.cpu_count() or 1) or [scan.task(())]
        return [Fragment(self, task) for task in tasks]

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of `scanner`, batch by batch."""
        check_keywords("to_batches", options, ("columns", "filter", "batch_size"))
        return self.scanner(columns=columns, filter=filter, batch_size=batch_size).to_batches()

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> pa.Table:
        """The rows of `scanner`, all in memory."""
        check_keywords("to_table", options, ("columns", "filter", "batch_size"))
        return self.scanner(columns=columns, filter=filter, batch_size=batch_size).to_table()

    def head(
        self, num_rows: int, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **options: Any
    ) -> pa.Table:
        """The first rows."""
        check_keywords("head", options, ("num_rows", "columns", "filter"), also=("batch_size",))
        return self.cast(self.scan(self._names(columns), filter, limit=num_rows).to_reader()).read_all()

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """The number of rows that pass the filter."""
        check_keywords("count_rows", options, ("filter",), also=("batch_size",))
        return self.scan([], filter).count_rows()

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        """No columns means all of this dataset, which may have more or fewer than a plain scan."""
        names = column_names(columns)
        return list(self.schema.names if names is None else names)

    @property
    def partition_expression(self) -> NoReturn:
        raise _unsupported("partition_expression")

    @property
    def _scan_options(self) -> NoReturn:
        raise _unsupported("_scan_options")

    def filter(self, *_: Any, **__: Any) -> NoReturn:
        raise _unsupported("filter")

    def join(self, *_: Any, **__: Any) -> NoReturn:
        raise _unsupported("join")

    def join_asof(self, *_: Any, **__: Any) -> NoReturn:
        raise _unsupported("join_asof")

    def replace_schema(self, *_: Any, **__: Any) -> NoReturn:
        raise _unsupported("replace_schema")

    def sort_by(self, *_: Any, **__: Any) -> NoReturn:
        raise _unsupported("sort_by")

    def take(self, *_: Any, **__: Any) -> Any:
        raise _unsupported("take")

    def _get_fragments(self, *_: Any) -> NoReturn:
        raise _unsupported("_get_fragments")

    def _scanner_options(self, *_: Any) -> NoReturn:
        raise _unsupported("_scanner_options")

    def __setstate__(self, state: object) -> NoReturn:
        raise _unsupported("__setstate__")


_ARROWS: Final = ("batch_readahead", "fragment_readahead", "fragment_scan_options", "use_threads", "cache_metadata")
"""What Arrow's own scans are told of how to read, beside the pool of their memory."""

_OTHER_WORDS: Final = {"where": "filter", "predicate": "filter", "condition": "filter", "select": "columns"}


def check_keywords(method: str, given: Iterable[str], known: Sequence[str], *, also: Sequence[str] = ()) -> None:
    """Makes sure that every further keyword is one that Arrow's method of this name has as well.

    known: the method's own, for the message; also: those without a meaning here
    raises: TypeError
    """
    for name in given:
        if name in _ARROWS or name == "memory_pool" or name in also:
            continue
        close = _OTHER_WORDS.get(name) or next(iter(difflib.get_close_matches(name, known, n=1)), None)
        hint = f". Did you mean {close!r}?" if close in known else f"; it has {', '.join(known)}"
        raise TypeError(f"{method}() got an unexpected keyword argument {name!r}{hint}")


class Scanner:
    """A scan as engines read it: `projected_schema`, then `to_reader()` or `to_batches()`."""

    def __init__(self, dataset: ArrowDataset, scan: AnyScan | AnyTask) -> None:
        self._dataset = dataset
        self._scan = scan

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the batches; nothing is read for it."""
        return self._dataset.cast(self._scan.to_reader()).schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream, which reads nothing before its first batch is asked for."""
        return self._dataset.cast(pa.RecordBatchReader.from_stream(self._scan))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        return iter(self.to_reader())

    def to_table(self) -> pa.Table:
        """All rows in memory."""
        return self._dataset.cast(self._scan.to_reader(keeps_all=True)).read_all()


class Fragment:
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
        """The part's rows for these columns. The filter is the one that the fragments were asked for.

        batch_size: not heeded, it is an engine's default of a few thousand rows, and small batches are slow
        """
        check_keywords("scanner", options, ("schema", "columns", "filter", "batch_size"))
        scan = self._dataset.scan(self._dataset._names(columns))
        return Scanner(self._dataset, self._task.project(scan.columns, scan.schema))


def column_names(columns: Sequence[str] | None) -> list[str] | None:
    """The names of columns that a caller has given; None for all of them.

    raises: InvalidArgument for a text, whose letters would be taken for names, and for what is not a list of names
    """
    if columns is None:
        return None
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} is a text: give a list of names, such as [{columns!r}]")
    if not isinstance(columns, Iterable):
        raise InvalidArgument(f"columns={columns!r} is not a list of names")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgument(f"columns has {name!r}: give a list of names")
    return names


def _unsupported(name: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"Arrow's Dataset.{name} is not available on a Lance table; use scan, or a SQL engine")
