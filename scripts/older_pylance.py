"""Which releases of pylance read what this library writes: a table for docs/support.md.

    python -m venv /tmp/pylance-4 && /tmp/pylance-4/bin/pip install pylance==4.0.0
    .venv/bin/python scripts/older_pylance.py /tmp/pylance-4/bin/python ...

For each file version, tables are written with this library: plain and nested columns, changed rows with stable row ids,
an index, and added, renamed and dropped columns. Each interpreter then reads all rows, filtered rows and an earlier
version, and appends to a copy, which this library reads back.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.feather

import lance_sql
from lance_sql.format import file_versions

_READER: Final = """
import json, sys
import lance, pyarrow, pyarrow.feather
folder, found = sys.argv[1], {"release": lance.__version__}
for name in json.load(open(folder + "/names.json")):
    expected = pyarrow.feather.read_table(f"{folder}/{name}.arrow")
    try:
        table = lance.dataset(f"{folder}/{name}.lance")
        rows = table.to_table().sort_by("id")
        assert rows.to_pylist() == expected.to_pylist(), "other rows"
        assert table.count_rows("id >= 20") == sum(each >= 20 for each in expected["id"].to_pylist()), "other count"
        ids = table.to_table(columns=["id"], filter="id = 7")["id"].to_pylist()
        assert ids == [each for each in expected["id"].to_pylist() if each == 7], "other filtered rows"
        lance.dataset(f"{folder}/{name}.lance", version=1).to_table()
        found[name] = "read"
        copy = f"{folder}/{name}-{lance.__version__}.lance"
        lance.write_dataset(rows.slice(0, 3).cast(table.schema), copy, mode="append")
        found[name] = "written"
    except BaseException as error:
        found[name] = f"{found.get(name, '')}: {type(error).__name__} {str(error)[:300]}"
print(json.dumps(found))
"""


def plain(path: Path, version: str) -> None:
    lance_sql.write(rows(), path, file_version=version)


def nested(path: Path, version: str) -> None:
    ids = pa.array(range(40))
    lists = pa.array([None if i % 7 == 0 else [i] * (i % 4) for i in range(40)])
    structs = pa.array([None if i % 5 == 0 else {"a": i, "b": [{"c": str(i)}]} for i in range(40)])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([float(i) for i in range(80)], pa.float32()), 2)
    table = pa.table({"id": ids, "lists": lists, "structs": structs, "vectors": vectors})
    if version == "2.0":
        # it cannot represent structs that are NULL
        table = table.drop_columns(["structs"])
    lance_sql.write(table, path, file_version=version)


def changed(path: Path, version: str) -> None:
    table = lance_sql.write(rows(), path, file_version=version)
    table = table.update({"text": "'updated'"}, "id < 5").delete("id = 6")
    table = table.merge(rows(30, 20), on="id")
    table.tags.create("merged")
    table.maintenance.compact().delete("id = 8")


def indexed(path: Path, version: str) -> None:
    table = lance_sql.write(rows(), path, file_version=version).indices.create("id", "btree")
    lance_sql.write(rows(40), path, mode="append").indices.create("text", "bitmap")
    table.latest().delete("id = 41")


def columns(path: Path, version: str) -> None:
    table = lance_sql.write(rows(), path, file_version=version)
    table.add_columns({"more": "id * 2"}).rename_columns({"text": "words"}).drop_columns("flag")


TABLES: Final[tuple[Callable[[Path, str], None], ...]] = (plain, nested, changed, indexed, columns)


def rows(start: int = 0, count: int = 40) -> pa.Table:
    """Rows of the usual types, with NULLs."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "ratio": pa.array([None if i % 9 == 0 else i / 4 for i in numbers], pa.float64()),
            "text": pa.array([None if i % 8 == 0 else f"word {i % 3}" for i in numbers]),
            "flag": pa.array([None if i % 10 == 0 else i % 2 == 0 for i in numbers]),
            "day": pa.array([datetime(2026, 1, 1 + i % 28, tzinfo=UTC) for i in numbers], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal(i) / 4 for i in numbers], pa.decimal128(9, 2)),
            "bytes": pa.array([bytes([i % 256]) * (i % 5) for i in numbers], pa.binary()),
        }
    )


def write_all(folder: Path) -> list[str]:
    """Writes every table with every file version; returns their names."""
    names = []
    for version in file_versions.WRITTEN:
        for make in TABLES:
            name = f"{make.__name__}-{version}"
            make(folder / f"{name}.lance", version)
            expected = lance_sql.open(folder / f"{name}.lance").to_table().sort_by("id")
            pyarrow.feather.write_feather(expected, folder / f"{name}.arrow", compression="uncompressed")
            names.append(name)
    (folder / "names.json").write_text(json.dumps(names))
    return names


def outcome(folder: Path, found: dict[str, Any], name: str) -> str:
    """Returns what a release did with a table; what it appended is checked."""
    said = str(found[name])
    if said != "written":
        return said
    copy = folder / f"{name}-{found['release']}.lance"
    count = len(pyarrow.feather.read_table(folder / f"{name}.arrow"))
    table = lance_sql.open(copy)
    is_right = table.to_table().num_rows == count + 3 and lance_sql.verify(copy, deep=True).is_healthy
    return "read and written" if is_right else "written wrong"


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        names = write_all(folder)
        for python in sys.argv[1:]:
            release = subprocess.run(
                [python, "-c", "import lance; print(lance.__version__)"], capture_output=True, text=True, check=True
            ).stdout.strip()
            for name in names:
                shutil.copytree(folder / f"{name}.lance", folder / f"{name}-{release}.lance")
            run = subprocess.run([python, "-c", _READER, place], capture_output=True, text=True, check=False)
            if run.returncode:
                print(f"pylance {release}: ended with {run.returncode}: {run.stderr.strip()[-300:]}")
                continue
            found = json.loads(run.stdout.splitlines()[-1])
            print(f"pylance {release}")
            for name in names:
                print(f"  {name:14} {outcome(folder, found, name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
