"""Properties of CREATE TABLE, in the words of lance-spark: those that lay out the table, and those that are its config.

'file_format_version' = '2.1'                  file_version of `lance_sql.write`
'enable_stable_row_ids' = 'false'              stable_row_ids of `lance_sql.write`
'v.arrow.fixed-size-list.size' = '128'         the lists of column v become vectors
'text.arrow.large_var_char' = 'true'           offsets of 64 bits
'doc.lance.encoding' = 'blob'                  values outside of the pages
'doc.lance.compression' = 'zstd'               and other options of the writer: metadata lance-encoding:compression
'team' = 'growth'                              a key of the config
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format import file_versions
from lance_sql.format.encodings import preferences
from lance_sql.format.schema.from_arrow import BLOB_KEY
from lance_sql.values import kinds

FILE_VERSION: Final = "file_format_version"
STABLE_ROW_IDS: Final = "enable_stable_row_ids"
_OF_COLUMN: Final = (".arrow.", ".lance.")
_AGE: Final = "set 'lance_sql.maintain.older_than' = '30d', or VACUUM 'x.lance' RETAIN 720 HOURS"
_PROMISES: Final[Mapping[str, str]] = {
    "delta.appendonly": "every writer may update and delete",
    "delta.deletedfileretentionduration": _AGE,
    "delta.logretentionduration": _AGE,
    "history.expire.max-snapshot-age-ms": _AGE,
    "history.expire.min-snapshots-to-keep": "set 'lance_sql.maintain.retain_versions' = '10'",
}
"""Properties of Delta Lake and Iceberg that their users rely on, in lower case, and what to do instead."""

_CONSTRAINT: Final = "delta.constraints."


@dataclass(frozen=True)
class TableProperties:
    """
    config: keys of the table's config
    columns: for each column, by its name in lower case, the properties as (key, word behind the column, value)
    """

    file_version: str | None = None
    stable_row_ids: bool | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)

    def schema(self, fields: list[pa.Field]) -> pa.Schema:
        """Returns the columns of the table, with what the properties say of them.

        raises: InvalidArgument for a missing column, and for a value that does not fit; UnsupportedFeature for a
            property that this release does not know
        """
        names = {each.name.lower() for each in fields}
        for name, of_column in self.columns.items():
            if name not in names:
                raise InvalidArgument(f"The property {of_column[0][0]!r} is of a missing column: {name}")
        return pa.schema([self._changed(each) for each in fields])

    def _changed(self, column: pa.Field) -> pa.Field:
        for key, word, value in self.columns.get(column.name.lower(), ()):
            known = _COLUMN_WORDS.get(word)
            column = _encoded(column, key, word, value) if known is None else known(column, key, value)
        return column


def table_properties(given: Mapping[str, str]) -> TableProperties:
    """Sorts the properties of a statement that creates a table.

    raises: InvalidArgument, UnsupportedFeature
    """
    _check_promises(given)
    config: dict[str, str] = {}
    columns: dict[str, tuple[tuple[str, str, str], ...]] = {}
    version, stable = None, None
    for key, value in given.items():
        column, word = _of_column(key)
        if column is not None:
            columns[column] = (*columns.get(column, ()), (key, word, value))
        elif key == FILE_VERSION:
            if value not in file_versions.WRITTEN:
                known = ", ".join(file_versions.WRITTEN)
                raise UnsupportedFeature(f"The property {key!r} = {value!r} is not supported: use one of {known}")
            version = value
        elif key == STABLE_ROW_IDS:
            stable = _truth(key, value)
        else:
            config[key] = value
    return TableProperties(version, stable, config, columns)


def check_later(given: Mapping[str, str]) -> None:
    """Makes sure that properties of an existing table are of its config alone.

    raises: UnsupportedFeature for one that only CREATE TABLE takes, and for one that promises what nothing keeps
    """
    _check_promises(given)
    for key in given:
        if key in (FILE_VERSION, STABLE_ROW_IDS) or _of_column(key)[0] is not None:
            raise UnsupportedFeature(
                f"The property {key!r} cannot be changed later: set it in CREATE TABLE, or copy the table"
            )


def _check_promises(given: Mapping[str, str]) -> None:
    """
    raises: UnsupportedFeature for a property by which another product keeps rows or versions, and this one would not
    """
    for key, value in given.items():
        # Delta Lake does not distinguish upper and lower case
        instead = _PROMISES.get(key.lower())
        if key.lower().startswith(_CONSTRAINT):
            instead = f"ALTER TABLE .. ADD CONSTRAINT {key[len(_CONSTRAINT) :]} CHECK ({value})"
        if instead is not None and value.lower() != "false":
            raise UnsupportedFeature(f"The property {key!r} = {value!r} would have no effect: {instead}")


def _of_column(key: str) -> tuple[str | None, str]:
    """Returns the column of a property in lower case, and the word behind it; no column for one of the table."""
    at = min((at for part in _OF_COLUMN if (at := key.find(part)) > 0), default=0)
    if not at:
        return None, key
    return key[:at].lower(), key[at + 1 :]


def _truth(key: str, value: str) -> bool:
    truth = {"true": True, "false": False}.get(value.lower())
    if truth is None:
        raise InvalidArgument(f"The property {key!r} = {value!r} is neither 'true' nor 'false'")
    return truth


def _vector(column: pa.Field, key: str, value: str) -> pa.Field:
    type = column.type
    if not kinds.is_list(type):
        raise InvalidArgument(f"The property {key!r} is of a column of type {type}: it needs a list, such as FLOAT[]")
    if not value.isdecimal() or not 0 < int(value) < 1 << 31:
        raise InvalidArgument(f"The property {key!r} = {value!r} is not the number of items of a vector")
    return column.with_type(pa.list_(type.value_type, int(value)))


def _large_text(column: pa.Field, key: str, value: str) -> pa.Field:
    if not _truth(key, value):
        return column
    if not pa.types.is_string(column.type):
        raise InvalidArgument(f"The property {key!r} is of a column of type {column.type}: it needs text")
    return column.with_type(pa.large_string())


def _blob(column: pa.Field, key: str, value: str) -> pa.Field:
    if value.lower() != "blob":
        raise UnsupportedFeature(f"The property {key!r} = {value!r} is not supported: use 'blob'")
    if not (kinds.is_bytes(column.type) and kinds.has_offsets(column.type)):
        raise InvalidArgument(f"The property {key!r} is of a column of type {column.type}: it needs BLOB")
    return _with_metadata(column.with_type(pa.large_binary()), BLOB_KEY, "true")


_COLUMN_WORDS: Final[Mapping[str, Callable[[pa.Field, str, str], pa.Field]]] = {
    "arrow.fixed-size-list.size": _vector,
    "arrow.large_var_char": _large_text,
    "lance.encoding": _blob,
}


def _encoded(column: pa.Field, key: str, word: str, value: str) -> pa.Field:
    """Returns the column with an option of the writer."""
    of_lance, _, option = word.partition(".")
    if of_lance != "lance" or option not in preferences.KEYS:
        known = ", ".join([*_COLUMN_WORDS, *(f"lance.{each}" for each in preferences.KEYS)])
        raise UnsupportedFeature(f"The property {key!r} is not supported. Properties of a column: {known}")
    try:
        preferences.from_metadata({preferences.PREFIX + option: value.encode()})
    except InvalidArgument as error:
        raise InvalidArgument(f"The property {key!r} = {value!r} is not supported") from error
    return _with_metadata(column, preferences.PREFIX + option, value)


def _with_metadata(column: pa.Field, key: str, value: str) -> pa.Field:
    return column.with_metadata({**(column.metadata or {}), key.encode(): value.encode()})
