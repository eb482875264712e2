"""PlanarLayout messages of file version 2.3 -> page layouts.

Source: pages that pylance 14 wrote; see `protos/encodings_v2_3.proto`.
"""

from google.protobuf.message import Message

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Constant as ConstantEncoding
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.encodings.wire_v2_3 import encoding_from_wire, is_of_v2_2
from lance_sql.format.layouts import wire_v2_1
from lance_sql.format.layouts.tree import (
    ConstantLayout,
    FullZip,
    Layer,
    Layers,
    MiniBlock,
    PageLayout,
    Planar,
    Positions,
    SparseLayer,
    SparseLists,
)
from lance_sql.format.proto import encodings_v2_1_pb2 as pb21
from lance_sql.format.proto import encodings_v2_3_pb2 as pb

MAX_SLOTS = 1 << 27
"""Maximum slots of one layer of a page."""


def layout_from_wire(data: bytes) -> PageLayout:
    """Parses the serialized message `data`; returns a layout of version 2.2 if the page has such a form.

    raises: UnsupportedFeature for everything that this release does not support, including unknown fields;
        CorruptFile
    """
    message = pb.PlanarLayout.FromString(data)
    recognized = pb.PlanarLayout.FromString(data)
    recognized.DiscardUnknownFields()
    if recognized.ByteSize() != message.ByteSize():
        raise UnsupportedFeature("a page of version 2.3 with unknown parts is not supported")
    match message.structure.WhichOneof("structure"):
        case "dense":
            return _dense(message)
        case "sparse":
            return _sparse(message)
    raise UnsupportedFeature("a page of version 2.3 of an unknown structure is not supported")


def _dense(message: pb.PlanarLayout) -> PageLayout:
    layers = wire_v2_1.layers_from_wire(message.structure.dense.layers)
    values = _values(message.values, layers)
    if values is None:
        raise UnsupportedFeature("a page of version 2.3 of NULLs with levels is not supported")
    if isinstance(values, FullZip) or not _needs_planar(values):
        return values
    return Planar(layers, values, None)


def _sparse(message: pb.PlanarLayout) -> PageLayout:
    values = _values(message.values, (Layer.ALL_VALID_ITEM,))
    if isinstance(values, MiniBlock) and (values.repetition is not None or values.definition is not None):
        raise CorruptFile("a sparse page with levels")
    if isinstance(values, FullZip) and (values.bits_rep or values.bits_def):
        raise CorruptFile("a sparse page with levels")
    sparse = tuple(_sparse_layer(layer) for layer in message.structure.sparse.layers)
    if not 1 <= len(sparse) <= wire_v2_1.MAX_LAYERS:
        raise CorruptFile(f"a page with {len(sparse)} layers of nesting is not possible")
    if values is None and len(sparse) == 1 and sparse[0].lists is None and sparse[0].validity.holds_all_null:
        return ConstantLayout((Layer.NULLABLE_ITEM,), None, None, None, 0, 0)
    layers = tuple(
        Layer.NULL_AND_EMPTY_LIST if layer.lists is not None else Layer.NULLABLE_ITEM for layer in reversed(sparse)
    )
    return Planar(layers, values, sparse)


def _needs_planar(values: PageLayout) -> bool:
    if not isinstance(values, MiniBlock):
        return False
    used = (values.values, values.repetition, values.definition, values.dictionary)
    return not all(encoding is None or is_of_v2_2(encoding) for encoding in used)


def _values(message: pb.Values, layers: Layers) -> MiniBlock | FullZip | ConstantLayout | None:
    match message.WhichOneof("values"):
        case "chunked":
            chunked = message.chunked
            if not 1 <= chunked.num_buffers <= wire_v2_1.MAX_CHUNK_BUFFERS:
                raise CorruptFile(f"{chunked.num_buffers} value buffers in a chunk are not possible")
            if max(chunked.num_items, chunked.num_dictionary_items) > wire_v2_1.MAX_ITEMS:
                raise CorruptFile(f"{chunked.num_items} items in a page are not possible")
            if chunked.levels.repetition_index_depth > 1:
                raise UnsupportedFeature("a repetition index of several levels is not supported")
            return MiniBlock(
                layers=layers,
                values=encoding_from_wire(chunked.values),
                repetition=_optional(chunked.levels, "repetition"),
                definition=_optional(chunked.levels, "definition"),
                dictionary=_optional(chunked, "dictionary"),
                num_dictionary_items=chunked.num_dictionary_items,
                num_buffers=chunked.num_buffers,
                repetition_index_depth=chunked.levels.repetition_index_depth,
                num_items=chunked.num_items,
                has_large_chunk=True,
            )
        case "zipped":
            # the same fields under other numbers, with the same checks
            zipped = message.zipped
            if (zipped.bits_per_value > 0) == (zipped.bits_per_offset > 0):
                raise CorruptFile("a full-zip page without a width of its values")
            old = pb21.FullZipLayout(
                bits_rep=zipped.levels.bits_rep,
                bits_def=zipped.levels.bits_def,
                num_items=min(zipped.num_items, 0xFFFFFFFF),
                num_visible_items=min(zipped.num_visible_items, 0xFFFFFFFF),
                value_compression=zipped.values,
                layers=layers,  # type: ignore[arg-type]
            )
            if zipped.bits_per_value:
                old.bits_per_value = min(zipped.bits_per_value, 0xFFFFFFFF)
            else:
                old.bits_per_offset = min(zipped.bits_per_offset, 0xFFFFFFFF)
            return wire_v2_1.full_zip_from_wire(old)
        case "constant":
            return ConstantLayout(layers, message.constant.value, None, None, 0, 0)
        case "nulls":
            return None
    raise UnsupportedFeature("a page of version 2.3 with values of an unknown kind is not supported")


def _sparse_layer(message: pb.Layer) -> SparseLayer:
    match message.WhichOneof("layer"):
        case "item":
            return SparseLayer(_validity(message.item), None)
        case "list":
            lists = message.list
            counted = _count(lists.num_non_empty)
            return SparseLayer(
                _validity(lists.validity),
                SparseLists(
                    _count(lists.num_child_slots),
                    Positions(encoding_from_wire(lists.non_empty_positions), counted),
                    encoding_from_wire(lists.counts) if counted else ConstantEncoding(None),
                )
                if counted or not lists.num_child_slots
                else _refuse_empty(),
            )
    raise UnsupportedFeature("a layer of version 2.3 of an unknown kind is not supported")


def _refuse_empty() -> SparseLists:
    raise CorruptFile("lists with values, none of which is not empty")


def _validity(message: pb.ValiditySet) -> Positions:
    if message.meaning not in (pb.ValiditySet.NULL_POSITIONS, pb.ValiditySet.VALID_POSITIONS):
        raise UnsupportedFeature(f"a set of positions of kind {message.meaning} is not supported")
    are_valid = message.meaning == pb.ValiditySet.VALID_POSITIONS
    return Positions(encoding_from_wire(message.positions), _count(message.num_positions), are_valid)


def _count(count: int) -> int:
    if count > MAX_SLOTS:
        raise UnsupportedFeature(f"{count} slots in a page of version 2.3 are not supported")
    return count


def _optional(message: Message, name: str) -> Encoding | None:
    return encoding_from_wire(getattr(message, name)) if message.HasField(name) else None
