"""Operations: changes of a table by a commit, as values.

An operation contains nothing that depends on the version it is applied to: new fragments have the id 0, and no row
ids or versions. So it can be applied to any version it does not conflict with. `Rewrite` is the exception: the ids
of its fragments were reserved before.

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
    """Adds rows."""

    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes rows.

    updated_fragments: of the version that was read, with a deletion file of all deleted rows
    predicate: informational only
    """

    updated_fragments: tuple[Fragment, ...] = ()
    deleted_fragment_ids: tuple[int, ...] = ()
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replaces all rows and the schema; also the first version of a table.

    config_upserts: added to the table's config
    file_version: of the table's data files, if there are no fragments; unchanged without it. Not part of messages
    """

    fragments: tuple[Fragment, ...]
    schema: Schema
    config_upserts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    file_version: str | None = None


class UpdateMode(Enum):
    """Form of an update; the value is the number in messages."""

    REWRITE_ROWS = 0
    REWRITE_COLUMNS = 1


@dataclass(frozen=True, slots=True)
class Update:
    """Changes rows, and inserts rows at the same time.

    updated_fragments: with a deletion file of all deleted rows, or with other data files
    new_fragments: `row_ids` are those of the first rows, which replace rows of the fragments in this update
    fields_modified: changed in place in `updated_fragments`
    fields_for_preserving_frag_bitmap: fields whose values may differ in `new_fragments`
    updated_offsets: by fragment id, the rows changed in place
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
    """Fragments whose live rows were rewritten to other fragments.

    new_fragments: complete: reserved ids, row ids, row versions
    """

    old_fragments: tuple[Fragment, ...]
    new_fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Moves rows, as compaction does; changes nothing else."""

    groups: tuple[RewriteGroup, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Adds columns, or replaces columns.

    fragments: all fragments of the next version, without the new ones
    new_fragments: with new rows, which have values in new columns. A merge with new fragments changes no others
    preserves_nullability: no column became one that concurrently added rows cannot leave out
    next_row_id: of a table that gets stable row ids, which `fragments` have; None for other merges. Not part of
        messages
    drops_indices: removes all indices. Not part of messages
    """

    fragments: tuple[Fragment, ...]
    schema: Schema
    preserves_nullability: bool = False
    next_row_id: int | None = None
    drops_indices: bool = False
    new_fragments: tuple[Fragment, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """Drops columns, renames them or changes their nullability.

    preserves_nullability: see `Merge`
    """

    schema: Schema
    preserves_nullability: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """Returns the table to an earlier version.

    drops_indices: removes all indices. Not part of messages
    """

    version: int
    drops_indices: bool = False


@dataclass(frozen=True, slots=True)
class ReserveFragments:
    """Reserves ids for fragments of a later `Rewrite`, beginning one above the highest id."""

    num_fragments: int


@dataclass(frozen=True, slots=True)
class UpdateMap:
    """Changes of a mapping.

    entries: None as a value removes the key
    replace: removes all other keys
    """

    entries: Mapping[str, str | None]
    replace: bool = False


@dataclass(frozen=True, slots=True)
class UpdateConfig:
    """Changes config or metadata.

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
    """Replaces the values of some columns; all files have the same fields."""

    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Clone:
    """The first version of a clone or a branch.

    ref_version: the cloned version of the table at `ref_path`
    ref_name: its branch; None for main
    """

    ref_version: int
    ref_path: str
    ref_name: str | None = None
    branch_name: str | None = None
    is_shallow: bool = True


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """Adds and removes segments of indices."""

    new_indices: tuple[IndexSegment, ...]
    removed_indices: tuple[IndexSegment, ...]


@dataclass(frozen=True, slots=True)
class UpdateBases:
    """Adds base paths; only checked for conflicts, never committed."""

    new_bases: tuple[BasePath, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """An operation of which only the name is known; None if not even that."""

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
