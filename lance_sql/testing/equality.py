"""Assertion that two tables are equal, with a readable report of differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.health.differences.column_rule import ColumnRule
from lance_sql.health.differences.pairing import RepeatedKey
from lance_sql.testing.comparison import Comparison
from lance_sql.testing.difference import TableDifferenceError
from lance_sql.testing.report import DifferenceReport
from lance_sql.testing.tables import AssertedRows, TableLike, check_ignored, names_of, rows
from lance_sql.values import kinds, selection
from lance_sql.values.keywords import suggests_keywords


@suggests_keywords
def assert_table_equal(
    actual: TableLike,
    expected: TableLike,
    *,
    key: str | Sequence[str] | None = None,
    check_row_order: bool = False,
    rtol: float | Mapping[str, float] = 0.0,
    atol: float | Mapping[str, float] = 0.0,
    ignore_columns: str | Iterable[str] = (),
    ignore_column_order: bool = False,
    ignore_case: bool | str | Iterable[str] = False,
    ignore_spaces: bool | str | Iterable[str] = False,
    max_errors: int = 10,
) -> None:
    """Fails unless two tables have the same columns and rows, in any order of the rows unless `check_row_order`.

    actual, expected: each a Lance table by path or as a `Dataset`, or rows in any form that `lance_sql.write` accepts
    key: columns that identify rows: rows with equal keys are compared column by column. The default is the unenforced
        primary key of one of the Lance tables, if it is unique in both
    rtol, atol: tolerances for floats, as in NumPy, for all columns or by column; NaN equals NaN, and an infinity
        equals only itself
    ignore_columns: columns of either table to ignore
    ignore_case, ignore_spaces: ignore the case of texts, or differences in whitespace: leading, trailing and repeated;
        True for all text columns, or the columns. Reports show the original values
    max_errors: the maximum number of rows shown
    raises: TableDifferenceError, an AssertionError that has the differences as rows; InvalidArgument for a key that is
        not unique, or that is not a column of both tables, and for a column in `ignore_columns`, `rtol` or `atol` that
        neither table has

    Python rows without type information take the types of the other table: empty lists, and columns with only None.

    >>> assert_table_equal({"id": [1, 2]}, [{"id": 2}, {"id": 1}])
    """
    __tracebackhide__ = True
    ignored = names_of(ignore_columns)
    ours, wanted = rows(actual, "actual", ignored), rows(expected, "expected", ignored)
    check_ignored(ignored, ours, wanted)
    ours, wanted = (
        _typed_like(ours, wanted, has_no_columns=_is_no_rows(actual)),
        _typed_like(wanted, ours, has_no_columns=_is_no_rows(expected)),
    )
    problems = _column_problems(ours.schema, wanted.schema, ignore_column_order=ignore_column_order)
    if problems:
        raise AssertionError(DifferenceReport(ours, wanted, max_errors).of_columns(problems))
    keys = names_of(key)
    unknown = [name for name in keys if name not in wanted.schema.names]
    if unknown:
        raise InvalidArgument(f"The key {', '.join(map(repr, unknown))} is not a column of both tables")
    rules = {
        name: replace(rule, json=ours.json.get(name, wanted.json.get(name)))
        for name, rule in _rules(wanted.schema, rtol, atol, ignore_case, ignore_spaces).items()
    }
    comparison = Comparison(wanted, ours.in_order_of(wanted), rules, tuple(keys), check_row_order)
    differences = comparison.differences(max_errors)
    if not differences.num_rows:
        return
    primary = [] if keys or check_row_order else ours.primary_key or wanted.primary_key
    if primary:
        with suppress(RepeatedKey):
            by_key = replace(comparison, key=tuple(primary))
            differences, comparison = by_key.differences(max_errors), by_key
    if differences.num_rows:
        message = DifferenceReport(ours, wanted, max_errors).of_rows(differences, comparison.key)
        raise TableDifferenceError(message, comparison)


def _rules(
    schema: pa.Schema,
    rtol: float | Mapping[str, float],
    atol: float | Mapping[str, float],
    ignore_case: bool | str | Iterable[str],
    ignore_spaces: bool | str | Iterable[str],
) -> dict[str, ColumnRule]:
    """
    raises: InvalidArgument for a missing column, a tolerance of a column without floats, or a column that is no text
    """
    for name in dict.fromkeys(name for given in (rtol, atol) if isinstance(given, Mapping) for name in given):
        if name not in schema.names:
            raise InvalidArgument(f"The tolerance for {name!r} names a missing column")
        if not kinds.any_leaf(schema.field(name).type, pa.types.is_floating):
            raise InvalidArgument(f"The tolerance for {name!r} needs a column of floats, not {schema.field(name).type}")

    def of(given: float | Mapping[str, float], field: pa.Field) -> float:
        if isinstance(given, Mapping):
            return given.get(field.name, 0.0)
        return given if kinds.any_leaf(field.type, pa.types.is_floating) else 0.0

    without_case, without_spaces = _texts(schema, ignore_case), _texts(schema, ignore_spaces)
    return {
        field.name: ColumnRule(
            of(rtol, field), of(atol, field), field.name in without_case, field.name in without_spaces
        )
        for field in schema
    }


def _texts(schema: pa.Schema, columns: bool | str | Iterable[str]) -> list[str]:
    texts = [each.name for each in schema if pa.types.is_large_string(each.type)]
    if isinstance(columns, bool):
        return texts if columns else []
    names = names_of(columns)
    for name in names:
        if name not in texts:
            raise InvalidArgument(f"{name!r} is not a text column; text columns: {', '.join(texts) or 'none'}")
    return names


def _is_no_rows(table: TableLike) -> bool:
    """Whether the table is an empty list of rows, which defines no columns."""
    return isinstance(table, list) and not table


def _typed_like(table: AssertedRows, other: AssertedRows, *, has_no_columns: bool) -> AssertedRows:
    """Takes the types of another table's columns if its own contain only NULL, or have no items."""
    if has_no_columns:
        return replace(table, source=selection.empty(other.schema), schema=other.schema)
    fields = [
        field.with_type(_completed_type(field.type, other.schema.field(field.name).type))
        if field.name in other.schema.names
        else field
        for field in table.schema
    ]
    return replace(table, schema=pa.schema(fields))


def _completed_type(type: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Completes unknown parts of a type from another one."""
    if pa.types.is_null(type):
        return other
    if pa.types.is_large_list(type) and pa.types.is_large_list(other):
        return pa.large_list(type.value_field.with_type(_completed_type(type.value_type, other.value_type)))
    if pa.types.is_struct(type) and pa.types.is_struct(other):
        other_types = {field.name: field.type for field in other}
        return pa.struct([f.with_type(_completed_type(f.type, other_types.get(f.name, f.type))) for f in type])
    return type


def _column_problems(actual: pa.Schema, expected: pa.Schema, *, ignore_column_order: bool) -> list[str]:
    problems = [f"{name}: missing" for name in expected.names if name not in actual.names]
    problems += [f"{name}: not expected" for name in actual.names if name not in expected.names]
    for field in expected:
        if field.name in actual.names and not actual.field(field.name).type.equals(field.type):
            problems.append(f"{field.name}: {actual.field(field.name).type}, expected {field.type}")
    if not problems and not ignore_column_order and actual.names != expected.names:
        problems.append(f"in the order {', '.join(actual.names)}, expected {', '.join(expected.names)}")
    return problems
