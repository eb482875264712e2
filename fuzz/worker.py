"""Runs inputs in its own process, which may die; started by `fuzz.__main__`.

The number of the input at hand is in a file that other processes see, with the counts so far.
"""

from __future__ import annotations

import logging
import mmap
import pickle
import resource
import signal
import struct
import sys
import time
import traceback
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from fuzz.inputs import Input, Values, load, save
from fuzz.mutations import cut
from fuzz.targets import TARGETS, Target

MAX_SECONDS: Final = 2
MAX_GROWTH: Final = 500 * 2**20
# Sanitized code is several times slower.
_SANITIZED_SECONDS: Final = 10
# A wait without computing is a hang as well, but a busy machine is none.
_WAITING: Final = 10
_MOST_FINDS: Final = 5

# It is what inputs are made of.
logging.getLogger("lance_sql").setLevel(logging.ERROR)

_PROGRESS: Final = struct.Struct("<4Q")


@dataclass(frozen=True, slots=True)
class Progress:
    """index: of the input at hand; the others count inputs that are done."""

    index: int
    num_results: int
    num_errors: int
    num_finds: int

    def write(self, file: mmap.mmap) -> None:
        file[: _PROGRESS.size] = _PROGRESS.pack(self.index, self.num_results, self.num_errors, self.num_finds)

    @classmethod
    def read(cls, path: Path) -> Progress:
        return cls(*_PROGRESS.unpack(path.read_bytes()[: _PROGRESS.size]))

    @classmethod
    def create(cls, path: Path, index: int) -> None:
        path.write_bytes(_PROGRESS.pack(index, 0, 0, 0))


class Inputs:
    """The endless row of inputs of a target: first every cut of every seed, then mutations at random."""

    def __init__(self, name: str, seeds: Sequence[Values], seed: int) -> None:
        self._target = TARGETS[name]
        self._seeds = seeds
        self._random = (seed, zlib.crc32(name.encode()))
        self._cuts = [(values, *place) for values in seeds for place in self._target.cuts(values)]
        # in any order, so that a short run sees some of each
        np.random.default_rng(self._random).shuffle(self._cuts)

    def __getitem__(self, index: int) -> Values:
        # every other input, until there are no more
        if index % 2 and index // 2 < len(self._cuts):
            return cut(*self._cuts[index // 2])
        rng = np.random.default_rng((*self._random, index))
        return self._target.mutate(rng, self._seeds[int(rng.integers(len(self._seeds)))])


def read_seeds(path: Path) -> dict[str, list[Values]]:
    """Reads the input of the parent."""
    seeds: dict[str, list[Values]] = pickle.loads(path.read_bytes())
    return seeds


@dataclass(frozen=True, slots=True)
class Plan:
    """The inputs that a worker runs, and its time."""

    first: int
    step: int
    seconds: float
    sanitized: bool

    def indices(self) -> Iterator[int]:
        index = self.first
        while True:
            yield index
            index += self.step


def run(name: str, inputs: Inputs, seeds: Sequence[Values], progress: Path, finds: Path, plan: Plan) -> None:
    """Runs inputs `first`, `first` + `step`, ... for some seconds; saves those that end in another error."""
    target = TARGETS[name]
    with progress.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), _PROGRESS.size)
    for values in seeds:
        target.run(values)
    watch = Watch(sanitized=plan.sanitized)
    counts = [0, 0, 0]
    seen: set[str] = set()
    ends = time.monotonic() + plan.seconds
    for index in plan.indices():
        Progress(index, *counts).write(shared)
        if time.monotonic() > ends or counts[2] >= _MOST_FINDS:
            break
        values = inputs[index]
        with watch:
            outcome = _outcome(target, values)
        if isinstance(outcome, int):
            counts[outcome] += 1
        elif outcome not in seen:
            seen.add(outcome)
            counts[2] += 1
            save(finds / f"{name.replace(' ', '-')}-{index}.json", Input(name, outcome, values))


def _outcome(target: Target, values: Values) -> int | str:
    """0 for a result, 1 for an error of ours; in words what else was raised."""
    try:
        target.run(values)
    except target.allowed:
        return 1
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {frame.name}, {Path(frame.filename).name}: {str(error)[:200]}"
    return 0


class Watch:
    """Ends the process when its block takes too long; too much memory becomes MemoryError.

    The signal is the cause: SIGPROF for time spent computing, SIGALRM for waiting.
    """

    def __init__(self, *, sanitized: bool) -> None:
        self._seconds = _SANITIZED_SECONDS if sanitized else MAX_SECONDS
        if not sanitized:
            # AddressSanitizer has its own limit: its shadow is larger than any
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + MAX_GROWTH
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        signal.setitimer(signal.ITIMER_REAL, self._seconds + _WAITING)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def replay(paths: Sequence[Path]) -> None:
    """Runs saved inputs, each of which must end as an input of its target may."""
    watch = Watch(sanitized=False)
    for path in paths:
        found = load(path)
        # the last written line is the input that ends the process
        print(f"{path.name}: {found.what}", flush=True)
        with watch:
            outcome = _outcome(TARGETS[found.target], found.values)
        if isinstance(outcome, str):
            sys.exit(f"{path}: {outcome}")


def main(name: str, seed: str, folder: str, lane: str, first: str, step: str, seconds: str, sanitized: str) -> None:
    seeds = read_seeds(Path(folder) / "seeds")[name]
    plan = Plan(int(first), int(step), float(seconds), sanitized == "sanitized")
    run(name, Inputs(name, seeds, int(seed)), seeds, Path(folder) / lane, Path(folder) / "finds", plan)


if __name__ == "__main__":
    main(*sys.argv[1:])
