"""Details of an index of a member of JSON documents: its path, and the kind of index of the values there.

Source: message lance.index.pb.JsonIndexDetails {1: path, 2: target_details}.
"""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError


class JsonIndexDetails(NamedTuple):
    """Parsed details.

    path: as the writer spelled it; without `$`, its members are below the document
    target: type of the details of an index of plain values, such as "BTreeIndexDetails"
    """

    path: str
    target: str


def parse(details: bytes) -> JsonIndexDetails | None:
    """Parses details; None for damaged ones."""
    try:
        # Any has fields of the same numbers and kinds: a text and bytes
        outer = Any.FromString(details)
        target = Any.FromString(outer.value)
    except DecodeError:
        return None
    return JsonIndexDetails(outer.type_url, target.type_url.rpartition(".")[2])
