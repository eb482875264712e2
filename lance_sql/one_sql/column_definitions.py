"""Column definitions of statements: (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR COMMENT '..')."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.schema import primary_key
from lance_sql.one_sql.dialects import parse
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.table.manifest import COMMENT


@dataclass(frozen=True)
class ColumnDefinition:
    """Column as typed; `key` is its position in the primary key, from 1, or 0.

    default: the value of existing rows
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    key: int = 0
    default: str | None = None

    def field(self, engine: Engine, dialect: Dialect) -> pa.Field:
        """Converts the column to an Arrow field, with the types of the engine.

        raises: InvalidArgument for a type that the engine does not have
        """
        metadata = {}
        if self.comment is not None:
            metadata[COMMENT] = self.comment
        if self.key:
            metadata |= {primary_key.KEY: "true", primary_key.POSITION: str(self.key)}
        type = arrow_type(self.type, engine, dialect)
        return pa.field(self.name, type, self.nullable and not self.key, metadata or None)

    def value(self, dialect: Dialect) -> str:
        """Returns the default in the column's type, as SQL of `Dataset.add_columns`.

        raises: UnsupportedFeature for clauses beside it
        """
        if not self.nullable or self.key or self.comment is not None:
            raise UnsupportedFeature(
                f"Column {self.name} with DEFAULT takes no other clause: add it, then use ALTER COLUMN or COMMENT ON"
            )
        (query,) = parse(f"SELECT CAST({self.default} AS {self.type}) AS c", dialect)
        return str(query.expressions[0].this.sql(dialect="duckdb"))


def arrow_type(text: str, engine: Engine, dialect: Dialect) -> pa.DataType:
    """Returns the Arrow type that the engine uses for an SQL type.

    raises: InvalidArgument; UnsupportedFeature for a type of the engine that Arrow does not have
    """
    (query,) = parse(f"SELECT CAST(NULL AS {text}) AS c", dialect)
    try:
        with engine.prepare(query, is_typed=False).reader() as rows:
            column_type: pa.DataType = rows.schema.field(0).type
    except pa.ArrowInvalid as error:
        raise UnsupportedFeature(f"The type {text} is not supported: Arrow has no such type") from error
    return column_type


def read_columns(read: TokenReader) -> list[ColumnDefinition]:
    """Parses the columns between parentheses, and the primary key."""
    read.expect("(")
    columns: list[ColumnDefinition] = []
    keys: list[str] = []
    while True:
        if read.accept("CONSTRAINT"):
            read.name("a name")
        if read.accept("PRIMARY", "KEY"):
            keys += read.names("a column")
        elif read.next_words(1)[:1] in (("UNIQUE",), ("CHECK",), ("FOREIGN",)):
            raise UnsupportedFeature(
                f"{read.next_words(1)[0]} is not supported: NOT NULL is the only constraint of Lance tables"
            )
        else:
            columns.append(read_column(read))
            keys += [columns[-1].name] if columns[-1].key else []
        if not read.accept(","):
            break
    read.expect(")")
    lowered = [key.lower() for key in keys]
    unknown = set(lowered) - {each.name.lower() for each in columns}
    if unknown:
        raise InvalidArgument(f"PRIMARY KEY names a missing column: {min(unknown)}")
    key_positions = {name: number for number, name in enumerate(lowered, 1)}
    return [replace(each, key=key_positions.get(each.name.lower(), 0)) for each in columns]


_BEHIND_TYPE: Final = (
    "NOT",
    "NULL",
    "PRIMARY",
    "COMMENT",
    "DEFAULT",
    "GENERATED",
    "AS",
    "UNIQUE",
    "CHECK",
    "REFERENCES",
)


def read_column(read: TokenReader, *, with_default: bool = False) -> ColumnDefinition:
    """Parses a column.

    with_default: its DEFAULT can be computed for existing rows
    """
    name = read.name("a column")
    type = read.type(*_BEHIND_TYPE, "FIRST", "AFTER")
    nullable, key, comment, default = True, 0, None, None
    while not read.is_at_end and read.next_words(1)[0] not in (",", ")"):
        if read.accept("NOT", "NULL"):
            nullable = False
        elif read.accept("NULL"):
            continue
        elif read.accept("PRIMARY", "KEY"):
            key = 1
        elif read.accept("COMMENT"):
            comment = read.value("a comment")
        elif with_default and read.accept("DEFAULT"):
            default = read.expression(*_BEHIND_TYPE, "FIRST", "AFTER")
        elif read.accept_one("DEFAULT", "GENERATED", "AS"):
            raise UnsupportedFeature(
                f"Column {name} cannot have a default or computed value: add the column, then UPDATE .. SET"
            )
        else:
            word = read.next_words(1)[0]
            raise UnsupportedFeature(f"Column {name} .. {word} is not supported: use NOT NULL, PRIMARY KEY or COMMENT")
    return ColumnDefinition(name, type, nullable, comment, key, default)
