"""The layouts of a page as values, and the meaning of its layers of nesting.

Each Arrow level of nesting contributes one layer; layers are listed from the inside (the leaf) to the outside.
Definition levels count from the inside as well: level 0 is a valid item, and each layer takes one level for each of its
kinds of absence. Repetition level k starts a new list at list layer k, counted from the inside; the largest
starts a row.
Source: messages PageLayout, RepDefLayer.
"""

from dataclasses import dataclass
from enum import IntEnum

from lance_sql.format.encodings.tree import Encoding


class Layer(IntEnum):
    """One layer of nesting, with the kinds of absence of its slots in this page."""

    ALL_VALID_ITEM = 1
    ALL_VALID_LIST = 2
    NULLABLE_ITEM = 3
    NULLABLE_LIST = 4
    EMPTYABLE_LIST = 5
    NULL_AND_EMPTY_LIST = 6

    @property
    def is_list(self) -> bool:
        return self not in (Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM)

    @property
    def num_levels(self) -> int:
        """Number of definition levels of the layer."""
        return _NUM_LEVELS[self]


_NUM_LEVELS = {
    Layer.ALL_VALID_ITEM: 0,
    Layer.ALL_VALID_LIST: 0,
    Layer.NULLABLE_ITEM: 1,
    Layer.NULLABLE_LIST: 1,
    Layer.EMPTYABLE_LIST: 1,
    Layer.NULL_AND_EMPTY_LIST: 2,
}

Layers = tuple[Layer, ...]


def max_repetition(layers: Layers) -> int:
    """Returns the repetition level that starts a row: the number of list layers."""
    return sum(layer.is_list for layer in layers)


def max_definition(layers: Layers) -> int:
    """Returns the largest definition level that the layers can need."""
    return sum(layer.num_levels for layer in layers)


def max_visible(layers: Layers) -> int:
    """Returns the largest definition level whose entries own an item."""
    total = 0
    for layer in layers:
        if layer.is_list:
            break
        total += layer.num_levels
    return total


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The layout of one page of a leaf column."""

    layers: Layers


@dataclass(frozen=True, slots=True)
class MiniBlock(PageLayout):
    """Small values in chunks of a few thousand, each chunk with its own levels.

    Buffers of the page: chunk words, chunks, then a dictionary and a repetition index if the layout has them.
    Source: message MiniBlockLayout.
    """

    values: Encoding
    repetition: Encoding | None
    definition: Encoding | None
    dictionary: Encoding | None
    num_dictionary_items: int
    num_buffers: int
    repetition_index_depth: int
    num_items: int
    has_large_chunk: bool


@dataclass(frozen=True, slots=True)
class FullZip(PageLayout):
    """Large values, each directly after its levels: `[control word][length][value]`.

    The control word contains `repetition << bits_def | definition` in 0, 1, 2 or 4 bytes; variable values have a
    length. An entry without an item (a null or empty list) has only a control word. A null item of fixed width still
    has its bytes; one of variable width has neither length nor bytes. A repetition index (buffer 1) contains the start
    of each row, unless every entry has the same size. Source: message FullZipLayout.
    """

    values: Encoding
    bits_rep: int
    bits_def: int
    bits_per_value: int | None
    bits_per_offset: int | None
    num_items: int
    num_visible_items: int


@dataclass(frozen=True, slots=True)
class ConstantLayout(PageLayout):
    """One scalar for every item, or only nulls, with any levels; see `encode_constant`."""

    inline_value: bytes | None
    repetition: Encoding | None
    definition: Encoding | None
    num_rep_values: int
    num_def_values: int


@dataclass(frozen=True, slots=True)
class Blob(PageLayout):
    """Descriptors of byte ranges elsewhere in the file; see `blob`."""

    inner: PageLayout
