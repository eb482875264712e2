"""Every type with every verb, in every version of files, begun by both writers: the table is what a model of it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cross.types import TYPES, VERSIONS
from tests.cross.verbs import VERBS, begun

CASES = [
    (name, version, writer)
    for name, kind in TYPES.items()
    for version in kind.versions
    for writer in ("lance_sql", "lance")
]
SAMPLE = {
    (name, kind.versions[i % len(kind.versions)], ("lance_sql", "lance")[i // 3 % 2]): list(VERBS)[i % 7 :: 4]
    for i, (name, kind) in enumerate(TYPES.items())
}
SEEDS = range(2)


def run(folder: Path, name: str, version: str, writer: str, verbs: list[str]) -> None:
    try:
        state = begun(folder, TYPES[name], version, writer)
    except BaseException as error:
        # a panic of pylance is no exception
        refusals = (OSError, TypeError, ValueError) if writer == "lance" else ()
        if isinstance(error, refusals) or "Panic" in type(error).__name__:
            pytest.skip(f"pylance does not write it: {error}")
        raise
    for verb in verbs:
        VERBS[verb](state)


@pytest.mark.parametrize(("name", "version", "writer"), SAMPLE)
def test_a_sample(tmp_path: Path, name: str, version: str, writer: str) -> None:
    run(tmp_path, name, version, writer, SAMPLE[name, version, writer])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "version", "writer"), CASES)
def test_all(tmp_path: Path, name: str, version: str, writer: str, seed: int) -> None:
    assert version in VERSIONS
    order = list(VERBS)
    if seed:
        random.Random(f"{name} {version} {writer} {seed}").shuffle(order)
    run(tmp_path, name, version, writer, order)
