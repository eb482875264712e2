"""Filter of a fragment whose batches the kernels read alone: tests of pages, pairs of columns, and remainders of
integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import Outcome, ValueOrder
from lance_sql.format.file.column import Column
from lance_sql.format.file.column_rows import streamed
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.file.located_rows import InPages, PageParts
from lance_sql.format.file.mapped_columns import OpeningTogether
from lance_sql.format.file.open_column import OpenRows
from lance_sql.format.layouts.matching import ValueTest, key_order
from lance_sql.format.schema import Field
from lance_sql.format.schema.types import arrow_field
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.members import member
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import (
    AnyOf,
    ColumnCondition,
    Compare,
    Const,
    Literal,
    PairTest,
    Path,
    Predicate,
    RestTest,
    Step,
    conjunction,
    conjuncts,
    divided,
)
from lance_sql.reads.scan.projection import restrict
from lance_sql.reads.scan.virtual_columns import missing_column, system_column
from lance_sql.table import learning
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import kinds
from lance_sql.values.row_ranges import RowRanges

_OUTCOMES: Final = {
    "=": Outcome.EQUAL,
    "<>": Outcome.LESS | Outcome.GREATER,
    "<": Outcome.LESS,
    "<=": Outcome.LESS | Outcome.EQUAL,
    ">": Outcome.GREATER,
    ">=": Outcome.EQUAL | Outcome.GREATER,
}

_NO_BYTES: Final[PageParts] = []


@dataclass(frozen=True, slots=True)
class FilterColumn:
    """A column, or a member of structs, that a filter reads.

    field: of the table's column, cut down to the member; None for a system column
    """

    type: pa.DataType
    field: Field | None
    opened: OpenRows


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two columns by their indices, or one and a value of its type, which the kernels compare.

    order: of both; None for strings
    divisor: compares the remainder of the left column; 0 without one
    """

    left: int
    right: int | _kernels.ColumnReader
    order: ValueOrder | None
    outcomes: int
    divisor: int = 0


def bound_filter(
    plan: ReadPlan, fragment: OpenFragment, rows: RowRanges
) -> tuple[EncodedFilter, Sequence[_kernels.FilterStep], Predicate | None]:
    """Binds the filter of a plan to the pages of some rows.

    returns: the tests, the steps that rows have to pass, and the rest of the filter, which needs decoded values
    """
    steps, rest = plan.steps
    if not steps:
        return EncodedFilter(plan, fragment, rows), [], rest
    wide = np.ascontiguousarray(learning.widened(fragment, rows))
    tests = EncodedFilter(plan, fragment, wide)
    numbers = tests.add_all(steps)
    if numbers is not None:
        return tests, numbers, rest
    # a part cannot be tested on these pages: texts without a dictionary, for example
    assert plan.residual is not None
    tested: Predicate = Const(True)
    rest = Const(True)
    for part in conjuncts(plan.residual):
        more, other = divided(conjunction((tested, part)))
        if other is None and EncodedFilter(plan, fragment, wide).add_all(more) is not None:
            tested = conjunction((tested, part))
        else:
            rest = conjunction((rest, part))
    steps, _ = divided(tested)
    tests = EncodedFilter(plan, fragment, wide if steps else rows)
    return tests, tests.add_all(steps) or [], rest


