"""Parts of a filter that no test of encoded values answers, evaluated on batches of a stream.

The kernels decode the columns of these parts for the rows that pass all tests, call the evaluation with them, and read
the other columns for the rows that are left.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.schema import arrow_field
from lance_sql.reads.scan import masks, system_columns
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Predicate, evaluate_in_order
from lance_sql.reads.scan.projection import Columns, OutputColumn
from lance_sql.values import selection
from lance_sql.values.arrays import U8


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Plans for rows of which a part of a filter is evaluated.

    inputs: of the columns of that part
    others: of the columns of the result that are not among them
    kept: positions of the other columns of the result, in `inputs`
    kept_at: their positions in the result, ascending
    documents: names of the columns of JSON whose documents are evaluated
    """

    rest: Predicate
    inputs: ReadPlan
    others: ReadPlan
    kept: Sequence[int]
    kept_at: Sequence[int]
    documents: frozenset[str]

    def evaluation(
        self,
        columns: list[_kernels.DeliveredColumn],
        shapes: Sequence[_kernels.Shape | None],
        places: Sequence[InPages],
    ) -> _kernels.Evaluation:
        """Returns the evaluation for a fragment.

        columns, shapes: of the inputs
        places: of the columns in the file
        """
        document = next((place for place in places if place.column in self.documents), None)
        return _kernels.Evaluation(columns, shapes, _Evaluate(self, document), self.kept_at)


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
            is_same = (column.name, column.field, column.path) == (wanted.name, wanted.field, ())
            is_document = wanted.field is not None and wanted.field.id in plan.documents
            if is_same and not column.is_null and not is_document:
                # in the type of the result
                inputs[index] = column
                kept.append(index)
                kept_at.append(place)
    others = Columns(column for place, column in enumerate(plan.columns) if place not in kept_at)
    documents = frozenset(field.name for field in plan.filter_fields if field.id in plan.documents)
    inputs_plan = replace(plan.unfiltered, columns=Columns(inputs))
    return Evaluated(rest, inputs_plan, replace(plan, columns=others), kept, kept_at, documents)


def _inputs(plan: ReadPlan, names: Container[str]) -> Iterator[OutputColumn]:
    """Yields the inputs of the filter with these names, as columns of the table."""
    for field in plan.filter_fields:
        if field.name in names:
            arrow = arrow_field(field)
            if field.id in plan.documents:
                arrow = arrow.with_type(plan.documents[field.id])
            yield OutputColumn(field.name, field, (), arrow)
    for name in plan.filter_system_columns:
        if name in names:
            yield OutputColumn(name, None, (), system_columns.field(name))


class _Evaluate:
    """Evaluates a part of a filter. It references no file and no handle of the table.

    document: a column of documents, for errors
    """

    def __init__(self, evaluated: Evaluated, document: InPages | None) -> None:
        self._document = document
        self._predicate = evaluated.rest
        self._kept = evaluated.kept
        self._schema = pa.schema([(column.name, column.arrow.type) for column in evaluated.inputs.columns])

    def __call__(self, values: _kernels.NativeArray) -> tuple[pa.RecordBatch | None, U8 | None] | None:
        """Returns the kept columns of the rows that pass, and the flags of all rows, None if all pass; None if no row
        passes."""
        batch = pa.RecordBatch._import_from_c(values.address, self._schema)
        try:
            mask = evaluate_in_order(self._predicate, batch)
        except (CorruptFile, UnsupportedFeature) as error:
            if self._document is not None:
                error.located(self._document.file, self._document.column, None, self._document.table)
            raise
        num_passed = mask.true_count
        if num_passed == 0:
            return None
        columns = [batch.column(index) for index in self._kept]
        if num_passed == batch.num_rows:
            return _to_batch(columns), None
        return _to_batch([selection.filter_array(column, mask) for column in columns]), masks.to_flags(mask)


def _to_batch(columns: list[pa.Array]) -> pa.RecordBatch | None:
    return pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))) if columns else None
