"""Collector of problems, and the errors of single checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lance_sql.errors import TABLE_ERRORS, LanceError, UnsupportedFeature, at
from lance_sql.format.file.metadata_v2 import MetadataV2
from lance_sql.format.schema import Field
from lance_sql.health.lineage_audit.faults import Fault
from lance_sql.health.verification.verification_report import Affected, Problem
from lance_sql.store import ByteRange
from lance_sql.table.fragment import DataFile
from lance_sql.table.snapshot import Snapshot


@dataclass(slots=True)
class Findings:
    """Collector of problems, with the versions that share them."""

    versions: dict[tuple[str | None, str | None, int | None, str, Affected, str | None], list[int]] = field(
        default_factory=dict
    )

    def add(
        self, version: int, errors: Iterable[LanceError], affects: Affected = "rows", index: str | None = None
    ) -> None:
        for error in errors:
            is_unknown = affects == "rows" and isinstance(error, UnsupportedFeature)
            lost: Affected = "unknown" if is_unknown else affects
            key = (error.file, error.column, error.page, error.message, lost, index)
            affected = self.versions.setdefault(key, [])
            if version not in affected:
                affected.append(version)

    def add_fault(self, fault: Fault) -> None:
        versions = self.versions.setdefault((None, None, None, str(fault), "lineage", None), [fault.version])
        if fault.newest is not None and fault.newest[1] and fault.newest[0] != fault.version:
            versions.append(fault.newest[0])

    def problems(self) -> tuple[Problem, ...]:
        return tuple(Problem(tuple(sorted(affected)), *key) for key, affected in self.versions.items())


def errors_of(check: Callable[[], object], file: str | None) -> list[LanceError]:
    """Runs a check and returns its errors; a check that cannot be completed counts as unknown."""
    try:
        with at(file=file):
            check()
    except TABLE_ERRORS as error:
        return [error]
    except MemoryError:
        return [UnsupportedFeature("not enough memory to check it").located(file)]
    except OSError as error:
        return [UnsupportedFeature(f"it cannot be read: {error}").located(file)]
    return []


def note_columns(errors: Iterable[LanceError], damaged: set[str]) -> bool:
    """Adds the columns of the errors; returns False if an error is about all columns."""
    columns = {error.column for error in errors}
    damaged.update(name for name in columns if name is not None)
    return None not in columns


def pages_in(snapshot: Snapshot, file: DataFile, ranges: Sequence[ByteRange]) -> list[tuple[str, int]]:
    """Returns the pages of a file with bytes in the ranges, as names of top-level columns and numbers of pages; none if
    the file does not record pages.

    ranges: ascending
    """
    try:
        return sorted(set(_pages(snapshot, file, ranges)))
    except TABLE_ERRORS:
        return []


def _pages(snapshot: Snapshot, file: DataFile, ranges: Sequence[ByteRange]) -> Iterator[tuple[str, int]]:
    opened = snapshot.open_fragments.files.open(file)
    if not isinstance(opened.metadata, MetadataV2):
        return
    fields = snapshot.manifest.schema.by_id
    for field_id, index in file.columns().items():
        field = fields.get(field_id)
        if field is None:
            continue
        name = _top(fields, field).name
        for number, page in enumerate(opened.column(index).pages):
            if any(start < end for buffer in page.buffers for start, end in _overlaps(buffer, ranges)):
                yield name, number


def _overlaps(buffer: ByteRange, ranges: Sequence[ByteRange]) -> Iterator[ByteRange]:
    for each in ranges:
        yield ByteRange(max(buffer.start, each.start), min(buffer.end, each.end))


def _top(fields: Mapping[int, Field], field: Field) -> Field:
    above = fields.get(field.parent_id)
    return field if above is None else _top(fields, above)
