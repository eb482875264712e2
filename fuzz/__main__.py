"""python -m fuzz: runs mutated inputs through every decoder for a given time; ends with 1 if one misbehaves."""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.inputs import Input, Values, save
from fuzz.targets import TARGETS
from fuzz.worker import Inputs, Progress, replay

_ENVIRONMENT = {
    # reservations of address space would count as memory
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_SANITIZED_ENVIRONMENT = {
    "PYTHONMALLOC": "malloc",
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=500:quarantine_size_mb=32",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True, slots=True)
class Build:
    """The library as it is, or with sanitized kernels.

    share: of the time
    """

    name: str
    python: str
    environment: dict[str, str]
    share: float


@dataclass(slots=True)
class Counts:
    num_results: int = 0
    num_errors: int = 0
    finds: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.num_results += other.num_results
        self.num_errors += other.num_errors
        self.finds += other.finds

    @property
    def num_inputs(self) -> int:
        return self.num_results + self.num_errors + len(self.finds)


@dataclass(frozen=True, slots=True)
class Session:
    """A run over all targets.

    folder: for this run; seeds, tables and progress are in it
    finds: where inputs are kept that were not dealt with
    """

    folder: Path
    finds: Path
    seeds: dict[str, list[Values]]
    seed: int
    jobs: int

    def run(self, build: Build, name: str, seconds: float) -> Counts:
        """Some seconds of one target, in several processes."""
        with ThreadPoolExecutor(self.jobs) as lanes:
            counts = Counts()
            for found in lanes.map(lambda lane: self._lane(build, name, lane, seconds), range(self.jobs)):
                counts.add(found)
        return counts

    def _lane(self, build: Build, name: str, lane: int, seconds: float) -> Counts:
        """Runs workers one after the other: each continues after the input that ended the previous one."""
        ends = time.monotonic() + seconds
        counts = Counts()
        first = lane
        progress = self.folder / f"lane-{lane}"
        while (left := ends - time.monotonic()) > 0:
            Progress.create(progress, first)
            arguments = (name, str(self.seed), str(self.folder), progress.name, str(first), str(self.jobs), str(left))
            done = subprocess.run(
                [build.python, "-m", "fuzz.worker", *arguments, build.name],
                env={**os.environ, **_ENVIRONMENT, **build.environment},
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            reached = Progress.read(progress)
            counts.num_results += reached.num_results
            counts.num_errors += reached.num_errors
            counts.finds += self._move_finds(build, name)
            if done.returncode == 0:
                break
            counts.finds.append(self._keep(build, name, reached.index, done))
            if len(counts.finds) >= 5:
                break
            first = reached.index + self.jobs
        return counts

    def _keep(self, build: Build, name: str, index: int, done: subprocess.CompletedProcess[str]) -> str:
        """Saves the input that ended a worker, and its output."""
        if done.returncode > 0 and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr:
            sys.exit(f"fuzz: {name}: a worker cannot go on\n{done.stderr}")
        what = signal.Signals(-done.returncode).name if done.returncode < 0 else "sanitizer report"
        summary = [line for line in done.stderr.splitlines() if "SUMMARY" in line or "runtime error" in line]
        text = f"{build.name}: {what} {' '.join(summary)[:300]}".strip()
        path = self.finds / f"{name.replace(' ', '-')}-{self.seed}-{index}.json"
        save(path, Input(name, text, Inputs(name, self.seeds[name], self.seed)[index]))
        path.with_suffix(".txt").write_text(done.stderr)
        return f"{path}: {text}"

    def _move_finds(self, build: Build, name: str) -> list[str]:
        found = []
        for path in sorted((self.folder / "finds").glob(f"{name.replace(' ', '-')}-*.json")):
            kept = self.finds / path.name
            try:
                shutil.move(path, kept)
            except FileNotFoundError:
                continue  # another lane was first
            found.append(f"{kept}: {build.name}")
        return found


def main() -> int:
    options = _options()
    if options.replay:
        paths = [
            path for place in options.replay for path in (sorted(place.glob("*.json")) if place.is_dir() else [place])
        ]
        replay(paths)
        return 0
    # pylance and what else only seeds need
    from fuzz.seeds import write_seeds

    builds = [Build("plain", sys.executable, {}, 0.4 if options.sanitized else 1.0)]
    if options.sanitized:
        preload = {"LD_PRELOAD": os.environ.get("FUZZ_PRELOAD", "")}
        builds.append(Build("sanitized", options.sanitized, {**_SANITIZED_ENVIRONMENT, **preload}, 0.6))
    names = options.only or list(TARGETS)
    options.finds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lance-sql-fuzz-") as temporary:
        folder = Path(temporary)
        (folder / "finds").mkdir()
        seeds = write_seeds(folder)
        (folder / "seeds").write_bytes(pickle.dumps(seeds))
        session = Session(folder, options.finds, seeds, options.seed, options.jobs)
        return _report(session, builds, names, options.seconds)


def _report(session: Session, builds: Sequence[Build], names: Sequence[str], seconds: float) -> int:
    """Runs everything; prints a line for each target as it is done."""
    total = Counts()
    shares = sum(TARGETS[name].share for name in names)
    print(
        f"{'build':<10} {'target':<14} {'seeds':>6} {'inputs':>9} {'results':>9} {'errors':>9} {'finds':>6}", flush=True
    )
    for build in builds:
        for name in names:
            counts = session.run(build, name, seconds * build.share * TARGETS[name].share / shares)
            total.add(counts)
            _print(build.name, name, len(session.seeds[name]), counts)
            for find in counts.finds:
                print(f"  {find}", flush=True)
    _print("", "all", sum(len(session.seeds[name]) for name in names), total)
    return 1 if total.finds else 0


def _print(build: str, name: str, num_seeds: int, counts: Counts) -> None:
    print(
        f"{build:<10} {name:<14} {num_seeds:>6} {counts.num_inputs:>9} {counts.num_results:>9} {counts.num_errors:>9}"
        f" {len(counts.finds):>6}",
        flush=True,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="in all")
    parser.add_argument("--seed", type=int, default=1, help="another seed: other mutations")
    parser.add_argument("--only", action="append", choices=list(TARGETS), help="a target; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--sanitized", metavar="PYTHON", help="interpreter of an environment with sanitized kernels")
    parser.add_argument("--finds", type=Path, default=Path("build/finds"), help="where inputs are kept that misbehave")
    parser.add_argument("--replay", type=Path, nargs="+", help="run saved inputs, or those of a folder, instead")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
