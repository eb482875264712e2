"""Kernels of search called directly, those that keep something between calls among them.

A call is as those of `fuzz.calls`. A kernel with a dot is a method, and `make.*` are the arguments of its object: for
words that are scored, those of a word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fuzz.calls import check_ends, prepared
from fuzz.inputs import Values
from lance_sql import _kernels as kernels
from lance_sql.format.index_files.token_fst import TokenFst

MAKE: Final = "make."


def run(values: Values) -> None:
    """The call; raises what the kernel raises."""
    outputs: list[npt.NDArray[np.uint8]] = []
    given = {name: value for name, value in values.items() if name != "kernel" and not name.startswith(MAKE)}
    arguments = prepared(given, outputs)
    made = prepared({name: value for name, value in values.items() if name.startswith(MAKE)}, outputs)
    name = str(values["kernel"])
    try:
        match name.split("."):
            case ["NearestRows", method]:
                _nearest(made, method, arguments)
            case ["CodedPartitions", "show"]:
                _codes(made, arguments)
            case ["QueriedWords", "show"]:
                _scores(made, arguments)
            case ["WordDictionary", "add"]:
                words = kernels.WordDictionary(*made)
                # the second time every word is known
                assert words.add(*arguments)[0] == words.add(*arguments)[0]
                assert made[0] == 2 or all(words.words(0)), "an empty word"
            case ["PostingLists", "add"]:
                _lists(made, arguments)
            case ["token_set"]:
                found = TokenFst(kernels.token_set(*arguments))
                assert found.count == len(list(found.words()))
            case _:
                getattr(kernels, name)(*arguments)
    finally:
        check_ends(outputs)


def _nearest(made: list[Any], method: str, arguments: list[Any]) -> None:
    """Shows the rows to two, which are joined."""
    bounds = (0.5, 9.0) if made[2] else (float("-inf"), float("inf"))
    first, second = (kernels.NearestRows(made[0], made[1], *bounds) for _ in range(2))
    for nearest in (first, second):
        getattr(nearest, method)(*arguments)
    first.join(second)
    _check(first, made[1], *bounds)


def _check(nearest: kernels.NearestRows, k: int, low: float = float("-inf"), high: float = float("inf")) -> None:
    count = nearest.count(0)
    assert not k or count <= k, f"{count} rows of {k}"
    rows, far = np.empty(count, np.uint64), np.empty(count, np.float32)
    nearest.result(0, rows, far)
    assert not np.isnan(far).any()
    assert (far[1:] >= far[:-1]).all(), "not by distance"
    assert ((far >= low) & (far <= high)).all()


def _codes(made: list[Any], arguments: list[Any]) -> None:
    """The partition twice."""
    *partition, query, allowed = arguments
    nearest = kernels.NearestRows(2, 6, float("-inf"), float("inf"))
    partitions = kernels.CodedPartitions(*made)
    for _ in range(2):
        partitions.add(*partition)
    partitions.show(nearest, query, allowed)
    _check(nearest, 6)


def _scores(made: list[Any], arguments: list[Any]) -> None:
    """Two words, and many."""
    # the frequency of a word in the query is not from a file, and takes its time
    times = min(made[4], 1000)
    for factors in ((0.5, 3.0), (1.0,) * 20):
        words = kernels.QueriedWords()
        for factor in factors:
            words.add(made[0], made[1], made[2], made[3], factor, times)
        nearest = kernels.NearestRows(1, arguments[-1], float("-inf"), float("inf"))
        words.show(nearest, *arguments)
        _check(nearest, arguments[-1])


def _lists(made: list[Any], arguments: list[Any]) -> None:
    lists = kernels.PostingLists(*map(bool, made))
    *texts, order = arguments
    for _ in range(2):
        lists.add(*texts)
    lists.encode(order)
    assert len(lists.lengths()) == 4 * lists.num_documents
