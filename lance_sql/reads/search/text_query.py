"""Full-text queries of the user: words, or a query object in the form of Lance's servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.search import text_ranking
from lance_sql.reads.search.ranking import SCORE, Ranking
from lance_sql.table.index_kinds import FULL_TEXT
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import kinds

_MOST_DEPTH: Final = 32
_MOST_ROWS: Final = 2**32


@dataclass(frozen=True)
class Match:
    """Documents with any of the words, or with all.

    fuzziness: maximum number of letters by which a word of the index may differ
    """

    column: str
    terms: str
    boost: float = 1.0
    needs_all: bool = False
    fuzziness: int = 0
    max_expansions: int = 50
    prefix_length: int = 0


@dataclass(frozen=True)
class Phrase:
    """Documents with the words in this order.

    slop: number of positions by which each gap may be wider than that of the query
    """

    column: str
    terms: str
    slop: int = 0


@dataclass(frozen=True)
class Boolean:
    """Documents that match all of `must`, or, without any, one of `should`; and none of `must_not`."""

    must: tuple[Part, ...]
    should: tuple[Part, ...]
    must_not: tuple[Part, ...]


@dataclass(frozen=True)
class Boost:
    """Documents of `positive`, with lower scores for those of `negative`."""

    positive: Part
    negative: Part
    negative_boost: float = 0.5


@dataclass(frozen=True)
class MultiMatch:
    """Documents of any part, with the greatest of their scores."""

    parts: tuple[Match, ...]


Part: TypeAlias = Match | Phrase | Boolean | Boost | MultiMatch


@dataclass(frozen=True)
class TextQuery:
    """A full-text query.

    k: number of rows; None for all
    """

    part: Part
    k: int | None
    use_index: bool = True
    fast_search: bool = False
    leading: tuple[pa.Field, ...] = ()
    fields: tuple[pa.Field, ...] = (pa.field(SCORE, pa.float32()),)

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """Ranks like `Ranker.rank`."""
        return text_ranking.rank(self, snapshot, allowed)

    def describe(self) -> str:
        """Describes like `Ranker.describe`."""
        return f"{'all' if self.k is None else self.k} rows by words: {_said(self.part)}"


def _said(part: Part) -> str:
    """Describes a query in words."""
    match part:
        case Match():
            said = f"{'all' if part.needs_all else 'any'} of {part.terms!r} in {part.column}"
            said += f", up to {part.fuzziness} letters off" if part.fuzziness else ""
            return said if part.boost == 1 else f"{part.boost:g} times {said}"
        case Phrase():
            return f"the phrase {part.terms!r} in {part.column}" + (f", slop {part.slop}" if part.slop else "")
        case MultiMatch():
            return f"the best of ({'; '.join(map(_said, part.parts))})"
        case Boost():
            return f"({_said(part.positive)}), less {part.negative_boost:g} times ({_said(part.negative)})"
        case Boolean():
            lists = (("must", part.must), ("should", part.should), ("must not", part.must_not))
            return ", ".join(f"{name} ({'; '.join(map(_said, each))})" for name, each in lists if each)


def text_query(
    snapshot: Snapshot,
    text: str | Mapping[str, Any],
    column: str | None = None,
    *,
    k: int | None = 10,
    use_index: bool = True,
    fast_search: bool = False,
) -> TextQuery:
    """Returns a query, after validating it for the table.

    raises: InvalidArgument for an invalid query; ColumnNotFound; UnsupportedFeature for unsupported queries
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < _MOST_ROWS):
        raise InvalidArgument(f"k={k!r} is not a number of at least 1")
    if isinstance(text, str):
        text = {"match": {"terms": text}}
    return TextQuery(_Reader(snapshot, column).part(text, 0), k, use_index, fast_search)


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type can be searched for words."""
    if kinds.is_list(type):
        type = type.value_type
    return kinds.is_text(type)


class _Reader:
    """Parser of query objects."""

    def __init__(self, snapshot: Snapshot, column: str | None) -> None:
        self._snapshot = snapshot
        self._column = column

    def part(self, given: Any, depth: int) -> Part:
        if not isinstance(given, Mapping) or len(given) != 1 or depth > _MOST_DEPTH:
            raise InvalidArgument(
                f"The query {str(given)[:80]} must have one of match, phrase, boolean, boost, multi_match"
            )
        ((kind, body),) = given.items()
        if not isinstance(body, Mapping):
            raise InvalidArgument(f"The query {kind} must be a dict of its parts, not {str(body)[:80]}")
        body = dict(body)
        match kind:
            case "match":
                query_part: Part = self._match(body)
            case "phrase":
                query_part = Phrase(self._searched(body), self._terms(body), _number(body, "slop", 0))
            case "boolean":
                lists = [self._list(body, name, depth) for name in ("must", "should", "must_not")]
                query_part = Boolean(*lists)
                if not query_part.must and not query_part.should:
                    raise InvalidArgument("A boolean query with must_not alone matches nothing: add must or should")
            case "boost":
                parts = [self.part(body.pop(name, None), depth + 1) for name in ("positive", "negative")]
                query_part = Boost(parts[0], parts[1], _float(body, "negative_boost", 0.5))
            case "multi_match":
                query_part = self._multi_match(body)
            case _:
                raise UnsupportedFeature(
                    f"queries of kind {str(kind)[:40]!r} are not supported: use match, phrase, boolean, boost or"
                    " multi_match"
                )
        if body:
            raise InvalidArgument(f"The query {kind} has no part {min(map(str, body))!r}")
        return query_part

    def _multi_match(self, body: dict[str, Any]) -> MultiMatch:
        each = body.pop("match_queries", None)
        if isinstance(each, Sequence) and each and not isinstance(each, str):
            matches = [
                self.part({"match": part.get("match", part)} if isinstance(part, Mapping) else None, 1) for part in each
            ]
            return MultiMatch(tuple(part for part in matches if isinstance(part, Match)))
        columns, boosts = body.pop("columns", None), body.pop("boosts", None)
        if not isinstance(columns, Sequence) or isinstance(columns, str) or not columns:
            raise InvalidArgument("A multi_match query needs columns, or match_queries")
        terms = body.pop("query", None) or body.pop("terms", None)
        boosts = [1.0] * len(columns) if boosts is None else list(boosts)
        if len(boosts) != len(columns):
            raise InvalidArgument(f"A multi_match query has {len(columns)} columns and {len(boosts)} boosts")
        pairs = zip(columns, boosts, strict=True)
        return MultiMatch(tuple(self._match({"column": name, "terms": terms, "boost": boost}) for name, boost in pairs))

    def _match(self, body: dict[str, Any]) -> Match:
        operator = str(body.pop("operator", None) or "OR").upper()
        if operator not in ("AND", "OR"):
            raise InvalidArgument(f"operator={operator!r} is neither AND nor OR")
        match = Match(
            self._searched(body),
            self._terms(body),
            _float(body, "boost", 1.0),
            operator == "AND",
            _number(body, "fuzziness", 0),
            _number(body, "max_expansions", 50),
            _number(body, "prefix_length", 0),
        )
        if body:
            raise InvalidArgument(f"The query match has no part {min(map(str, body))!r}")
        return match

    def _list(self, body: dict[str, Any], name: str, depth: int) -> tuple[Part, ...]:
        given = body.pop(name, None) or []
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidArgument(f"{name} of a boolean query must be a list of queries")
        return tuple(self.part(each, depth + 1) for each in given)

    def _terms(self, body: dict[str, Any]) -> str:
        terms = body.pop("terms", None)
        if not isinstance(terms, str):
            raise InvalidArgument(f"The words of a query must be text, not {str(terms)[:40]!r}")
        return terms

    def _searched(self, body: dict[str, Any]) -> str:
        name = body.pop("column", None)
        name = self._default() if name is None else name
        (column,) = resolve(self._snapshot, [str(name)])
        if column.field is None or not is_text(column.arrow.type):
            raise UnsupportedFeature(f"{self._snapshot.label}: column {name!r} is {column.arrow.type}, not text")
        return str(name)

    def _default(self) -> str:
        if self._column is not None:
            return self._column
        schema = self._snapshot.manifest.schema.arrow
        fields = {field.id: field.name for field in self._snapshot.manifest.schema.fields}
        indexed = {fields.get(each.field_ids[0]) for each in self._snapshot.indices() if each.kind is FULL_TEXT}
        names = sorted(name for name in indexed if name) or [each.name for each in schema if is_text(each.type)]
        if len(names) != 1:
            if not names:
                raise InvalidArgument(f"{self._snapshot.label} has no text column to search")
            raise InvalidArgument(
                f"{self._snapshot.label} has several text columns ({', '.join(names)}): pass text_column="
                " (--text-column)"
            )
        return names[0]


def _number(body: dict[str, Any], name: str, default: int) -> int:
    value = body.pop(name, None)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InvalidArgument(f"{name}={value!r} is not a number of at least 0")
    return value


def _float(body: dict[str, Any], name: str, default: float) -> float:
    value = body.pop(name, None)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name}={value!r} is not a number")
    return float(value)
