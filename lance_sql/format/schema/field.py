"""One field of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

LISTS: Final = ("list", "list.struct", "large_list", "large_list.struct")

PACKED_KEYS = ("lance-encoding:packed", "packed")
"""Metadata that selects joint storage of the members of a struct."""

EXTENSION_NAME = "ARROW:extension:name"


class DictionaryLocation(NamedTuple):
    """A legacy table's dictionary values: `num_values` of them at `file_offset` of the manifest file."""

    file_offset: int
    num_values: int


NO_METADATA: Mapping[str, bytes] = {}


class Field(NamedTuple):
    """One field; `children` in the order of the schema. A tuple, because tables have thousands of them.

    id: unique in the table, never reused for another column of the same version
    parent_id: -1 at the top level
    logical_type: as stored, see `types`
    dictionary: set on dictionary fields of legacy tables only
    """

    name: str
    id: int
    parent_id: int
    logical_type: str
    nullable: bool = True
    children: tuple[Field, ...] = ()
    metadata: Mapping[str, bytes] = NO_METADATA
    dictionary: DictionaryLocation | None = None

    def __hash__(self) -> int:
        """Collides for fields that differ only in type or metadata, which two fields of a table never do."""
        return hash((self.id, self.name))

    @property
    def extension_name(self) -> str | None:
        """Arrow's extension name, or None."""
        if not self.metadata:
            return None
        name = self.metadata.get(EXTENSION_NAME)
        return None if name is None else name.decode("utf-8", "replace")

    @property
    def may_be_null(self) -> bool:
        """Whether values may be NULL, even in a field that is not nullable: early writers of files 0.1 stored empty
        items of dictionaries in a form that reads as NULL."""
        return self.nullable or self.dictionary is not None

    @property
    def is_packed(self) -> bool:
        """Whether the members of this struct are stored together in one column."""
        if self.logical_type != "struct":
            return False
        return "lance-encoding:packed" in self.metadata or self.metadata.get("packed", b"").lower() == b"true"

    @property
    def is_blob_v1(self) -> bool:
        """Whether the values may be outside the pages, in the form of files up to 2.1."""
        return self.logical_type in ("binary", "large_binary") and "lance-encoding:blob" in self.metadata

    @property
    def is_blob_v2(self) -> bool:
        """Whether the values are outside the pages, or the file, behind a packed descriptor."""
        return self.extension_name == "lance.blob.v2"

    @property
    def is_list(self) -> bool:
        """Whether rows have any number of items: list, large_list or map."""
        return self.logical_type in LISTS or self.logical_type == "map"
