"""Words of an index that are like others."""

from __future__ import annotations

from collections.abc import Sequence

from lance_sql.format.index_files.full_text import TextPartition


def expansions(
    words: Sequence[str], partitions: Sequence[TextPartition], distance: int, prefix_length: int, most: int
) -> dict[str, list[str]]:
    """For each word those of the index that are at most so many letters from it, in the order of their bytes.

    prefix_length: bytes that are the same
    most: words for all of them together
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
    """Whether so many letters put in, left out or replaced make one text of the other."""
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
