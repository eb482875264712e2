"""Operations: what a commit does to a table, as values.

An operation says nothing that depends on the version it lands on: new fragments have the id 0, and no row ids or
versions. So it can be applied to any version that it does not conflict with. `Rewrite` is the exception: the ids of its
fragments were reserved before.

Source: the operations of message lance.table.Transaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from lance_sql.format.schema import Schema
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.indices import IndexSegment
from lance_sql.table.paths import BasePath
from lance_sql.values.arrays import U32


@dataclass(frozen=True, slots=True)
class Append:
    """New rows."""

    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Rows are gone.

    updated_fragments: as the version that was read has them, with a deletion file of all deleted rows
    predicate: for information only
    """

    updated_fragments: tuple[Fragment, ...] = ()
    deleted_fragment_ids: tuple[int, ...] = ()
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """All rows and the schema are replaced; also the first version of a table.

    config_upserts: added to the table's config
    file_version: of the table's data files, where no fragment says it; as before without it. Not part of messages
    """

    fragments: tuple[Fragment, ...]
    schema: Schema
    config_upserts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    file_version: str | None = None


class UpdateMode(Enum):
    """How an update changes rows; the value is the number in messages."""

    REWRITE_ROWS = 0
    REWRITE_COLUMNS = 1


@dataclass(frozen=True, slots=True)
class Update:
    """Rows are changed, and inserted at the same time.

    updated_fragments: with a deletion file of all deleted rows, or with other data files
    new_fragments: `row_ids` are those of the first rows, which replace rows of the fragments that this update touches
    fields_modified: changed in place in `updated_fragments`
    fields_for_preserving_frag_bitmap: whose values may differ in `new_fragments`
    updated_offsets: by fragment id, the rows that a change in place concerned
    """

    removed_fragment_ids: tuple[int, ...] = ()
    updated_fragments: tuple[Fragment, ...] = ()
    new_fragments: tuple[Fragment, ...] = ()
    fields_modified: tuple[int, ...] = ()
    fields_for_preserving_frag_bitmap: tuple[int, ...] = ()
    mode: UpdateMode = UpdateMode.REWRITE_ROWS
    updated_offsets: Mapping[int, U32] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Fragments whose live rows now are in other fragments.

    new_fragments: complete: reserved ids, row ids, row versions
    """

    old_fragments: tuple[Fragment, ...]
    new_fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Rows move, as compaction does it; nothing else changes."""

    groups: tuple[RewriteGroup, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Columns are added, or replaced by others.

    fragments: all fragments of the next version, without the new ones
    new_fragments: with new rows, which have values in new columns. A merge that has some changes no other fragment
    preserves_nullability: no column became one that rows of others cannot leave out
    next_row_id: of a table that gets stable row ids, which `fragments` have; None of other merges. Not part of messages
    drops_indices: no index stays. Not part of messages
    """

    fragments: tuple[Fragment, ...]
    schema: Schema
    preserves_nullability: bool = False
    next_row_id: int | None = None
    drops_indices: bool = False
    new_fragments: tuple[Fragment, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """Columns are dropped, renamed or change their nullability.

    preserves_nullability: as for `Merge`
    """

    schema: Schema
    preserves_nullability: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """The table becomes what it was at an earlier version.

    drops_indices: no index stays. Not part of messages
    """

    version: int
    drops_indices: bool = False


@dataclass(frozen=True, slots=True)
class ReserveFragments:
    """Ids for fragments of a later `Rewrite`; the first one is one above the highest id before."""

    num_fragments: int


@dataclass(frozen=True, slots=True)
class UpdateMap:
    """Changes of a mapping.

    entries: None as a value removes the key
    replace: all other keys go
    """

    entries: Mapping[str, str | None]
    replace: bool = False


@dataclass(frozen=True, slots=True)
class UpdateConfig:
    """Config or metadata are changed.

    field_metadata: by field id
    """

    config: UpdateMap | None = None
    table_metadata: UpdateMap | None = None
    schema_metadata: UpdateMap | None = None
    field_metadata: Mapping[int, UpdateMap] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A data file with other values of some columns of a fragment, for all of its physical rows."""

    fragment_id: int
    file: DataFile


@dataclass(frozen=True, slots=True)
class DataReplacement:
    """The values of some columns are replaced; all files have the same fields."""

    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Clone:
    """The first version of a clone or a branch.

    ref_version: of the table at `ref_path` that was cloned
    ref_name: its branch; None for main
    """

    ref_version: int
    ref_path: str
    ref_name: str | None = None
    branch_name: str | None = None
    is_shallow: bool = True


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """Segments of indices are added and removed."""

    new_indices: tuple[IndexSegment, ...]
    removed_indices: tuple[IndexSegment, ...]


@dataclass(frozen=True, slots=True)
class UpdateBases:
    """Base paths are added; judged only."""

    new_bases: tuple[BasePath, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """An operation of which no more is known than its name; None when not even that."""

    name: str | None


Operation = (
    Append
    | Delete
    | Overwrite
    | Update
    | Rewrite
    | Merge
    | Project
    | Restore
    | ReserveFragments
    | UpdateConfig
    | DataReplacement
    | Clone
    | CreateIndex
    | UpdateBases
    | Other
)
