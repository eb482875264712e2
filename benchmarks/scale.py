"""Tables with many versions, columns or fragments, against pylance. Ratios below 1: we are faster.

append_version      one row appended at version 7,000
wide_write          2,000 columns x 1,000 rows written to a new table
wide_read           that table, of several types, opened for its schema as by a process that has not read it, and
                    scanned
wide_update         one column of one row of that table updated
wide_append         one row, as a dict, appended to tables of 1,000 to 10,000 columns; two rows of each read
very_many           200,000 and 1,000,000 fragments x 1,000 rows of one file: opened and counted, planned, one row
                    appended, its rows found; and the memory of a process that plans
fragments           5,000 fragments x 200 rows: opened and counted, one row by a filter, the rows that the newest
                    version changed, one column, one row deleted

Each line ends with the ratio that it is held against.

We flush every file to disk before the commit, and pylance does not.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

import lance_sql
from lance_sql.format.proto import table_pb2

from . import many_fragments
from .measure import medians, parser, print_versions, report

NUM_VERSIONS = 7_000
NUM_COLUMNS = 2_000
WIDTHS = (1_000, 2_000, 4_000, 10_000)
NUM_FRAGMENTS = 5_000
FRAGMENT_ROWS = 200
MANY_FRAGMENTS = (200_000, 1_000_000)
_LAST = 2**64 - 1


def append_version(folder: Path, runs: int) -> None:
    """Both sides append to copies of one table with many versions."""
    row = pa.table({"k": [1], "v": ["a"]})
    tables = {}
    for side in ("ours", "pylance"):
        path = folder / f"many_versions_{side}.lance"
        shutil.rmtree(path, ignore_errors=True)
        lance.write_dataset(row, path, enable_stable_row_ids=True)
        _age(path, NUM_VERSIONS)
        tables[side] = path
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: lance_sql.write(row, tables["ours"], mode="append"),
        "pylance": lambda: lance.write_dataset(row, tables["pylance"], mode="append"),
    }
    _report(f"append at version {NUM_VERSIONS}", sides, runs, bound=3.0)
    for path in tables.values():
        assert lance_sql.open(path).version == NUM_VERSIONS + runs + 1
        shutil.rmtree(path)


def wide_write(folder: Path, runs: int, rows: int) -> None:
    """Both sides write the same rows to a new table."""
    content = _wide(rows)
    sides: dict[str, Callable[[], object]] = {
        "ours": partial(_write_ours, content, folder / "wide_ours.lance"),
        "pylance": partial(_write_pylance, content, folder / "wide_pylance.lance"),
    }
    _report(f"write {NUM_COLUMNS} columns x {rows}", sides, runs, bound=3.0)


def wide_update(folder: Path, runs: int, rows: int) -> None:
    """Both sides update one row, each on the newest version of its own table."""
    content = _wide(rows)
    ours, theirs = folder / "wide_ours.lance", folder / "wide_pylance.lance"
    _write_ours(content, ours)
    _write_pylance(content, theirs)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: lance_sql.open(ours).update({"c1": "c1 + 1"}, "c0 = 7"),
        "pylance": lambda: lance.dataset(theirs).update({"c1": "c1 + 1"}, where="c0 = 7"),
    }
    _report(f"update one row of {NUM_COLUMNS} columns", sides, runs, bound=3.0)
    for path in (ours, theirs):
        shutil.rmtree(path)


def wide_append(folder: Path, runs: int) -> None:
    """Both sides append to a table of their own, and read the same one."""
    for columns in WIDTHS:
        row = {f"c{number}": [number] for number in range(columns)}
        ours, theirs = folder / "wide_ours.lance", folder / "wide_pylance.lance"
        for path in (ours, theirs):
            _write_pylance(pa.table(row), path)
        sides: dict[str, Callable[[], object]] = {
            "ours": partial(lance_sql.write, row, ours, mode="append"),
            "pylance": lambda row=row, path=theirs: lance.write_dataset(pa.table(row), path, mode="append"),  # type: ignore[misc]
        }
        _report(f"append a row to {columns} columns", sides, runs, bound=2.0)
        sides = {
            "ours": lambda path=theirs: lance_sql.open(path).scan(limit=2).to_table(),  # type: ignore[misc]
            "pylance": lambda path=theirs: lance.dataset(path).to_table(limit=2),  # type: ignore[misc]
        }
        _report(f"read two rows of {columns} columns", sides, runs, bound=2.0)
        for path in (ours, theirs):
            shutil.rmtree(path)


def wide_read(folder: Path, runs: int, rows: int) -> None:
    """Both sides read the table that pylance wrote."""
    path = folder / "wide_read.lance"
    random = np.random.default_rng(4)
    makers: list[Callable[[], object]] = [
        lambda: random.integers(0, 1000, rows),
        lambda: random.random(rows),
        lambda: pa.array([f"v{number}" for number in random.integers(0, 500, rows)]),
        lambda: random.random(rows) < 0.5,
    ]
    _write_pylance(pa.table({f"c{number}": makers[number % 4]() for number in range(NUM_COLUMNS)}), path)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: lance_sql.open(_renewed(path)).schema,
        "pylance": lambda: lance.dataset(_renewed(path)).schema,
    }
    _report(f"open {NUM_COLUMNS} columns", sides, runs, bound=3.0)
    sides = {
        "ours": lambda: lance_sql.open(path).scan().to_table(),
        "pylance": lambda: lance.dataset(path).to_table(),
    }
    _report(f"scan {NUM_COLUMNS} columns x {rows}", sides, runs, bound=3.0)
    shutil.rmtree(path)


def fragments(folder: Path, runs: int) -> None:
    """Both sides read one table that pylance wrote, and delete from copies of it, a new one for each run."""
    path = folder / "many_fragments.lance"
    version = _write_fragments(path)
    by_id = "id = 123456"
    changed = f"_row_last_updated_at_version = {version}"
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: lance_sql.open(path).count_rows(),
        "pylance": lambda: lance.dataset(path).count_rows(),
    }
    _report(f"open and count {NUM_FRAGMENTS} fragments", sides, runs, bound=1.0)
    for name, filter, bound in (("one row by a filter", by_id, 2.0), ("rows of the newest version", changed, 0.1)):
        sides = {
            "ours": partial(_filter_ours, path, filter),
            "pylance": partial(_filter_pylance, path, filter),
        }
        _report(name, sides, runs, bound=bound)
    sides = {
        "ours": lambda: lance_sql.open(path).scan(["qty"]).to_table(),
        "pylance": lambda: lance.dataset(path).to_table(["qty"]),
    }
    _report("scan one column", sides, runs, bound=2.0)
    copies: dict[str, list[Path]] = {side: [] for side in ("ours", "pylance")}
    for side, made in copies.items():
        for number in range(runs + 1):
            made.append(folder / f"many_fragments_{side}_{number}.lance")
            shutil.rmtree(made[-1], ignore_errors=True)
            shutil.copytree(path, made[-1])
    sides = {
        "ours": lambda: lance_sql.open(copies["ours"].pop()).delete(by_id),
        "pylance": lambda: lance.dataset(copies["pylance"].pop()).delete(by_id),
    }
    _report("delete one row", sides, runs, bound=1.5)
    for each in folder.glob("many_fragments*.lance"):
        shutil.rmtree(each)


def very_many(folder: Path, runs: int) -> None:
    """See `many_fragments`."""
    for number in MANY_FRAGMENTS:
        many_fragments.measure(folder, runs, number)


def _filter_ours(path: Path, filter: str) -> pa.Table:
    return lance_sql.open(path).scan(filter=filter).to_table()


def _filter_pylance(path: Path, filter: str) -> pa.Table:
    return lance.dataset(path).to_table(filter=filter)


def _write_fragments(path: Path) -> int:
    """The newest version of a table with that many fragments, one appended later, and three updated rows."""
    shutil.rmtree(path, ignore_errors=True)
    rows = NUM_FRAGMENTS * FRAGMENT_ROWS
    random = np.random.default_rng(1)
    content = pa.table(
        {
            "id": np.arange(rows),
            "qty": random.integers(0, 50, rows).astype(np.int32),
            "price": random.random(rows),
            "name": pa.array([f"name {number % 1000}" for number in range(rows)]),
        }
    )
    lance.write_dataset(content, path, max_rows_per_file=FRAGMENT_ROWS, enable_stable_row_ids=True)
    lance.write_dataset(content.slice(0, 1000), path, mode="append", max_rows_per_file=1000)
    lance.dataset(path).update({"qty": "qty + 1"}, where="id in (5, 500000, 700000)")
    return int(lance.dataset(path).version)


def _report(what: str, sides: dict[str, Callable[[], object]], runs: int, *, bound: float) -> None:
    """One line of `measure.report`, and the ratio that must not be exceeded."""
    report(what, medians(sides, runs), peer="pylance", bound=bound)


def _wide(rows: int) -> pa.Table:
    random = np.random.default_rng(3)
    columns = {"c0": pa.array(np.arange(rows))}
    for number in range(1, NUM_COLUMNS):
        columns[f"c{number}"] = pa.array(random.integers(0, 1000, rows))
    return pa.table(columns)


def _write_ours(content: pa.Table, path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lance_sql.write(content, path)


def _write_pylance(content: pa.Table, path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lance.write_dataset(content, path, data_storage_version="2.2", enable_stable_row_ids=True)


def _renewed(path: Path) -> Path:
    """The same table with an unread manifest, so that cached metadata is outdated."""
    (manifest,) = (path / "_versions").glob("*.manifest")
    manifest.touch()
    return path


def _age(path: Path, version: int) -> None:
    """Makes the only version of a table this one, and gives it as many older ones of the same content."""
    (manifest,) = (path / "_versions").glob("*.manifest")
    content = manifest.read_bytes()
    (position,) = struct.unpack_from("<q", content, len(content) - 16)
    (length,) = struct.unpack_from("<I", content, position)
    for number in range(1, version + 1):
        message = table_pb2.Manifest.FromString(content[position + 4 :][:length])
        message.version = number
        made = message.SerializeToString()
        file = content[:position] + struct.pack("<I", len(made)) + made + content[-16:]
        (path / "_versions" / f"{_LAST - number:020d}.manifest").write_bytes(file)


def main() -> None:
    arguments = parser(__doc__, 1_000)
    arguments.add_argument("sections", nargs="*", help="those above; all without one")
    given = arguments.parse_args()
    print_versions("pylance")
    given.data.mkdir(parents=True, exist_ok=True)
    sections: dict[str, Callable[[], None]] = {
        "append_version": lambda: append_version(given.data, given.runs),
        "wide_write": lambda: wide_write(given.data, given.runs, given.rows),
        "wide_read": lambda: wide_read(given.data, given.runs, given.rows),
        "wide_update": lambda: wide_update(given.data, given.runs, given.rows),
        "wide_append": lambda: wide_append(given.data, given.runs),
        "fragments": lambda: fragments(given.data, given.runs),
        "very_many": lambda: very_many(given.data, given.runs),
    }
    for name in given.sections or sections:
        sections[name]()


if __name__ == "__main__":
    main()
