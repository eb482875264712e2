"""Compaction without decoding: copies the bytes of pages into one fragment if they are large enough.

    column a    |page|page|page|   of three files: large enough, the bytes go into the new file
    column b    |p|p|p|            too short: decoded, joined, and encoded again

Source: message Transaction.Rewrite; data file 2.x, message ColumnMetadata.Page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lance_sql.format import file_versions
from lance_sql.format.file import copied_pages
from lance_sql.format.file.leaves import is_leaf, leaves
from lance_sql.format.file.metadata_v2 import ColumnMetadata
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.tree import Layers
from lance_sql.format.schema import Field
from lance_sql.reads.scan.scanning import read_fragments
from lance_sql.runtime.progress import Work
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import dictionaries
from lance_sql.writes.statements.fragments import MAX_BYTES_PER_FILE, data_file
from lance_sql.writes.statements.session import WriteSession, file_version

LEAST_BYTES: Final = 128 << 10
"""Minimum average size of a page; shorter ones cost readers more than joining them costs the writer."""


def fields_to_copy(snapshot: Snapshot, fragments: Sequence[Fragment]) -> tuple[Field, ...]:
    """Returns the top-level fields whose pages can be copied into a file for all of these fragments; none if rows
    are deleted, or if one file would not be enough.

    raises: CorruptFile, UnsupportedFeature
    """
    version = file_versions.by_name(file_version(snapshot))
    if version is None or version.pages is None:
        return ()
    if any(map(dictionaries.narrow, snapshot.manifest.schema.arrow.types)):
        # their items together may be too many for one file
        return ()
    sizes = [file.size_bytes for fragment in fragments for file in fragment.files]
    opened = [snapshot.open(fragment) for fragment in fragments]
    if not all(sizes) or sum(sizes) > MAX_BYTES_PER_FILE or any(len(each.deletions) for each in opened):
        return ()
    versions = {file.file_version for fragment in fragments for file in fragment.files}
    if versions != {version.in_manifests}:
        return ()
    return tuple(field for field in snapshot.manifest.schema.fields if _can_be_copied(field, opened))


def write(session: WriteSession, fragments: Sequence[Fragment], fields: Sequence[Field], work: Work) -> Fragment:
    """Writes one new fragment with the rows of others.

    fields: fields whose pages are copied, see `fields_to_copy`
    raises: CorruptFile, UnsupportedFeature; errors of the store
    """
    snapshot = session.snapshot
    schema = snapshot.manifest.schema
    writer = session.file_writer(schema, copied=fields)
    numbers = {
        leaf.id: number for number, leaf in enumerate(leaf for field in schema.fields for leaf in _leaves(field))
    }
    copied = [leaf for field in fields for leaf in _leaves(field)]
    for fragment in fragments:
        opened = snapshot.open(fragment)
        for file, columns in _by_file(opened, copied):
            read = copied_pages.read(file, [metadata for _, metadata in columns])
            for (leaf, _), pages in zip(columns, read, strict=True):
                for page in pages:
                    writer.copy_page(numbers[leaf.id], page)
        if len(fields) == len(schema.fields):
            work.advance(opened.num_rows)
    if len(fields) < len(schema.fields):
        others = [field.name for field in schema.fields if field not in fields]
        for batch in work.over(read_fragments(snapshot, others, fragments)):
            writer.write(batch)
    written = writer.finish()
    new_file = data_file(written)
    session.finished(writer, new_file)
    return Fragment(0, (new_file,), None, written.num_rows)


def _can_be_copied(field: Field, fragments: Sequence[OpenFragment]) -> bool:
    """Whether all fragments have pages of the field that can be copied and are large enough."""
    inside = _leaves(field)
    if any(each.is_blob_v1 or each.is_blob_v2 for each in inside):
        return False
    num_pages = num_bytes = 0
    layers: dict[int, set[Layers]] = {}
    for fragment in fragments:
        for leaf in inside:
            stored = fragment.stored(leaf)
            if stored is None:
                return False
            file, column = stored
            with file.at(field.name):
                if not (
                    copied_pages.is_as_described(file, leaf) and copied_pages.can_be_copied(column, fragment.num_rows)
                ):
                    return False
            layers.setdefault(leaf.id, set()).update(page.layout.layers for page in column.pages)
            num_pages += len(column.pages)
            num_bytes += column.num_bytes
    # pylance 14 cannot read pages of nested values together if only some have NULLs in a struct
    is_alike = all(len(each) == 1 for each in layers.values()) or not field.children
    return is_alike and num_bytes >= LEAST_BYTES * num_pages


def _by_file(
    fragment: OpenFragment, fields: Sequence[Field]
) -> list[tuple[FileReader, list[tuple[Field, ColumnMetadata]]]]:
    """Groups the columns of some leaves by file."""
    columns_by_file: dict[str, tuple[FileReader, list[tuple[Field, ColumnMetadata]]]] = {}
    for leaf in fields:
        stored = fragment.stored(leaf)
        assert stored is not None
        file, column = stored
        columns_by_file.setdefault(file.path, (file, []))[1].append((leaf, column))
    return list(columns_by_file.values())


def _leaves(field: Field) -> list[Field]:
    return [field] if is_leaf(field) else [leaf.field for leaf in leaves(field)]
