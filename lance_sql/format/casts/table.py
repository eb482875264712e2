"""Conversion of rows to the columns and types of a table.

Columns are matched by name. Unknown columns are refused. Missing ones are allowed if they are
nullable. Types are converted only without loss.
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import into
from lance_sql.format.casts.lossless import is_lossless
from lance_sql.format.casts.validation import Validation
from lance_sql.format.schema import Field, Schema, arrow_field
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.format.schema.from_arrow import storage
from lance_sql.format.schema.projection import closest


class TableCast:
    """Conversion of batches of one schema to rows of a table.

    source: the schema of the batches
    table: the schema of the table
    name: of the table, in messages
    raises: InvalidArgument that lists every unsuitable column
    """

    def __init__(self, source: pa.Schema, table: Schema, name: str) -> None:
        self._validation = Validation(source)
        self.schema = table
        """The fields of the table that the rows contain."""
        self._indices = list(range(len(source)))
        self._target = table.arrow
        if not source.equals(self._target):
            self._match(source, table, name)

    def _match(self, source: pa.Schema, table: Schema, name: str) -> None:
        problems = list(_name_problems(source, table))
        other_types = list[str]()
        present: list[Field] = []
        self._indices.clear()
        for field in table.fields:
            index = source.get_field_index(field.name)
            if index >= 0:
                present.append(field)
                self._indices.append(index)
                other_types += _type_problems(source.field(index), arrow_field(field))
            elif not field.nullable and not problems and not other_types:
                problems.append(f"{field.name}: missing, and it may not be NULL")
        if problems or other_types:
            way_out = ". Cast them, or use INSERT INTO or MERGE INTO, which cast" if other_types else ""
            if not way_out and any(source.names.count(each) == 1 and each not in table.names for each in source.names):
                way_out = ". Leave these columns out, or add them to the table with add_columns"
            blobs = [field.name for field in source if getattr(field.type, "extension_name", "") == "lance.blob.v2"]
            if blobs:
                way_out = f". Pass the bytes of a blob array of pylance: {blobs[0]}.storage.field('data')"
            raise InvalidArgument(f"The rows do not fit {name}: {'; '.join([*problems, *other_types])}{way_out}")
        self.schema = Schema(tuple(present), table.metadata)
        self._target = self.schema.arrow

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Converts rows, with columns in the order of `schema`.

        raises: InvalidArgument for values that do not fit the type, such as times out of its range, and for a damaged
            batch
        """
        batch = self._validation.check(batch)
        if batch.schema.equals(self._target, check_metadata=True):
            return batch
        arrays = []
        for index, field in zip(self._indices, self._target, strict=True):
            try:
                arrays.append(into(batch.column(index), field))
            except pa.ArrowException as error:
                raise InvalidArgument(f"Column {field.name!r}: {error}") from error
        return _batch(arrays, self._target, batch.num_rows)


def _batch(arrays: list[pa.Array], schema: pa.Schema, num_rows: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.nulls(num_rows, pa.struct([])))


def _name_problems(source: pa.Schema, table: Schema) -> list[str]:
    problems = []
    seen, known = set(), set(table.names)
    for name in source.names:
        if name in seen:
            problems.append(f"{name}: twice")
        elif name not in known:
            nearest = closest(name, table.names)
            problems.append(f"{name}: no such column" + (f", did you mean {nearest!r}?" if nearest else ""))
        seen.add(name)
    return problems


def _type_problems(source: pa.Field, target: pa.Field) -> list[str]:
    given, wanted = storage(source)[0], storage(target)[0]
    if is_lossless(given, wanted) or is_lossless(given, with_extensions(target).type):
        return []
    return [f"{target.name}: {given} where {wanted} is expected"]
