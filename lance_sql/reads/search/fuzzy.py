"""Words of an index that are similar to others."""

from __future__ import annotations

from collections.abc import Sequence

from lance_sql.format.index_files.full_text import TextPartition


def expansions(
    words: Sequence[str], partitions: Sequence[TextPartition], distance: int, prefix_length: int, most: int
) -> dict[str, list[str]]:
    """Returns for each word those of the index within an edit distance, in byte order.

    prefix_length: number of bytes that must be equal
    most: limit for all words together
    """
    every = sorted({word for each in partitions for word in each.words()})
    alike_words: dict[str, list[str]] = {}
    left = most
    for word in words:
        begin = word.encode()[:prefix_length]
        alike: list[str] = []
        for each in every:
            if left == 0:
                break
            if each.startswith(begin) and is_within(word, text := each.decode("utf-8", "replace"), distance):
                alike.append(text)
                left -= 1
        alike_words[word] = alike
    return alike_words


def is_within(a: str, b: str, distance: int) -> bool:
    """Whether the edit distance of two texts is at most `distance`."""
    if abs(len(a) - len(b)) > distance:
        return False
    before = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other)))
        if min(row) > distance:
            return False
        before = row
    return before[-1] <= distance
