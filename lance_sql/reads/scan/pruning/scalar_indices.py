"""Scalar indices of the table: rows of the covered fragments that may pass a filter.

    a = 1 AND b > 5 AND c LIKE '%x'     an index on a, one on b: the rows in both; c is not searched
    a = 1 OR b > 5                      rows in one of the two, for fragments that both cover
    v->>'a' = 'x'                       an index of the member a of documents

An index only prunes rows of fragments that it covers. An unusable one, which is damaged or of an unknown kind,
prunes nothing and is named in the notes.

Source: indices, combination rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files.bitmap import Bitmaps
from lance_sql.format.index_files.bloom import BloomFilters
from lance_sql.format.index_files.btree import BTree
from lance_sql.format.index_files.label_list import Labels
from lance_sql.format.index_files.ngram import Postings
from lance_sql.format.index_files.zone_map import ZoneMap
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import (
    And,
    ColumnRef,
    Compare,
    Const,
    In,
    IsNan,
    IsNull,
    IsUnknown,
    Literal,
    Not,
    Or,
    Path,
    Predicate,
    TextMatch,
    conjunction,
    plain_type,
)
from lance_sql.reads.scan.pruning import json_members, known_rows
from lance_sql.reads.scan.pruning.covered import Covered
from lance_sql.reads.scan.pruning.index_search import SEARCHES, Question, wanted_item
from lance_sql.reads.scan.pruning.known_rows import KnownRows
from lance_sql.reads.scan.pruning.source import Evidence
from lance_sql.table.index_kinds import BY_DETAILS
from lance_sql.table.indices import IndexSegment
from lance_sql.table.open_indices import OpenIndices

if TYPE_CHECKING:
    from lance_sql._kernels import JsonStep


class ScalarIndices:
    """Scalar indices of the version."""

    name: Final = "scalar indices"

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        snapshot = candidates.snapshot
        if not snapshot.use_indices or snapshot.manifest.index_section is None or len(candidates) == 0:
            return None
        if snapshot.manifest.fragments.repeated_ids() or snapshot.manifest.data_format == "0.1":
            # Bitmaps of fragments are ambiguous then, and releases read files of 0.1 differently.
            return None
        try:
            indices = snapshot.open_indices
        except CorruptFile as error:
            return Evidence(self.name, candidates, (f"not used: {error.in_table}",))
        search = _Search(candidates, indices)
        known = search.find(predicate)
        if known is None:
            return Evidence(self.name, candidates, tuple(search.notes)) if search.notes else None
        return Evidence(self.name, known.narrow(candidates), tuple(search.notes))


@dataclass
class _Search:
    candidates: Candidates
    indices: OpenIndices
    notes: dict[str, None] = field(default_factory=dict)

    def find(self, predicate: Predicate) -> KnownRows | None:
        """Returns the rows for which the predicate may be true; None if nothing is known."""
        paths = predicate.columns
        if len(paths) == 1 and (_is_plain(predicate) or wanted_item(predicate) is not None):
            (path,) = paths
            return self._in_indices(self.indices.by_path.get(path, {}), path, predicate)
        if len(paths) == 1 and (member := json_members.member_of(predicate)) is not None:
            return self._on_member(*member, predicate)
        match predicate:
            case And(arguments):
                answers = [self.find(part) for part in _by_column(arguments)]
                known = [each for each in answers if each is not None]
                return reduce(KnownRows.both, known) if known else None
            case Or(arguments):
                answer: KnownRows | None = None
                for argument in arguments:
                    part = self.find(argument)
                    if part is None:
                        return None
                    answer = part if answer is None else answer.either(part)
                return answer
        return None

    def _on_member(self, path: Path, steps: Sequence[JsonStep], predicate: Predicate) -> KnownRows | None:
        """Searches the indices of a member of JSON."""
        indices = {}
        for name, segments in self.indices.of_members.get(path, {}).items():
            details = segments[0].of_json
            try:
                if details is not None and json_members.is_at(details.path, steps):
                    indices[name] = segments
            except UnsupportedFeature as error:
                self.notes[f"{name}: not used: {error}"] = None
        return self._in_indices(indices, path, predicate)

    def _in_indices(
        self, indices: Mapping[str, Sequence[IndexSegment]], path: Path, predicate: Predicate
    ) -> KnownRows | None:
        answer: KnownRows | None = None
        for name in sorted(indices, key=lambda name: _rank(indices[name])):
            known = self._in_index(name, indices[name], path, predicate)
            if known is None:
                continue
            answer = known if answer is None else answer.both(known)
            kind = indices[name][0].kind
            if len(answer.fragment_indices) == len(self.candidates) and kind is not None and not kind.is_of_zones:
                break
        return answer

    def _in_index(
        self, name: str, segments: Sequence[IndexSegment], path: Path, predicate: Predicate
    ) -> KnownRows | None:
        answers = []
        reasons: dict[str, None] = {}
        for segment in segments:
            try:
                answer = self._in_segment(segment, path, predicate)
            except (CorruptFile, UnsupportedFeature) as error:
                reasons[error.in_table] = None
                continue
            if answer is not None:
                answers.append(answer)
        for reason in reasons:
            self.notes[f"{name}: not used: {reason}"] = None
        known = known_rows.combined(answers, of_moved_rows=self.indices.moves is not None) if answers else None
        if known is not None:
            kind = segments[0].kind
            assert kind is not None
            num_covered = len(known.fragment_indices)
            self.notes[f"{name} ({kind.name}): covers {num_covered} of {len(self.candidates)} fragments"] = None
        return known

    def _in_segment(self, segment: IndexSegment, path: Path, predicate: Predicate) -> KnownRows | None:
        self.indices.check(segment)
        covered = self._covered(segment)
        known = self._in_covered(segment, covered, path, predicate)
        return None if known is None else covered.and_unknown(known)

    def _in_covered(
        self, segment: IndexSegment, covered: Covered, path: Path, predicate: Predicate
    ) -> KnownRows | None:
        if segment.of_json is not None:
            return self._in_member(segment, covered, path, predicate)
        item = wanted_item(predicate)
        type = self.indices.types[path]
        # indices of lists answer nothing else
        if len(covered.fragment_indices) == 0 or pa.types.is_nested(type) != (item is not None):
            return None
        opened = self.indices.open(segment)
        if isinstance(opened, Labels) != (item is not None):
            raise UnsupportedFeature(f"its kind does not fit a column of type {type}")
        known = type if item is None else type.value_type
        if isinstance(opened, (ZoneMap, BTree, Bitmaps, Labels)) and plain_type(opened.type) != plain_type(known):
            raise UnsupportedFeature(f"its type is {opened.type}, but that of the column is {type}")
        if isinstance(opened, BloomFilters) and path in self.indices.converted:
            raise UnsupportedFeature("its hashes may be of the stored form of the values")
        assert segment.kind is not None
        with_ids_of = self.candidates if self.indices.has_row_ids(segment) else None
        question = Question(path, type, predicate, with_ids_of)
        return SEARCHES[segment.kind](opened, covered, question)

    def _in_member(self, segment: IndexSegment, covered: Covered, path: Path, predicate: Predicate) -> KnownRows | None:
        if len(covered.fragment_indices) == 0:
            return None
        opened = self.indices.open(segment)
        assert isinstance(opened, (BTree, Bitmaps, ZoneMap, Postings))
        type = pa.string() if isinstance(opened, Postings) else opened.type
        on_values = json_members.on_values(predicate, path, type)
        if on_values is None:
            return None
        assert segment.kind is not None
        with_ids_of = self.candidates if self.indices.has_row_ids(segment) else None
        return SEARCHES[segment.kind](opened, covered, Question(path, type, on_values, with_ids_of))

    def _covered(self, segment: IndexSegment) -> Covered:
        # without prior pruning, the same for every filter
        is_whole = len(self.candidates) == len(self.candidates.fragments) and not self.candidates.parts
        covered = self.indices.covered.get(id(segment)) if is_whole else None
        if not isinstance(covered, Covered):
            covered = Covered.of(self.candidates, segment, self.indices.moves)
            if is_whole:
                self.indices.covered[id(segment)] = covered
        return covered


def _by_column(arguments: Sequence[Predicate]) -> list[Predicate]:
    """Groups the parts of a conjunction by column, or member of JSON."""
    groups: dict[object, list[Predicate]] = {}
    for number, argument in enumerate(arguments):
        paths = argument.columns
        is_one = len(paths) == 1
        member = json_members.member_of(argument) if is_one else None
        key: object = member if member is not None else paths if is_one and _is_plain(argument) else number
        groups.setdefault(key, []).append(argument)
    return [conjunction(parts) for parts in groups.values()]


def _is_plain(predicate: Predicate) -> bool:
    """Whether the predicate compares stored values: computing with them may fail for values of rows deleted long
    ago."""
    match predicate:
        case Const():
            return True
        case Compare(_, ColumnRef(), Literal()):
            return True
        case In(ColumnRef()) | IsNull(ColumnRef()) | IsNan(ColumnRef()) | TextMatch(operand=ColumnRef()):
            return True
        case And(arguments) | Or(arguments):
            return all(map(_is_plain, arguments))
        case Not(argument) | IsUnknown(argument):
            return _is_plain(argument)
    return False


def _rank(segments: Sequence[IndexSegment]) -> int:
    """Returns the position of an index's kind in `index_kinds`."""
    kind = segments[0].kind
    return len(BY_DETAILS) if kind is None else list(BY_DETAILS.values()).index(kind)