class EncodedFilter:
    """Tests of a filter for the pages of some rows, and the distinct columns that they read.

    columns_of: the index in `columns` of the column of each test
    """

    def __init__(self, plan: ReadPlan, fragment: OpenFragment, rows: RowRanges) -> None:
        self._fields = plan.tested
        self._system_columns = plan.filter_system_columns
        self._fragment = fragment
        self._rows = rows
        self._opening = OpeningTogether(self._stored_columns(), rows, is_nested=False)
        self._column_indices: dict[Path, int] = {}
        self.columns: list[FilterColumn] = []
        self.columns_of: list[int] = []
        self.answers: list[_kernels.ColumnTest] = []
        self._pairs: list[_Pair] = []

    def add_all(self, steps: Sequence[Step]) -> list[_kernels.FilterStep] | None:
        """Converts steps to numbers of tests and pairs; None if one of them needs decoded values."""
        filter_steps = self._add_all(steps)
        return _behind_tests(filter_steps, len(self.answers)) if filter_steps is not None else None

    def pairs(self, data: Sequence[PageParts]) -> list[_kernels.ComparedColumns]:
        """Returns the pairs of columns to be compared.

        data: the bytes of each column
        """
        sides = [(each.opened.column.reader, parts) for each, parts in zip(self.columns, data, strict=False)]
        return [
            _kernels.ComparedColumns(
                *sides[pair.left],
                *(sides[pair.right] if isinstance(pair.right, int) else (pair.right, _NO_BYTES)),
                pair.order,
                pair.outcomes,
                pair.divisor,
            )
            for pair in self._pairs
        ]

    def located(self) -> list[InPages]:
        """Returns the error locations of tests, followed by those of the sides of pairs."""
        sides = [
            side
            for pair in self._pairs
            for side in (pair.left, pair.right if isinstance(pair.right, int) else pair.left)
        ]
        return [self.columns[column_index].opened.column.where for column_index in (*self.columns_of, *sides)]

    def _add_all(self, steps: Iterable[Step]) -> list[_kernels.FilterStep] | None:
        filter_steps: list[_kernels.FilterStep] = []
        for step in steps:
            match step:
                case AnyOf():
                    added = self._add_any(step)
                case PairTest():
                    added = self._add_pair(step)
                case RestTest():
                    added = self._add_rest(step)
                case _:
                    added = self._add(step)
            if added is None:
                return None
            filter_steps.append(added)
        return filter_steps

    def once(self, learned: Sequence[_kernels.ZoneBounds | None]) -> list[_kernels.ZoneBounds | None]:
        """Returns for each test the statistics that it learns of its column; the first test of a column learns them.

        learned: by column
        """
        return [
            learned[column] if self.columns_of.index(column) == test else None
            for test, column in enumerate(self.columns_of)
        ]

    def _add_any(self, step: AnyOf) -> _kernels.FilterStep | None:
        lists = [self._add_all(steps) for steps in step.lists]
        return None if None in lists else [steps for steps in lists if steps is not None]

    def _add_pair(self, pair: PairTest) -> _kernels.FilterStep | None:
        """Adds a pair, numbered from -1 down until the number of tests is known."""
        left, right = self._column_index(pair.left), self._column_index(pair.right)
        if left is None or right is None:
            return None
        type = self.columns[left].type
        order = ValueOrder.UNSIGNED if pa.types.is_boolean(type) else key_order(type)
        if type != self.columns[right].type or (order is None and not kinds.has_offsets(type)):
            return None
        if not (self._has_values(left) and self._has_values(right)):
            return None
        return self._paired(_Pair(left, right, order, _OUTCOMES[pair.op]))

    def _add_boolean(self, column_index: int, op: str, value: bool) -> _kernels.FilterStep | None:
        """Compares bits, which have no keys, with a column of the value."""
        if not self._has_values(column_index):
            return None
        constant = self._constant(column_index, 1, bytes([value]))
        return self._paired(_Pair(column_index, constant, ValueOrder.UNSIGNED, _OUTCOMES[op]))

    def _add_rest(self, test: RestTest) -> _kernels.FilterStep | None:
        column_index = self._column_index(test.path)
        if column_index is None or not self._has_values(column_index):
            return None
        type = self.columns[column_index].type
        if not pa.types.is_integer(type):
            return None
        is_signed = pa.types.is_signed_integer(type)
        num_bits = type.bit_width
        low, end = (-(1 << num_bits - 1), 1 << num_bits - 1) if is_signed else (0, 1 << num_bits)
        if not low <= test.value < end:
            return None
        value = test.value.to_bytes(num_bits // 8, "little", signed=is_signed)
        constant = self._constant(column_index, num_bits, value)
        return self._paired(_Pair(column_index, constant, key_order(type), _OUTCOMES[test.op], test.divisor))

    def _constant(self, column_index: int, num_bits: int, value: bytes) -> _kernels.ColumnReader:
        """Returns a column of one value, as long as another one."""
        num_rows = self.columns[column_index].opened.column.num_rows
        constant = _kernels.ColumnReader(np.array([0, num_rows]))
        constant.open(0, _kernels.PageReader.constant(num_rows, format=(False, num_bits), value=value), 0, 0)
        return constant

    def _has_values(self, column_index: int) -> bool:
        """Whether values can be compared: not on pages that Python reads, of several kinds, with items or parts."""
        opened = self.columns[column_index].opened
        form = opened.column.form(opened.pages)
        return form is not None and form.items is None and not form.is_composite and opened.texts is None

    def _paired(self, pair: _Pair) -> int:
        self._pairs.append(pair)
        return -len(self._pairs)

    def _add(self, test: ColumnCondition) -> _kernels.FilterStep | None:
        column_index = self._column_index(test.path)
        if column_index is None:
            return None
        number = self._answer(column_index, test.test)
        if number is None and test.single:
            # no dictionary answers the test
            singles = [self._answer(column_index, single) for single in test.single]
            numbers = [single for single in singles if single is not None]
            if len(numbers) < len(singles):
                return None
            return [numbers] if test.is_all else [[single] for single in numbers]
        match test.predicates:
            case (Compare(op, _, Literal(bool() as value)),) if number is None:
                return self._add_boolean(column_index, op, value)
        return number

    def _stored_columns(self) -> Iterator[Column]:
        for field in self._fields.values():
            yield from self._fragment.columns_of(field)

    def _column_index(self, path: Path) -> int | None:
        if path in self._column_indices:
            return self._column_indices[path]
        tested = self._find(path)
        if tested is None:
            return None
        self.columns.append(tested)
        self._column_indices[path] = len(self.columns) - 1
        return self._column_indices[path]

    def _find(self, path: Path) -> FilterColumn | None:
        name, *below = path
        field = self._fields.get(name)
        if field is None:
            opened = system_column(self._fragment, name, self._rows) if name in self._system_columns else None
            return FilterColumn(system_columns.TYPE, None, opened) if opened is not None else None
        if below:
            field = restrict(field, [tuple(below)])
            inside = member(self._fragment, field, tuple(below), self._rows)
            return FilterColumn(inside[0], field, inside[1]) if inside is not None else None
        type = arrow_field(field).type
        opened = self._opened(field, type)
        return FilterColumn(type, field, opened) if opened is not None else None

    def _opened(self, field: Field, type: pa.DataType) -> OpenRows | None:
        if not is_leaf(field):
            return None
        columns: Sequence[Column] = tuple(self._fragment.columns_of(field))
        if not columns:
            return missing_column(self._fragment, field.name, type, self._rows)
        return streamed(columns[0], self._rows, opening=self._opening) if len(columns) == 1 else None

    def _answer(self, column_index: int, test: ValueTest) -> int | None:
        opened = self.columns[column_index].opened
        if opened.texts is not None and test.wants_null is None:
            # a test of texts, and the pages have documents
            return None
        answer = opened.column.test(test, opened.pages)
        if answer is None:
            return None
        self.answers.append(answer)
        self.columns_of.append(column_index)
        return len(self.answers) - 1


def _behind_tests(steps: Sequence[_kernels.FilterStep], num_tests: int) -> list[_kernels.FilterStep]:
    """Renumbers pairs, which were numbered from -1 down, after the tests."""
    return [
        (step if step >= 0 else num_tests - 1 - step)
        if isinstance(step, int)
        else [_behind_tests(each, num_tests) for each in step]
        for step in steps
    ]
