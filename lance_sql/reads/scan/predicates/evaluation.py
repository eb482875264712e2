"""Evaluation of a predicate for each row of a batch.

A leaf over one dictionary column is evaluated once per dictionary value; rows take the result by their indices.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.values.arrays import BoolMask

from .numbers import compared, integers
from .tree import (
    And,
    Call,
    ColumnRef,
    Compare,
    Const,
    In,
    IsNan,
    IsNull,
    IsUnknown,
    Literal,
    Not,
    Opaque,
    Or,
    Path,
    Predicate,
    Term,
    TextMatch,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def evaluate(predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Evaluates to true, false or NULL (unknown) for each row; a row passes the filter where it is true.

    batch: contains at least the columns of `predicate.columns`, under their top-level names
    raises: InvalidArgument for a value that makes the filter fail, such as an overflow in its arithmetic
    """
    try:
        return _evaluate(predicate, _Columns(batch))
    except pa.ArrowException as error:
        raise InvalidArgument(f"The filter {predicate} cannot be evaluated: {error}") from error


def passing(predicate: Predicate, path: Path, values: pa.Array) -> BoolMask:
    """Returns whether the predicate is true for each value of the only column that it reads.

    path: of that column
    raises: as `evaluate`
    """
    numbers = integers(values)
    passed = _passing_integers(predicate, numbers) if numbers is not None else None
    if passed is not None:
        return passed
    for name in reversed(path[1:]):
        values = pa.StructArray.from_arrays([values], [name])
    answers = evaluate(predicate, pa.RecordBatch.from_arrays([values], [path[0]]))
    return np.asarray(answers.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _passing_integers(predicate: Predicate, numbers: npt.NDArray[np.generic]) -> BoolMask | None:
    """Returns whether the predicate is true for each number; None for more than comparisons with integers."""
    match predicate:
        case Compare(op, ColumnRef(), Literal(value)) if isinstance(value, int):
            return compared(op, numbers, value)
        case And(arguments):
            parts = [_passing_integers(argument, numbers) for argument in arguments]
            known = [part for part in parts if part is not None]
            return reduce(np.logical_and, known) if len(known) == len(parts) else None
    return None


class _Columns:
    """Columns of a batch by path, each fetched once and in a type of the kernels."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self._stored: dict[Path, pa.Array] = {}
        self._plain: dict[Path, pa.Array] = {}

    def stored(self, path: Path) -> pa.Array:
        """Returns the column as stored in the batch, possibly a dictionary; NULL where a parent is NULL."""
        array = self._stored.get(path)
        if array is None:
            array = self.batch.column(path[0])
            if len(path) > 1:
                import pyarrow.compute as pc

                for name in path[1:]:
                    array = pc.struct_field(array, name)
            self._stored[path] = array
        return array

    def plain(self, path: Path) -> pa.Array:
        array = self._plain.get(path)
        if array is None:
            from . import comparisons

            array = self._plain[path] = comparisons.plain(self.stored(path))
        return array


def _evaluate(predicate: Predicate, columns: _Columns) -> pa.BooleanArray:
    import pyarrow.compute as pc

    from . import comparisons

    match predicate:
        case Const(value):
            return comparisons.constant(value, columns.batch.num_rows)
        case And(arguments):
            return _fold("and_kleene", arguments, columns)
        case Or(arguments):
            return _fold("or_kleene", arguments, columns)
        case Not(argument):
            return pc.invert(_evaluate(argument, columns))
        case IsUnknown(argument):
            return pc.is_null(_evaluate(argument, columns))
        case IsNull(operand=ColumnRef(path)):
            return _is_null(columns.stored(path))
        case Opaque():
            return _opaque(predicate, columns.batch)
    paths = predicate.columns
    if len(paths) == 1:
        (path,) = paths
        stored = columns.stored(path)
        if pa.types.is_dictionary(stored.type):
            return _dictionary(predicate, path, stored)
    return _leaf(predicate, columns)


def _fold(kernel: str, arguments: Sequence[Predicate], columns: _Columns) -> pa.BooleanArray:
    import pyarrow.compute as pc

    result = _evaluate(arguments[0], columns)
    for argument in arguments[1:]:
        if kernel == "and_kleene" and not result.null_count and not result.true_count:
            break
        result = pc.call_function(kernel, [result, _evaluate(argument, columns)])
    return result


def _leaf(predicate: Predicate, columns: _Columns) -> pa.BooleanArray:
    import pyarrow.compute as pc

    from . import comparisons, substrings

    match predicate:
        case Compare(op, left, Literal(value)):
            return comparisons.compare_value(op, _term(left, columns), value)
        case Compare(op, left, right):
            return comparisons.compare_arrays(op, _term(left, columns), _term(right, columns))
        case In(operand, values, _, has_null):
            return comparisons.is_member(_term(operand, columns), values, has_null)
        case IsNull(operand):
            return pc.is_null(_term(operand, columns))
        case IsNan(operand):
            return pc.is_nan(_term(operand, columns))
        case TextMatch("prefix", operand, pattern):
            return pc.starts_with(_term(operand, columns), pattern)
        case TextMatch("suffix", operand, pattern):
            return pc.ends_with(_term(operand, columns), pattern)
        case TextMatch("contains", operand, pattern):
            return substrings.contain(_term(operand, columns), pattern)
        case TextMatch("like", operand, pattern):
            return pc.match_like(_term(operand, columns), pattern)
    raise AssertionError(f"no evaluation of {type(predicate).__name__}")


def _term(term: Term, columns: _Columns) -> pa.Array:
    match term:
        case ColumnRef(path):
            return columns.plain(path)
        case Literal(value, type):
            from . import comparisons

            return pa.repeat(comparisons.scalar(value, type), columns.batch.num_rows)
        case Call(function, arguments, type):
            from .terms import FUNCTIONS

            return FUNCTIONS[function].evaluate(type, *[_term(argument, columns) for argument in arguments])


def _is_null(array: pa.Array) -> pa.BooleanArray:
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return pc.is_null(array.cast(array.type.value_type))
    return pc.is_null(array)


def _dictionary(predicate: Predicate, path: Path, array: pa.DictionaryArray) -> pa.BooleanArray:
    from . import comparisons

    answers = _evaluate(predicate, _nested_batch(path, array.dictionary))
    for_null: bool | None = None
    if array.indices.null_count:
        null = pa.nulls(1, array.type.value_type)
        for_null = _evaluate(predicate, _nested_batch(path, null))[0].as_py()
    return comparisons.take_answers(answers, array.indices, for_null)


def _nested_batch(path: Path, array: pa.Array) -> _Columns:
    for name in reversed(path):
        array = pa.StructArray.from_arrays([array], names=[name])
    return _Columns(pa.RecordBatch.from_struct_array(array))


def _opaque(predicate: Opaque, batch: pa.RecordBatch) -> pa.BooleanArray:
    import pyarrow.acero as acero
    import pyarrow.compute as pc

    names = dict.fromkeys(path[0] for path in predicate.paths)
    arrays = [_decoded(batch.column(name)) for name in names]
    table = pa.Table.from_arrays(arrays, names=list(names))
    if not names:
        table = pa.Table.from_batches([batch])
    expression = pc.Expression._deserialize(pa.py_buffer(predicate.payload))
    plan = acero.Declaration.from_sequence(
        [
            acero.Declaration("table_source", acero.TableSourceNodeOptions(table)),
            acero.Declaration("project", acero.ProjectNodeOptions([expression], ["answer"])),
        ]
    )
    answers = plan.to_table(use_threads=False).column(0).combine_chunks()
    return answers if answers.type == pa.bool_() else answers.cast(pa.bool_())


def _decoded(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return array.cast(array.type.value_type)
    return array
