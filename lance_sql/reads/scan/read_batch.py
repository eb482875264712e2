"""Reading a batch by late materialization: filter columns first, other columns only for rows that passed.

A batch may have pieces of several fragments. Each column is read piece by piece, and concatenated before anything
is computed, so that a table of many short fragments costs no more than its rows.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.file.open_pages import LONG_FILE_ROWS
from lance_sql.format.layouts.page import concat
from lance_sql.format.schema import Field
from lance_sql.reads.scan import masks, system_columns
from lance_sql.reads.scan.pieces import Batch, Piece
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Predicate, evaluate_in_order
from lance_sql.table import fragment_rows, learning, small_fragments
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.values import row_ranges, selection
from lance_sql.values.row_ranges import RowRanges

ROWS_PER_RUN = 8
"""If there is a run of survivors in fewer rows of the batch than this, decoding everything is cheaper."""


class UnreadError(Exception):
    """A file that a scan reads for the first time has pages that are not read at once."""


def read(plan: ReadPlan, batch: Batch) -> pa.RecordBatch | None:
    """Returns the rows of the batch that pass the residual filter; None without any.

    raises: UnreadError, CorruptFile, UnsupportedFeature
    """
    if plan.residual is None:
        return _assemble(plan, batch, {})
    return _read_evaluated(plan, batch, plan.residual)


def _read_evaluated(plan: ReadPlan, batch: Batch, predicate: Predicate) -> pa.RecordBatch | None:
    """Returns the rows of the batch that pass a predicate."""
    tested, system, documents = plan.filter_fields, plan.filter_system_columns, plan.documents
    values: list[pa.Array] | None = None
    if batch[0].is_few and not documents:
        # reading all columns at once takes less time than leaving out values of a few rows
        read = _read_fields(plan.to_read, batch)
        known = dict(zip(plan.to_read.fields, read, strict=True))
        arrays = [known[field] for field in tested]
        values = read if plan.to_read is plan.columns.to_read else None
    else:
        arrays = _read_fields(FieldsToRead(tested, {**plan.delivered, **documents}), batch)
        known = {field: array for field, array in zip(tested, arrays, strict=True) if field.id not in documents}
    arrays += [_system_column(name, batch) for name in system]
    columns = [*(field.name for field in tested), *system]
    if len(batch) == 1 and not batch[0].is_short:
        for field, array in zip(tested, arrays, strict=False):
            learning.learn_values(batch[0].fragment, field, batch[0].rows, array)
    num_rows = len(arrays[0]) if arrays else _num_rows(batch)
    rows = record_batch(arrays, columns, num_rows)
    try:
        passed = evaluate_in_order(predicate, rows)
    except (CorruptFile, UnsupportedFeature) as error:
        name = next((field.name for field in tested if field.id in documents), None)
        error.located(None, name, None, batch[0].fragment.files.label)
        raise
    if values is not None and passed.true_count == num_rows:
        return _with_system_columns(plan, batch, num_rows, values)
    return _read_passed(plan, batch, passed, known)


def _read_passed(
    plan: ReadPlan, batch: Batch, mask: pa.BooleanArray, known: Mapping[Field, pa.Array]
) -> pa.RecordBatch | None:
    """Returns the rows of the batch where the mask is true; None without any.

    known: fields that have been read, for all rows of the batch
    """
    num_rows, num_passed = len(mask), mask.true_count
    if num_passed == 0:
        return None
    if num_passed == num_rows:
        return _assemble(plan, batch, known)
    wanted = plan.columns.fields
    chosen = {field: selection.filter_array(array, mask) for field, array in known.items() if field in wanted}
    missing = [field for field in wanted if field not in chosen]
    if missing and masks.num_runs(mask) * ROWS_PER_RUN > num_rows:
        arrays = _read_fields(FieldsToRead(missing, plan.delivered), batch)
        chosen.update(zip(missing, (selection.filter_array(array, mask) for array in arrays), strict=True))
        missing = []
    if missing or plan.columns.has_system_columns:
        return _assemble(plan, _choose(batch, masks.true_ranges(mask)), chosen)
    return _to_batch(plan, num_passed, [chosen[field] for field in wanted], {})


def record_batch(arrays: list[pa.Array], fields: list[pa.Field] | list[str], num_rows: int) -> pa.RecordBatch:
    """Returns a batch of `num_rows` rows, even without columns."""
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), num_rows, [None]))
    if isinstance(fields[0], str):
        return pa.RecordBatch.from_arrays(arrays, fields)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _assemble(plan: ReadPlan, batch: Batch, known: Mapping[Field, pa.Array]) -> pa.RecordBatch:
    """Returns the projected columns of the batch; `known` contains the fields that have been read."""
    columns = plan.columns
    if known:
        missing = [field for field in columns.fields if field not in known]
        read = dict(zip(missing, _read_fields(FieldsToRead(missing, plan.delivered), batch), strict=True))
        values = [known[field] if field in known else read[field] for field in columns.fields]
    else:
        values = _read_fields(columns.to_read, batch)
    return _with_system_columns(plan, batch, len(values[0]) if values else _num_rows(batch), values)


def _with_system_columns(plan: ReadPlan, batch: Batch, num_rows: int, values: Sequence[pa.Array]) -> pa.RecordBatch:
    """
    values: of the fields of the columns
    """
    if not plan.columns.has_system_columns:
        return _to_batch(plan, num_rows, values, {})
    others = [column.name for column in plan.columns if column.field is None and not column.is_null]
    return _to_batch(plan, num_rows, values, {name: _system_column(name, batch) for name in others})


def _to_batch(
    plan: ReadPlan, num_rows: int, values: Sequence[pa.Array], system_columns: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    """
    values: of the fields of the columns
    """
    columns = plan.columns
    if columns.are_values:
        in_order = [values[number] for number in columns.field_numbers if number is not None]
        return record_batch(in_order, [column.arrow for column in columns], num_rows)
    arrays = []
    for column, number in zip(columns, columns.field_numbers, strict=True):
        if number is not None:
            array = column.extract(values[number])
        elif column.is_null:
            array = pa.nulls(num_rows)
        else:
            array = system_columns[column.name]
        if not column.arrow.nullable and array.null_count:
            with at(column=column.name):
                raise CorruptFile("NULL in a column that may not be NULL")
        arrays.append(array)
    return record_batch(arrays, [column.arrow for column in columns], num_rows)


def _read_fields(wanted: FieldsToRead, batch: Batch) -> list[pa.Array]:
    """Reads one array for each field."""
    if not wanted.fields:
        return []
    first = batch[0]
    if len(batch) == 1 and not first.is_short and not first.is_few:
        return first.fragment.read(wanted, first.rows)
    plain = wanted.without_dictionaries
    if first.is_short:
        arrays = _read_short(plain, batch)
    else:
        arrays = fragment_rows.read([(piece.fragment, piece.rows) for piece in batch], plain)
    if plain is wanted:
        return arrays
    types = [wanted.delivered.get(field.id) for field in wanted.fields]
    return [
        array if type is None or array.type == type else array.dictionary_encode()
        for array, type in zip(arrays, types, strict=True)
    ]


def _read_short(wanted: FieldsToRead, batch: Batch) -> list[pa.Array]:
    """Reads the fields of short pieces, whose files are read together if possible."""
    small = small_fragments.read([piece.fragment for piece in batch], wanted)
    if None not in small.starts and len(small.columns[0]) == _num_rows(batch):
        return list(small.columns)
    for piece, start in zip(batch, small.starts, strict=True):
        if start is None and piece.fragment.num_rows >= LONG_FILE_ROWS:
            raise UnreadError
    parts = [
        piece.fragment.read(wanted, piece.rows)
        if start is None
        else [column.take(pa.array(row_ranges.expand(piece.rows) + start)) for column in small.columns]
        for piece, start in zip(batch, small.starts, strict=True)
    ]
    return [concat(column) for column in zip(*parts, strict=True)]


def _system_column(name: str, batch: Batch) -> pa.Array:
    return concat([system_columns.read(name, piece.fragment, piece.rows) for piece in batch])


def _num_rows(batch: Batch) -> int:
    return sum(piece.num_rows for piece in batch)


def _choose(batch: Batch, passed: RowRanges) -> list[Piece]:
    """Returns the rows at these positions of the batch."""
    chosen = []
    start = 0
    for piece in batch:
        end = start + piece.num_rows
        inside = row_ranges.clip(passed, start, end)
        if len(inside):
            rows = row_ranges.compose(piece.rows, inside - start)
            chosen.append(Piece(piece.fragment, rows, is_short=piece.is_short, is_few=piece.is_few))
        start = end
    return chosen
