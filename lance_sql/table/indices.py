"""The index section of a manifest: which secondary indices a version has. They are listed, and not used for answers.

Source: messages lance.table.IndexSection and IndexMetadata; Manifest.index_section.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from lance_sql.errors import CorruptFile, at
from lance_sql.proto import table_pb2
from lance_sql.store import Store
from lance_sql.table.manifest import Manifest, read_section


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """One segment of an index; segments of one name are one index.

    field_ids: the indexed fields
    dataset_version: the version that the segment was built from
    index_type: type of the details, such as "BTreeIndexDetails"; empty when it is not recorded
    """

    name: str
    uuid: UUID
    field_ids: tuple[int, ...]
    dataset_version: int
    index_type: str


def read(store: Store, path: str, manifest: Manifest) -> tuple[IndexSegment, ...]:
    """The index segments of the version whose manifest is at `path`.

    raises: CorruptFile
    """
    if manifest.index_section is None:
        return ()
    with at(file=path):
        section = table_pb2.IndexSection.FromString(read_section(store, path, manifest.index_section))
        return tuple(_segment(index) for index in section.indices)


def _segment(message: table_pb2.IndexMetadata) -> IndexSegment:
    if len(message.uuid.uuid) != 16:
        raise CorruptFile(f"the index {message.name!r} has a uuid of {len(message.uuid.uuid)} bytes")
    return IndexSegment(
        message.name,
        UUID(bytes=message.uuid.uuid),
        tuple(message.fields),
        message.dataset_version,
        message.index_details.type_url.rpartition(".")[2],
    )
