"""Query vectors of the user, checked against the searched column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.index_files.vector_index import METRICS
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.search import exact, indexed
from lance_sql.reads.search.ranking import DISTANCE, QUERY_INDEX, Ranking
from lance_sql.reads.search.vector_segments import NO_INDEX, ColumnIndex, column_index
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import kinds

"""Distance metrics, by their numbers in kernels and in index files. l2 is squared, dot is 1 - the product."""

_MOST_ROWS: Final = 2**32
MOST_QUERIES: Final = 2**16


@dataclass(frozen=True)
class VectorQuery:
    """One query, or several with `query_index`.

    column: a fixed-size list of numbers, or a list of them: a multivector
    vectors: in the type of the column's values (f32 for f16), [queries, dimension]; all of a multivector are one query
    k: number of rows for each query; None for all
    metric: None for that of the index, or the default of the column
    low, high: distances are at least `low` and below `high`
    """

    column: OutputColumn
    vectors: npt.NDArray[Any]
    k: int | None
    metric: str | None
    is_many: bool = False
    nprobes: int | None = None
    refine_factor: int | None = None
    use_index: bool = True
    fast_search: bool = False
    low: float = float("-inf")
    high: float = float("inf")
    leading: tuple[pa.Field, ...] = field(init=False)
    fields: tuple[pa.Field, ...] = (pa.field(DISTANCE, pa.float32()),)

    def __post_init__(self) -> None:
        index = (pa.field(QUERY_INDEX, pa.int32(), nullable=False),) if self.is_many else ()
        object.__setattr__(self, "leading", index)

    @property
    def is_multivector(self) -> bool:
        """Whether a row has several vectors."""
        return not pa.types.is_fixed_size_list(self.column.arrow.type)

    @property
    def vector_type(self) -> pa.DataType:
        return self.column.arrow.type.value_type if self.is_multivector else self.column.arrow.type

    @property
    def value_bits(self) -> int:
        return int(self.vector_type.value_type.bit_width)

    @property
    def dimension(self) -> int:
        """Number of values of a vector."""
        return int(self.vector_type.list_size)

    @property
    def num_queries(self) -> int:
        """Number of queries with a result of their own."""
        return 1 if self.is_multivector else len(self.vectors)

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """Ranks like `Ranker.rank`."""
        return rank_nearest(self, snapshot, allowed)

    def describe(self) -> str:
        """Describes like `Ranker.describe`."""
        many = f"{self.num_queries} vectors" if self.is_many else "a vector"
        most = "all rows" if self.k is None else f"{self.k} rows"
        return f"{most} nearest to {many} of {self.dimension} values in {self.column.name}"


def vector_query(
    snapshot: Snapshot,
    vector: Any,
    column: str | None = None,
    *,
    k: int | None = 10,
    metric: str | None = None,
    nprobes: int | None = None,
    refine_factor: int | None = None,
    use_index: bool = True,
    fast_search: bool = False,
    distance_range: tuple[float | None, float | None] | None = None,
) -> VectorQuery:
    """Returns a query, after validating it for the column.

    raises: InvalidArgument for an invalid query; ColumnNotFound; UnsupportedFeature for a column of other values
    """
    (chosen,) = resolve(snapshot, [vector_column(snapshot) if column is None else column])
    _check_type(chosen, snapshot)
    for name, value in (("k", k), ("nprobes", nprobes), ("refine_factor", refine_factor)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < _MOST_ROWS):
            raise InvalidArgument(f"{name}={value!r} is not a number of at least 1")
    if k is None and refine_factor is not None:
        raise InvalidArgument("refine_factor multiplies k: give k as well")
    low, high = distance_range or (None, None)
    bounds = (float("-inf") if low is None else float(low), float("inf") if high is None else float(high))
    if not bounds[0] <= bounds[1]:
        raise InvalidArgument(f"distance_range={distance_range!r} is not from a lower to a higher distance")
    type = chosen.arrow.type
    is_multi = not pa.types.is_fixed_size_list(type)
    vector_type = type.value_type if is_multi else type
    if metric is not None:
        _check_metric(metric, chosen, bits=vector_type.value_type.bit_width)
    vectors, is_many = _vectors(vector, vector_type, chosen.name, is_multi=is_multi)
    if metric == "cosine" and not np.all(np.any(vectors, axis=1)):
        raise InvalidArgument("A query vector of zeros has no direction, and no cosine distance to anything")
    return VectorQuery(
        chosen,
        vectors,
        k,
        metric,
        is_many,
        nprobes,
        refine_factor,
        use_index,
        fast_search,
        *bounds,
    )


def is_vector(type: pa.DataType) -> bool:
    """Whether a column of this type can be searched by vectors."""
    if kinds.is_list(type):
        type = type.value_type
    if not pa.types.is_fixed_size_list(type) or isinstance(type.value_type, pa.BaseExtensionType):
        return False
    value = type.value_type
    return bool(pa.types.is_floating(value) or pa.types.is_uint8(value)) and type.list_size > 0


def vector_column(snapshot: Snapshot) -> str:
    """Returns the name of the only vector column.

    raises: InvalidArgument if there are none or several
    """
    names: list[str] = [each.name for each in snapshot.manifest.schema.arrow if is_vector(each.type)]
    if len(names) != 1:
        if not names:
            raise InvalidArgument(f"{snapshot.label} has no vector column to search")
        raise InvalidArgument(
            f"{snapshot.label} has several vector columns ({', '.join(names)}): pass column= (--column), or"
            " vector_column in SQL"
        )
    return names[0]


def _check_type(column: OutputColumn, snapshot: Snapshot) -> None:
    type = column.arrow.type
    if column.field is None or not is_vector(type):
        raise UnsupportedFeature(
            f"{snapshot.label}: column {column.name!r} is {type}: pass a column of fixed-size lists of float16,"
            " float32, float64 or uint8, or of lists of them"
        )


def _check_metric(metric: str, column: OutputColumn, *, bits: int) -> None:
    if metric not in METRICS:
        raise InvalidArgument(f"metric={metric!r} is not one of {', '.join(METRICS)}")
    if (metric == "hamming") != (bits == 8):
        raise InvalidArgument(
            f"metric={metric!r} does not fit column {column.name!r}: use hamming for uint8, and other metrics for"
            " floats"
        )


def _vectors(given: Any, type: pa.DataType, name: str, *, is_multi: bool) -> tuple[npt.NDArray[Any], bool]:
    """Returns the queries as rows, and whether there are several."""
    if isinstance(given, pa.Array | pa.ChunkedArray | pa.Scalar):
        given = given.to_pylist() if not isinstance(given, pa.Scalar) else given.as_py()
    try:
        vectors = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"The query vector for {name!r} must be a list of numbers, not {_shown(given)}"
        ) from error
    if vectors.ndim not in (1, 2) or vectors.size == 0 or len(vectors) > MOST_QUERIES:
        raise InvalidArgument(
            f"The query for {name!r} has the shape {vectors.shape}: pass a vector, or a list of vectors"
        )
    if vectors.shape[-1] != type.list_size:
        raise InvalidArgument(
            f"The query vector has {vectors.shape[-1]} values, but column {name!r} has vectors of {type.list_size}"
        )
    if not np.isfinite(vectors).all():
        raise InvalidArgument(f"The query vector for {name!r} has values that are NULL, NaN or infinite")
    rows = vectors.reshape(-1, type.list_size)
    is_many = vectors.ndim == 2 and not is_multi
    if pa.types.is_uint8(type.value_type):
        if ((rows < 0) | (rows > 255) | (rows != np.floor(rows))).any():
            raise InvalidArgument(
                f"Column {name!r} has bytes, but the query vector has other values: pass whole numbers from 0 to 255"
            )
        return rows.astype(np.uint8), is_many
    with np.errstate(over="ignore"):
        stored = rows.astype(type.value_type.to_pandas_dtype())
    if not np.isfinite(stored).all():
        raise InvalidArgument(f"The query vector for {name!r} has values too large for {type.value_type}")
    return np.ascontiguousarray(stored.astype(np.float32) if stored.dtype == np.float16 else stored), is_many


def _shown(given: object) -> str:
    text = repr(given) if not isinstance(given, Sequence) or len(given) < 10 else f"{len(given)} values"
    return text if len(text) < 80 else text[:77] + "..."


def rank_nearest(query: VectorQuery, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
    """Returns the nearest rows; see `Ranker.rank`."""
    index = column_index(snapshot, query) if query.metric is None or _may_use(query, snapshot) else NO_INDEX
    metric = query.metric or index.metric or ("hamming" if query.value_bits == 8 else "l2")
    if index.segments and metric == index.metric and _may_use(query, snapshot):
        answer = indexed.search(query, snapshot, allowed, index, metric)
        if answer is not None:
            return ranking(query, answer[0], (*answer[1], *index.notes))
        index = replace(index, notes=(*index.notes, f"index {index.name}: it has a row twice, and is not used"))
    nearest = exact.new_nearest(query, query.k)
    exact.search(query, snapshot, allowed, metric, nearest)
    return ranking(
        query, nearest, (f"{metric}, every row that may be in the result is compared", *_why(query, index, metric))
    )


def _may_use(query: VectorQuery, snapshot: Snapshot) -> bool:
    """Whether an index may be searched: it does not help if all rows are wanted."""
    return query.use_index and snapshot.use_indices and query.k is not None


def _why(query: VectorQuery, index: ColumnIndex, metric: str) -> tuple[str, ...]:
    """Returns the reason why an existing index was not used."""
    if index.segments and index.metric != metric:
        return (f"index {index.name}: its metric is {index.metric}",)
    return index.notes if query.use_index else ()


def ranking(query: VectorQuery, nearest: _kernels.NearestRows, notes: tuple[str, ...]) -> Ranking:
    """Returns the collected rows, whose numbers are addresses."""
    rows, distances, numbers = [], [], []
    for number in range(query.num_queries):
        addresses, far = indexed.result(nearest, number)
        rows.append(addresses)
        distances.append(far)
        numbers.append(np.full(len(addresses), number, np.int32))
    scores = {DISTANCE: pa.array(np.concatenate(distances))}
    if query.is_many:
        scores[QUERY_INDEX] = pa.array(np.concatenate(numbers))
    return Ranking(np.concatenate(rows), scores, notes)
