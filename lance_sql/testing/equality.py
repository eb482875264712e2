"""Assertion that two tables are equal, with a readable report of differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.testing import comparison
from lance_sql.testing.comparison import Tolerance, Tolerances
from lance_sql.testing.difference import TableDifferenceError
from lance_sql.testing.report import Report
from lance_sql.testing.tables import Rows, TableLike, check_ignored, names_of, rows
from lance_sql.values import keys as key_rule
from lance_sql.values import selection


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
    problems = _column_problems(ours.table.schema, wanted.table.schema, ignore_column_order=ignore_column_order)
    if problems:
        raise AssertionError(Report(ours, wanted, max_errors).of_columns(problems))
    keys = names_of(key)
    unknown = [name for name in keys if name not in wanted.table.column_names]
    if unknown:
        raise InvalidArgument(f"The key {', '.join(map(repr, unknown))} is not a column of both tables")
    ours = _in_order_of(ours, wanted)
    tolerance = _tolerances(rtol, atol, wanted.table.schema)
    mine, theirs = (_alike(table.table, ignore_case, ignore_spaces) for table in (ours, wanted))
    if keys:
        differences = comparison.by_key(mine, theirs, keys, tolerance)
    elif check_row_order:
        differences = comparison.by_position(mine, theirs, tolerance)
    else:
        differences = comparison.as_sets(mine, theirs, tolerance)
        keys = _primary_key(ours, wanted) if differences else []
        if keys:
            differences = comparison.by_key(mine, theirs, keys, tolerance)
    if differences:
        message = Report(ours, wanted, max_errors).of_rows(differences, keys)
        raise TableDifferenceError(message, ours.table, wanted.table, differences, keys)


def _tolerances(rtol: float | Mapping[str, float], atol: float | Mapping[str, float], schema: pa.Schema) -> Tolerances:
    """
    raises: InvalidArgument for a missing column, or a column without floats
    """
    named = [given for given in (rtol, atol) if isinstance(given, Mapping)]
    for name in dict.fromkeys(name for given in named for name in given):
        if name not in schema.names:
            raise InvalidArgument(f"A tolerance is given for {name!r}, which neither table has")
        if not _has_floats(schema.field(name).type):
            raise InvalidArgument(f"A tolerance is given for {name!r}, which is {schema.field(name).type}, not floats")

    def of(given: float | Mapping[str, float], name: str | None) -> float:
        return given if not isinstance(given, Mapping) else given.get(name, 0.0) if name is not None else 0.0

    columns = {name: Tolerance(of(rtol, name), of(atol, name)) for given in named for name in given}
    return Tolerances(Tolerance(of(rtol, None), of(atol, None)), columns)


def _has_floats(type: pa.DataType) -> bool:
    inner = [type.field(number).type for number in range(type.num_fields)]
    return bool(pa.types.is_floating(type)) or any(map(_has_floats, inner))


def _alike(
    table: pa.Table, ignore_case: bool | str | Iterable[str], ignore_spaces: bool | str | Iterable[str]
) -> pa.Table:
    """Normalizes the case and the whitespace of texts, as far as they are ignored.

    raises: InvalidArgument for a missing column, or a column that is no text
    """
    for column in _texts(table, ignore_case):
        column_index = table.column_names.index(column)
        table = table.set_column(column_index, column, pc.utf8_lower(table.column(column)))
    for column in _texts(table, ignore_spaces):
        column_index = table.column_names.index(column)
        joined = pc.replace_substring_regex(table.column(column), r"\s+", " ")
        table = table.set_column(column_index, column, pc.utf8_trim_whitespace(joined))
    return table


def _texts(table: pa.Table, columns: bool | str | Iterable[str]) -> list[str]:
    texts = [each.name for each in table.schema if pa.types.is_string(each.type) or pa.types.is_large_string(each.type)]
    if isinstance(columns, bool):
        return texts if columns else []
    names = names_of(columns)
    for name in names:
        if name not in texts:
            raise InvalidArgument(f"{name!r} is no column of text; there are {', '.join(texts) or 'none'}")
    return names


def _primary_key(*tables: Rows) -> list[str]:
    """Returns the unenforced primary key of one of the tables, if all tables have its columns with unique values."""
    for each in tables:
        keys = [] if each.dataset is None else list(primary_key(each.dataset.snapshot.manifest.schema))
        if keys and all(
            set(keys) <= set(table.table.column_names) and _is_unique(table.table, keys) for table in tables
        ):
            return keys
    return []


def _is_unique(table: pa.Table, keys: Sequence[str]) -> bool:
    return not len(key_rule.repeated(key_rule.number(table.select(keys))))


def _is_no_rows(table: TableLike) -> bool:
    """Whether the table is an empty list of rows, which defines no columns."""
    return isinstance(table, list) and not table


def _typed_like(table: Rows, other: Rows, *, has_no_columns: bool) -> Rows:
    """Takes the types of another table's columns if its own contain only NULL, or have no items."""
    if has_no_columns:
        return replace(table, table=selection.empty(other.table.schema))
    columns, fields = list(table.table.columns), list(table.table.schema)
    for number, field in enumerate(fields):
        if field.name in other.table.column_names:
            type = _completed_type(field.type, other.table.schema.field(field.name).type)
            if type != field.type:
                columns[number], fields[number] = columns[number].cast(type), field.with_type(type)
    return replace(table, table=pa.Table.from_arrays(columns, schema=pa.schema(fields)))


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


def _in_order_of(actual: Rows, expected: Rows) -> Rows:
    return replace(actual, table=actual.table.select(expected.table.column_names))
