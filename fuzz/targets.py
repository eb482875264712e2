"""A target: a decoder, what it is fed, and the errors that it may raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fuzz import (
    calls,
    changes,
    index_files,
    learned,
    page_calls,
    parts,
    search_calls,
    search_files,
    search_segments,
    tables,
)
from fuzz.inputs import Values
from fuzz.mutations import cuts
from lance_sql.errors import LanceError

Seeds = Mapping[str, Sequence[Values]]
"""Undamaged inputs by target."""


@dataclass(frozen=True, slots=True)
class Target:
    """One decoder.

    run: raises one of `allowed`, or returns
    mutate: a damaged copy of an undamaged input
    cuts: (name of the part, length) of each cut that is tried
    share: of the time
    """

    run: Callable[[Values], None]
    mutate: Callable[[np.random.Generator, Values], Values]
    cuts: Callable[[Values], Iterator[tuple[str, int]]]
    share: int
    allowed: type[Exception] = LanceError


def _data_cuts(values: Values) -> Iterator[tuple[str, int]]:
    yield from (("data", length) for length in cuts(parts.data_of(values)))


TARGETS: dict[str, Target] = {
    "manifests": Target(tables.read_rows, tables.damage_manifest, tables.manifest_cuts, 3),
    "sections": Target(tables.read_sections, tables.damage_section, tables.section_cuts, 2),
    "deletions": Target(parts.read_deletions, parts.damage_data, _data_cuts, 2),
    "transactions": Target(parts.read_transaction, parts.damage_transaction, _data_cuts, 2),
    "row ids": Target(parts.read_row_ids, parts.damage_row_ids, _data_cuts, 2),
    "row versions": Target(parts.read_row_versions, parts.damage_row_versions, _data_cuts, 2),
    "schemas": Target(parts.read_schema, parts.damage_schema, _data_cuts, 2),
    "logical types": Target(parts.read_logical_type, parts.damage_logical_type, lambda _: iter(()), 1),
    "stored json": Target(parts.read_json, parts.damage_data, _data_cuts, 1),
    "json text": Target(parts.store_json, parts.damage_data, _data_cuts, 1),
    "indices": Target(parts.edit_indices, parts.damage_indices, _data_cuts, 1),
    "index files": Target(index_files.read, index_files.mutate, index_files.file_cuts, 4, index_files.Nothing),
    "whole index files": Target(index_files.verify, index_files.mutate, index_files.file_cuts, 2),
    "search files": Target(search_files.read, search_files.mutate, index_files.file_cuts, 4),
    "search segments": Target(search_segments.read, search_segments.mutate, search_segments.some_cuts, 3),
    "search builders": Target(search_files.build, search_files.damage_source, index_files.file_cuts, 3),
    "learned statistics": Target(learned.read, parts.damage_data, _data_cuts, 1),
    "references": Target(parts.edit_refs, parts.damage_refs, _data_cuts, 1),
    "changes": Target(changes.change_damaged, changes.damage_anything, changes.change_cuts, 8),
    "races": Target(changes.change_beside, changes.damage_other, lambda _: iter(()), 6),
    "file metadata": Target(tables.read_metadata, tables.damage_metadata, tables.data_cuts, 3),
    "opened columns": Target(tables.read_opened, tables.damage_metadata, tables.data_cuts, 4),
    "pages": Target(tables.read_rows, tables.damage_pages, tables.data_cuts, 14),
    "kernel pages": Target(page_calls.run, page_calls.mutate, page_calls.some_cuts, 6, ValueError),
    "kernels": Target(calls.run, calls.mutate, calls.some_cuts, 6, ValueError),
    "search kernels": Target(search_calls.run, calls.mutate, calls.some_cuts, 3, ValueError),
}
