"""Parts of a filter that no test of encoded values answers, evaluated on batches of a stream.

The kernels decode the columns of these parts for the rows that pass all tests, call the evaluation with them, and read
the other columns for the rows that are left.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.schema import arrow_field
from lance_sql.reads.scan import masks, system_columns
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Predicate, evaluate_in_order
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.values import selection
from lance_sql.values.arrays import U8


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Plans for rows of which a part of a filter is evaluated.

    inputs: of the columns of that part
    others: of the columns of the result that are not among them
    kept: positions of the other columns of the result, in `inputs`
    kept_at: their positions in the result, ascending
    """

    rest: Predicate
    inputs: ReadPlan
    others: ReadPlan
    kept: Sequence[int]
    kept_at: Sequence[int]

    def evaluation(
        self, columns: list[_kernels.DeliveredColumn], shapes: Sequence[_kernels.Shape | None]
    ) -> _kernels.Evaluation:
        """Returns the evaluation for a fragment.

        columns, shapes: of the inputs
        """
        return _kernels.Evaluation(columns, shapes, _Evaluate(self), self.kept_at)


def evaluated(plan: ReadPlan, rest: Predicate) -> Evaluated:
    """Returns the plans for rows of which a part of the filter is evaluated; the same object for the same part."""
    found = plan.evaluations.get(rest)
    if found is None:
        found = plan.evaluations[rest] = _evaluated(plan, rest)
    assert isinstance(found, Evaluated)
    return found


def _evaluated(plan: ReadPlan, rest: Predicate) -> Evaluated:
    inputs = list(_inputs(plan, {path[0] for path in rest.columns}))
    kept, kept_at = list[int](), list[int]()
    for place, column in enumerate(plan.columns):
        for index, wanted in enumerate(inputs):
            if (column.name, column.field, column.path) == (wanted.name, wanted.field, ()) and not column.is_null:
                # in the type of the result
                inputs[index] = column
                kept.append(index)
                kept_at.append(place)
    others = tuple(column for place, column in enumerate(plan.columns) if place not in kept_at)
    return Evaluated(
        rest, replace(plan.unfiltered, columns=tuple(inputs)), replace(plan, columns=others), kept, kept_at
    )


def _inputs(plan: ReadPlan, names: Container[str]) -> Iterator[OutputColumn]:
    """Yields the inputs of the filter with these names, as columns of the table."""
    for field in plan.filter_fields:
        if field.name in names:
            yield OutputColumn(field.name, field, (), arrow_field(field))
    for name in plan.filter_system_columns:
        if name in names:
            yield OutputColumn(name, None, (), system_columns.field(name))


class _Evaluate:
    """Evaluates a part of a filter. It references no file and no handle of the table."""

    def __init__(self, evaluated: Evaluated) -> None:
        self._predicate = evaluated.rest
        self._kept = evaluated.kept
        self._schema = pa.schema([(column.name, column.arrow.type) for column in evaluated.inputs.columns])

    def __call__(self, values: _kernels.NativeArray) -> tuple[pa.RecordBatch | None, U8 | None] | None:
        """Returns the kept columns of the rows that pass, and the flags of all rows, None if all pass; None if no row
        passes."""
        batch = pa.RecordBatch._import_from_c(values.address, self._schema)
        mask = evaluate_in_order(self._predicate, batch)
        num_passed = mask.true_count
        if num_passed == 0:
            return None
        columns = [batch.column(index) for index in self._kept]
        if num_passed == batch.num_rows:
            return _to_batch(columns), None
        return _to_batch([selection.filter_array(column, mask) for column in columns]), masks.to_flags(mask)


def _to_batch(columns: list[pa.Array]) -> pa.RecordBatch | None:
    return pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))) if columns else None
