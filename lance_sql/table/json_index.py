"""Details of an index of a member of JSON documents: its path, and the kind of index of the values there.

Source: message lance.index.pb.JsonIndexDetails {1: path, 2: target_details}.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError

from lance_sql.table.index_kinds import BITMAP, BTREE, BY_DETAILS, N_GRAM, ZONE_MAP, IndexKind

DETAILS: Final = "JsonIndexDetails"
PACKAGE: Final = "lance.index.pb"

SEARCHED: Final = frozenset({BTREE, BITMAP, ZONE_MAP, N_GRAM})
"""Kinds whose files tell the type of the values: bloom filters do not."""


class JsonIndexDetails(NamedTuple):
    """Parsed details.

    path: as the writer spelled it; without `$`, its members are below the document
    kind: of an index of plain values; None for an unknown one
    """

    path: str
    kind: IndexKind | None


def parse(details: bytes) -> JsonIndexDetails | None:
    """Parses details; None for damaged ones."""
    try:
        # Any has fields of the same numbers and kinds: a text and bytes
        outer = Any.FromString(details)
        target = Any.FromString(outer.value)
    except DecodeError:
        return None
    return JsonIndexDetails(outer.type_url, BY_DETAILS.get(target.type_url.rpartition(".")[2]))


def from_root(path: str) -> str:
    """Returns a path that begins with `$`."""
    return path if path.startswith("$") else f"$.{path}"


def serialize(path: str, kind: IndexKind, details: bytes) -> bytes:
    """Returns the details of an index on a path.

    details: of the kind
    """
    target = Any(type_url=f"/{kind.package}.{kind.details}", value=details)
    return bytes(Any(type_url=path, value=target.SerializeToString()).SerializeToString())


def kind_of(index_type: str, details: bytes) -> IndexKind | None:
    """Returns the kind of an index, or of the values at its path; None for unknown kinds, and for paths of kinds that
    rank rows."""
    if index_type != DETAILS:
        return BY_DETAILS.get(index_type)
    of_json = parse(details)
    return of_json.kind if of_json is not None and of_json.kind is not None and of_json.kind.filters else None
