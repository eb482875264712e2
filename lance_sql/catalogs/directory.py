"""A folder as a catalog.

    orders.lance                      the table orders, also without a table of contents
    __manifest                        the table of contents: a row for each namespace, and for each table
        object_id                     sales$orders
        object_type                   namespace or table
        location                      be85589a_sales$orders, below the folder
        metadata                      properties as JSON

Source: specification of Lance namespaces, directory, manifest mode; and what pylance 14 writes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa

import lance_sql.opening
from lance_sql.catalogs.contract import BETWEEN, Catalog, Name, TableEntry, new_parts, object_id, parts
from lance_sql.dataset import Dataset
from lance_sql.errors import NO_TABLE, CorruptFile, InvalidArgument, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.format.schema import primary_key
from lance_sql.jobs.writing import write
from lance_sql.store.access import Access, AccessOptions
from lance_sql.store.contract import check_path
from lance_sql.store.open import absolute, local_path, open_store
from lance_sql.table import table_folders
from lance_sql.table.paths import VERSIONS
from lance_sql.table.version_names import whole_name
from lance_sql.values import names
from lance_sql.values.sql_text import literal

CONTENTS: Final = "__manifest"
_SUFFIX: Final = ".lance"
_MANIFEST: Final = ".manifest"
_NAMESPACE, _TABLE = "namespace", "table"
_SCHEMA: Final = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata={primary_key.POSITION: "0"}),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
    ]
)


class DirectoryCatalog(Catalog):
    """Catalog of a folder, on this machine or in an object store.

    raises: TableNotFound if there is no such folder on this machine
    """

    def __init__(self, folder: str, access: AccessOptions | None = None) -> None:
        self.access = access or {}
        self._folder = absolute(folder)
        self._store = open_store(self._folder, Access.of(**self.access))
        if "://" not in folder and not os.path.isdir(self._folder):
            raise TableNotFound(f"No folder {folder!r} to open as a catalog")

    def namespaces(self, parent: Name = ()) -> list[str]:
        above = self._namespace(parent)
        return self._below(above, _NAMESPACE)

    def tables(self, namespace: Name = ()) -> list[str]:
        above = self._namespace(namespace)
        listed = self._below(above, _TABLE)
        return listed if above else sorted({*listed, *self._plain()})

    def describe(self, name: Name) -> TableEntry:
        wanted = parts(name)
        row = self._row(wanted)
        folders = self._plain().get(wanted[0], []) if len(wanted) == 1 else []
        if row is not None and row["object_type"] == _TABLE:
            location = self._checked_location(wanted, row["location"])
            _check_one(self._folder, wanted, [location, *folders])
            return TableEntry(wanted, self._at(location), _read_properties(row["metadata"]))
        if folders:
            _check_one(self._folder, wanted, folders)
            return TableEntry(wanted, self._at(folders[0]))
        raise TableNotFound(f"{NO_TABLE[1]}{'.'.join(wanted)} in {self._folder}. Tables: {self._table_names()}")

    def properties(self, namespace: Name) -> dict[str, str]:
        wanted = self._namespace(namespace)
        row = self._row(wanted) if wanted else None
        return {} if row is None else _read_properties(row["metadata"])

    def create_namespace(self, namespace: Name, properties: Mapping[str, str] | None = None) -> None:
        wanted = new_parts(namespace, "namespace")
        above = self._namespace(wanted[:-1])
        self._check_free(wanted, self.namespaces(above))
        self._add(wanted, _NAMESPACE, None, properties)

    def drop_namespace(self, namespace: Name) -> None:
        wanted = self._namespace(namespace)
        if not wanted:
            raise InvalidArgument("The root namespace cannot be dropped: name another one")
        inside = [*self.namespaces(wanted), *self.tables(wanted)]
        if inside:
            raise InvalidArgument(f"The namespace {'.'.join(wanted)} is not empty: it has {inside[0]}")
        self._remove(wanted)

    def declare(self, name: Name, properties: Mapping[str, str] | None = None) -> TableEntry:
        wanted = new_parts(name)
        above = self._namespace(wanted[:-1])
        self._check_free(wanted, self.tables(above))
        location = wanted[-1] + _SUFFIX
        if above or location in {row["location"] for row in self._rows()}:
            location = f"{uuid.uuid4().hex[:8]}_{object_id(wanted)}"
        _check_length(wanted, location)
        if not above and self._contents() is None:
            if properties:
                raise UnsupportedFeature(
                    f"{self._folder} has no {CONTENTS} to store properties in: create a namespace first, or leave"
                    " properties out"
                )
            return TableEntry(wanted, self._at(location))
        self._add(wanted, _TABLE, location, properties)
        return TableEntry(wanted, self._at(location), dict(properties or {}))

    def _drop(self, name: Name) -> None:
        entry = self.describe(name)
        with suppress(TableNotFound):
            # fails if it cannot be removed
            table_folders.count(entry.path)
        # the name first: leftovers of an interrupted removal are no table of the catalog
        row = self._row(entry.name)
        if row is not None:
            self._remove(entry.name, entry.path)
        try:
            table_folders.drop(entry.path)
        except TableNotFound:
            if row is None:
                raise
            # declared, but never written

    def rename_table(self, name: Name, new_name: Name) -> None:
        entry, wanted = self.describe(name), new_parts(new_name)
        row = self._row(entry.name)
        above = self._namespace(wanted[:-1])
        others = [other for other in self.tables(above) if (*above, other) != entry.name or wanted == entry.name]
        self._check_free(wanted, others)
        if row is None:
            if len(wanted) > 1:
                raise UnsupportedFeature(
                    f"{'.'.join(entry.name)} is not in {CONTENTS}, so it cannot move to a namespace: give it a name"
                    " without one"
                )
            _check_length(wanted, wanted[0] + _SUFFIX)
            table_folders.move(entry.path, self._at(wanted[0] + _SUFFIX))
            return
        self._rename(entry.name, wanted)

    def forget(self, name: Name) -> None:
        entry = self.describe(name) if self._row(parts(name)) is not None else None
        if entry is not None:
            self._remove(entry.name)

    def _contents(self) -> Dataset | None:
        """Opens the newest version of the table of contents; returns None if there is none."""
        try:
            return lance_sql.opening.open(self._at(CONTENTS), **self.access)
        except TableNotFound:
            return None

    def _rows(self) -> list[dict[str, Any]]:
        contents = self._contents()
        if contents is None:
            return []
        columns = ["object_id", "object_type", "location", "metadata"]
        rows: list[dict[str, Any]] = contents.scan(columns).to_table().to_pylist()
        return rows

    def _row(self, name: tuple[str, ...]) -> dict[str, Any] | None:
        try:
            wanted = object_id(name)
        except TableNotFound:
            # a folder without a row may have any name
            return None
        return next((row for row in self._rows() if row["object_id"] == wanted), None)

    def _below(self, above: tuple[str, ...], kind: str) -> list[str]:
        start = f"{object_id(above)}{BETWEEN}" if above else ""
        ids = (row["object_id"] for row in self._rows() if row["object_type"] == kind)
        below = (each[len(start) :] for each in ids if each.startswith(start))
        return sorted(name for name in below if name and BETWEEN not in name)

    def _namespace(self, name: Name) -> tuple[str, ...]:
        """
        raises: TableNotFound if there is no such namespace
        """
        wanted = parts(name, what="namespace") if name else ()
        row = self._row(wanted) if wanted else None
        if wanted and (row is None or row["object_type"] != _NAMESPACE):
            raise TableNotFound(f"No namespace {'.'.join(wanted)} in {self._folder}")
        return wanted

    def _plain(self) -> dict[str, list[str]]:
        """Returns the folders of tables at the top that the table of contents lacks, by table name."""
        listed = {CONTENTS, _SUFFIX, *(row["location"] for row in self._rows())}
        by_name: dict[str, list[str]] = {}
        for folder in sorted(self._store.folders("")):
            # folders unpacked from Windows archives may have backslashes, which no path in a store has
            if folder not in listed and "\\" not in folder and self._has_versions(folder):
                by_name.setdefault(folder.removesuffix(_SUFFIX), []).append(folder)
        return by_name

    def _has_versions(self, folder: str) -> bool:
        return any(info.path.endswith(_MANIFEST) for info in self._store.files(f"{folder}/{VERSIONS}"))

    def _check_free(self, name: tuple[str, ...], existing: Iterable[str]) -> None:
        """
        existing: names at the same place
        raises: TableExists for one of them, and for a name that differs from one only in case or in the form of
            characters
        """
        other = names.like(name[-1], existing)
        if other is None:
            return
        called = ".".join((*name[:-1], other))
        how = (
            "" if other == name[-1] else f", and {name[-1]!r} differs from it only in case or in the form of characters"
        )
        raise TableExists(f"{called} exists in {self._folder} already{how}: choose another name")

    def _checked_location(self, name: tuple[str, ...], location: object) -> str:
        """Returns the location of a row, below the folder of the catalog.

        raises: CorruptFile for one that leaves the folder, and for the table of contents itself
        """
        text = str(location)
        called = f"{self._folder}: {CONTENTS} has the table {'.'.join(name)} at {text[:200]!r}"
        try:
            check_path(text)
        except CorruptFile:
            raise CorruptFile(
                f"{called}, which is not below the folder of the catalog: correct or remove that row"
            ) from None
        if text.split("/")[0] == CONTENTS:
            raise CorruptFile(f"{called}, which is the table of contents: correct or remove that row")
        folder = local_path(self._folder)
        above = text.rpartition("/")[0]
        if folder is not None and above:
            real = os.path.realpath(folder)
            if os.path.commonpath([real, os.path.realpath(os.path.join(folder, above))]) != real:
                raise CorruptFile(
                    f"{called}, where a link leaves the folder of the catalog: correct or remove that row"
                )
        return text

    def _add(
        self, name: tuple[str, ...], kind: str, location: str | None, properties: Mapping[str, str] | None
    ) -> None:
        contents = self._contents() or self._new_contents()
        metadata = json.dumps(dict(properties)) if properties else None
        row = {"object_id": [object_id(name)], "object_type": [kind], "location": [location], "metadata": [metadata]}
        schema = pa.schema([_SCHEMA.field(each) for each in row])
        try:
            contents.merge(pa.table(row, schema=schema), on="object_id", when_matched="fail", unique=True)
        except InvalidArgument as error:
            raise TableExists(f"{'.'.join(name)} exists in {self._folder} already") from error

    def _new_contents(self) -> Dataset:
        try:
            return write(_SCHEMA.empty_table(), self._at(CONTENTS), **self.access)
        except TableExists:
            # another process was first
            return lance_sql.opening.open(self._at(CONTENTS), **self.access)

    def _rename(self, name: tuple[str, ...], new_name: tuple[str, ...]) -> None:
        """Replaces the old name by the new one, in one commit.

        raises: TableExists, TableNotFound if another process was first
        """
        contents = self._contents()
        assert contents is not None, "has the row"
        old = f"object_id = {literal(object_id(name))}"
        row = contents.scan(contents.schema.names, old).to_table()
        if row.num_rows != 1:
            raise TableNotFound(f"No table {'.'.join(name)} in {self._folder}")
        column_index = row.column_names.index("object_id")
        row = row.set_column(column_index, row.schema.field(column_index), pa.array([object_id(new_name)]))
        try:
            renamed = contents.merge(row, on="object_id", when_matched="fail", unique=True, delete_unmatched=old)
        except InvalidArgument as error:
            raise TableExists(f"Table {'.'.join(new_name)} exists in {self._folder} already") from error
        change = renamed.last_change
        if change is None or not change.rows_deleted:
            # the old name was renamed or removed in the meantime
            self._remove(new_name)
            raise TableNotFound(f"No table {'.'.join(name)} in {self._folder}")

    def _remove(self, name: tuple[str, ...], path: str | None = None) -> None:
        """Removes a name.

        path: of the table that must have the name
        raises: TableNotFound if the name does not exist, or belongs to another table
        """
        contents = self._contents()
        assert contents is not None, "has the row"
        condition = f"object_id = {literal(object_id(name))}"
        if path is not None:
            location = path.removeprefix(self._at(""))
            # `_at` may have added a slash
            condition += f" AND location IN ({literal(location)}, {literal(location.rstrip('/'))})"
        change = contents.delete(condition).last_change
        if path is not None and (change is None or not change.rows_deleted):
            raise TableNotFound(f"No table {'.'.join(name)} in {self._folder} any more: another writer dropped it")

    def _at(self, location: str) -> str:
        return whole_name(f"{self._folder.rstrip('/')}/{location}")

    def _table_names(self) -> str:
        walked = [".".join(name) for name in self.walk()]
        return ", ".join(walked[:10]) + (", ..." if len(walked) > 10 else "") if walked else "none"


def _check_one(folder: str, name: tuple[str, ...], locations: Sequence[str]) -> None:
    """
    locations: of the tables of one name
    raises: InvalidArgument for several
    """
    if len(locations) > 1:
        places = " and ".join(map(repr, locations))
        raise InvalidArgument(f"{folder} has the table {'.'.join(name)} at {places}: rename one of these folders")


def _check_length(name: tuple[str, ...], location: str) -> None:
    """
    raises: InvalidArgument for a name that makes the name of a folder too long
    """
    length = len(location.encode())
    if length > names.MAX_FILE_NAME:
        raise InvalidArgument(
            f"{'.'.join(name)[:40]!r}... cannot be the name of a table: its folder would have a name of {length} bytes,"
            f" and at most {names.MAX_FILE_NAME} are possible"
        )


def _read_properties(text: str | None) -> dict[str, str]:
    """
    raises: InvalidArgument for metadata that is no JSON object
    """
    try:
        properties = json.loads(text) if text else {}
    except ValueError as error:
        raise InvalidArgument(f"The properties {text!r} are not valid JSON") from error
    return {str(key): str(value) for key, value in properties.items()} if isinstance(properties, dict) else {}
