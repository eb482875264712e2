"""PageLayout messages of file versions 2.1 and 2.2 <-> page layouts.

Source: message `lance.encodings21.PageLayout`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from google.protobuf import any_pb2

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.encodings.wire_v2_1 import encoding_from_wire, encoding_to_wire
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, Layer, Layers, MiniBlock, PageLayout
from lance_sql.format.proto import encodings_v2_1_pb2 as pb

TYPE_URL = "/lance.encodings21.PageLayout"

MAX_LAYERS = 256
MAX_CHUNK_BUFFERS = 64
MAX_ITEMS = 1 << 48

_LAYERS = frozenset(Layer)


def layout_from_wire(data: bytes) -> PageLayout:
    """Parses the serialized message `data`.

    raises: UnsupportedFeature for a layout or encoding that this release does not support, by name; CorruptFile
    """
    return _layout(pb.PageLayout.FromString(data))


def layout_to_wire(layout: PageLayout) -> bytes:
    """Serializes the layout for the metadata of a page: the message, wrapped with its name."""
    # scalars, and the levels for them, differ from page to page
    return _shared(layout) if isinstance(layout, MiniBlock) else _serialize(layout)


def _serialize(layout: PageLayout) -> bytes:
    wrapped: bytes = any_pb2.Any(type_url=TYPE_URL, value=_to_message(layout).SerializeToString()).SerializeToString()
    return wrapped


# Equal columns have pages of the same layout.
_shared = lru_cache(maxsize=512)(_serialize)


def _to_message(layout: PageLayout) -> pb.PageLayout:
    spelling = BY_TYPE[type(layout)]
    message = pb.PageLayout()
    member = getattr(message, spelling.name)
    # its presence may be all that the message contains
    member.SetInParent()
    spelling.write(layout, member)
    return message


def _blob_to_wire(layout: Blob, message: pb.BlobLayout) -> None:
    message.inner_layout.CopyFrom(_to_message(layout.inner))
    message.layers.extend(_layers_to_wire(layout.layers))


def _mini_block_to_wire(layout: MiniBlock, message: pb.MiniBlockLayout) -> None:
    _set_levels(layout, message)
    message.value_compression.CopyFrom(encoding_to_wire(layout.values))
    if layout.dictionary is not None:
        message.dictionary.CopyFrom(encoding_to_wire(layout.dictionary))
        message.num_dictionary_items = layout.num_dictionary_items
    message.layers.extend(_layers_to_wire(layout.layers))
    message.num_buffers = layout.num_buffers
    message.repetition_index_depth = layout.repetition_index_depth
    message.num_items = layout.num_items
    message.has_large_chunk = layout.has_large_chunk


def _full_zip_to_wire(layout: FullZip, message: pb.FullZipLayout) -> None:
    message.bits_rep = layout.bits_rep
    message.bits_def = layout.bits_def
    if layout.bits_per_value is not None:
        message.bits_per_value = layout.bits_per_value
    if layout.bits_per_offset is not None:
        message.bits_per_offset = layout.bits_per_offset
    message.num_items = layout.num_items
    message.num_visible_items = layout.num_visible_items
    message.value_compression.CopyFrom(encoding_to_wire(layout.values))
    message.layers.extend(_layers_to_wire(layout.layers))


def _constant_to_wire(layout: ConstantLayout, message: pb.ConstantLayout) -> None:
    _set_levels(layout, message)
    if layout.inline_value is not None:
        message.inline_value = layout.inline_value
    message.layers.extend(_layers_to_wire(layout.layers))
    message.num_rep_values = layout.num_rep_values
    message.num_def_values = layout.num_def_values


def _layers_to_wire(layers: Layers) -> Iterable[pb.RepDefLayer]:
    # the generated stub has its own enumeration, while protobuf accepts any integer
    return layers  # type: ignore[return-value]


def _set_levels(layout: MiniBlock | ConstantLayout, message: pb.MiniBlockLayout | pb.ConstantLayout) -> None:
    if layout.repetition is not None:
        message.rep_compression.CopyFrom(encoding_to_wire(layout.repetition))
    if layout.definition is not None:
        message.def_compression.CopyFrom(encoding_to_wire(layout.definition))


def _layout(message: pb.PageLayout) -> PageLayout:
    name = message.WhichOneof("layout")
    spelling = BY_NAME.get(name) if name is not None else None
    if spelling is None:
        raise UnsupportedFeature(f"page layout '{name}' is not supported")
    return spelling.read(getattr(message, spelling.name))


def _blob(message: pb.BlobLayout) -> Blob:
    if message.inner_layout.WhichOneof("layout") == "blob_layout":
        raise CorruptFile("a blob layout inside a blob layout")
    return Blob(layers_from_wire(message.layers), _layout(message.inner_layout))


def _mini_block(message: pb.MiniBlockLayout) -> MiniBlock:
    if not 1 <= message.num_buffers <= MAX_CHUNK_BUFFERS:
        raise CorruptFile(f"{message.num_buffers} value buffers in a chunk are not possible")
    if max(message.num_items, message.num_dictionary_items) > MAX_ITEMS:
        raise CorruptFile(f"{max(message.num_items, message.num_dictionary_items)} items in a page are not possible")
    if message.repetition_index_depth > 1:
        raise UnsupportedFeature(f"a repetition index of depth {message.repetition_index_depth} is not supported")
    return MiniBlock(
        layers=layers_from_wire(message.layers),
        values=encoding_from_wire(message.value_compression),
        repetition=_optional(message, "rep_compression"),
        definition=_optional(message, "def_compression"),
        dictionary=_optional(message, "dictionary"),
        num_dictionary_items=message.num_dictionary_items,
        num_buffers=message.num_buffers,
        repetition_index_depth=message.repetition_index_depth,
        num_items=message.num_items,
        has_large_chunk=message.has_large_chunk,
    )


def full_zip_from_wire(message: pb.FullZipLayout) -> FullZip:
    details = message.WhichOneof("details")
    if details is None:
        raise CorruptFile("a full-zip page without a width of its values")
    if message.bits_rep + message.bits_def > 32:
        raise CorruptFile(f"control words of {message.bits_rep + message.bits_def} bits are not possible")
    bits_per_value = message.bits_per_value if details == "bits_per_value" else None
    bits_per_offset = message.bits_per_offset if details == "bits_per_offset" else None
    if bits_per_value is not None and bits_per_value % 8:
        raise CorruptFile(f"full-zip values of {bits_per_value} bits are not byte aligned")
    if bits_per_offset is not None and bits_per_offset not in (32, 64):
        raise CorruptFile(f"full-zip lengths of {bits_per_offset} bits are not possible")
    return FullZip(
        layers=layers_from_wire(message.layers),
        values=encoding_from_wire(message.value_compression),
        bits_rep=message.bits_rep,
        bits_def=message.bits_def,
        bits_per_value=bits_per_value,
        bits_per_offset=bits_per_offset,
        num_items=message.num_items,
        num_visible_items=message.num_visible_items,
    )


def _constant(message: pb.ConstantLayout) -> ConstantLayout:
    return ConstantLayout(
        layers=layers_from_wire(message.layers),
        inline_value=message.inline_value if message.HasField("inline_value") else None,
        repetition=_optional(message, "rep_compression"),
        definition=_optional(message, "def_compression"),
        num_rep_values=message.num_rep_values,
        num_def_values=message.num_def_values,
    )


def _optional(message: pb.MiniBlockLayout | pb.ConstantLayout, name: str) -> Encoding | None:
    return encoding_from_wire(getattr(message, name)) if message.HasField(name) else None


def layers_from_wire(values: Iterable[int]) -> Layers:
    layers = tuple(values)
    unknown = [layer for layer in layers if layer not in _LAYERS]
    if unknown:
        raise UnsupportedFeature(f"a layer of kind {unknown[0]} is not supported")
    if not 1 <= len(layers) <= MAX_LAYERS:
        raise CorruptFile(f"a page with {len(layers)} layers of nesting is not possible")
    return tuple(Layer(value) for value in layers)


@dataclass(frozen=True, slots=True)
class LayoutMember:
    """A layout as a member of the message.

    write: fills the member
    """

    name: str
    type: type[PageLayout]
    read: Callable[[Any], PageLayout]
    write: Callable[[Any, Any], None]


_SPELLINGS: Final = (
    LayoutMember("mini_block_layout", MiniBlock, _mini_block, _mini_block_to_wire),
    LayoutMember("constant_layout", ConstantLayout, _constant, _constant_to_wire),
    LayoutMember("full_zip_layout", FullZip, full_zip_from_wire, _full_zip_to_wire),
    LayoutMember("blob_layout", Blob, _blob, _blob_to_wire),
)

BY_NAME: Final = {each.name: each for each in _SPELLINGS}
BY_TYPE: Final = {each.type: each for each in _SPELLINGS}
