"""A set of words with numbers, as a finite-state transducer with one step per byte.

Source: full text index specification, token sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from lance_sql.errors import CorruptFile

# The bytes with a short code, by frequency.
_COMMON: Final = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHGW"
_HEAD_BYTES: Final = 16
_FOOT_BYTES: Final = 20
_VERSION: Final = 3
_MOST_BYTES: Final = 4096


class _Node(NamedTuple):
    """One node.

    number: added for a word that ends here; None if none does
    steps: byte, added number, and address of the next node
    """

    number: int | None
    steps: list[tuple[int, int, int]]


class TokenFst:
    """The words of a partition."""

    def __init__(self, data: bytes) -> None:
        """
        raises: CorruptFile
        """
        if len(data) < _HEAD_BYTES + _FOOT_BYTES or int.from_bytes(data[:8], "little") != _VERSION:
            raise CorruptFile(f"a set of words of {len(data)} bytes with an unknown version")
        self._data = data
        self.count = int.from_bytes(data[-20:-12], "little")
        self._root = int.from_bytes(data[-12:-4], "little")
        if self._root >= len(data) - _FOOT_BYTES:
            raise CorruptFile(f"the first node is at byte {self._root} of {len(data)}")

    def find(self, word: bytes) -> int | None:
        """Returns the number of a word.

        raises: CorruptFile
        """
        address, total = self._root, 0
        for byte in word:
            step = self._step(address, byte)
            if step is None:
                return None
            total += step[0]
            address = step[1]
        number = self._node(address).number
        return None if number is None else total + number

    def words(self) -> Iterator[tuple[bytes, int]]:
        """Yields every word with its number, in byte order.

        raises: CorruptFile
        """
        waiting: list[tuple[bytes, int, int]] = [(b"", 0, self._root)]
        left = self.count
        while waiting:
            word, total, address = waiting.pop()
            node = self._node(address)
            if node.number is not None:
                left -= 1
                if left < 0:
                    raise CorruptFile(f"a set of {self.count} words has more")
                yield word, total + node.number
            if len(word) >= _MOST_BYTES and node.steps:
                raise CorruptFile(f"a word of more than {_MOST_BYTES} bytes")
            waiting.extend((word + bytes([byte]), total + add, to) for byte, add, to in reversed(node.steps))

    def _step(self, address: int, byte: int) -> tuple[int, int] | None:
        """Returns the number added for a byte, and the address of the next node."""
        state = self._data[address] if _HEAD_BYTES <= address < len(self._data) - _FOOT_BYTES else 128
        if state >= 128 or address == 0:
            return next((each[1:] for each in self._node(address).steps if each[0] == byte), None)
        count, at, step, add_size, lowest = self._shape(address, state)
        position = self._data.find(byte, at - count + 1, at + 1)
        if position < 0:
            return None
        i = at - position
        delta, _ = self._number(at - count - i * step, step)
        add, _ = self._number(at - count - count * step - i * add_size, add_size)
        return add, self._target(lowest, delta)

    def _node(self, address: int) -> _Node:
        if address == 0:
            return _Node(0, [])
        if not _HEAD_BYTES <= address < len(self._data) - _FOOT_BYTES:
            raise CorruptFile(f"a node at byte {address} of {len(self._data)}")
        state = self._data[address]
        if state >= 128:
            return self._one_step(address, state)
        return self._steps(address, state)

    def _one_step(self, address: int, state: int) -> _Node:
        common = state & 63
        at = address - 1
        if common:
            byte = _COMMON[common - 1]
        else:
            byte = self._data[at]
            at -= 1
        if state >= 192:
            return _Node(None, [(byte, 0, self._below(address, at))])
        sizes = self._data[at]
        at -= 1
        delta, at = self._number(at, sizes >> 4)
        add, at = self._number(at, sizes & 15)
        return _Node(None, [(byte, add, self._target(at + 1, delta))])

    def _shape(self, address: int, state: int) -> tuple[int, int, int, int, int]:
        """Returns the layout of a node with steps: their number, the end of their bytes, the sizes of addresses and
        numbers, and the start of the node."""
        count = state & 63
        at = address - 1
        if count == 0:
            count = self._data[at]
            at -= 1
            if count == 1:
                count = 256
        sizes = self._data[at]
        at -= 1
        if count > 32:
            at -= 256
        step, add_size = sizes >> 4, sizes & 15
        lowest = at - count * (1 + step + add_size) + 1
        if state & 64:
            lowest -= add_size
        if lowest < _HEAD_BYTES:
            raise CorruptFile(f"a node of {count} steps at byte {address}")
        return count, at, step, add_size, lowest

    def _steps(self, address: int, state: int) -> _Node:
        count, at, step, add_size, lowest = self._shape(address, state)
        steps: list[tuple[int, int, int]] = []
        deltas, adds = at - count, at - count - count * step
        for i in range(count):
            delta, _ = self._number(deltas - i * step, step)
            add, _ = self._number(adds - i * add_size, add_size)
            byte = self._data[at - i]
            if steps and byte <= steps[-1][0]:
                raise CorruptFile(f"the steps of the node at byte {address} do not ascend")
            steps.append((byte, add, self._target(lowest, delta)))
        number = self._number(lowest + add_size - 1, add_size)[0] if state & 64 else None
        return _Node(number, steps)

    def _number(self, at: int, size: int) -> tuple[int, int]:
        """Returns the number whose highest byte is at the position, and the position after it."""
        if at - size + 1 < _HEAD_BYTES - 1:
            raise CorruptFile("a node before the first one")
        return int.from_bytes(self._data[at - size + 1 : at + 1], "little"), at - size

    def _target(self, lowest: int, delta: int) -> int:
        if delta == 0:
            return 0
        return self._below(lowest, lowest - delta)

    def _below(self, address: int, to: int) -> int:
        # nodes refer only to lower addresses, so that every walk ends
        if not _HEAD_BYTES <= to < address:
            raise CorruptFile(f"a node at byte {address} leads to {to}")
        return to
