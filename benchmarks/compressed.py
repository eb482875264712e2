"""Tables that are compressed with Zstandard or LZ4, written by pylance and by this library, and by both without
compression: sizes, and the times of a table, of a stream, and of a filter that 2 % of the rows pass.

Against pylance on the same files, and against pyarrow on the same rows as Parquet (zstd): ratios above 1, they take
longer. The rows are lineitem of TPC-H, six million of them; see `tpch`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import lance_sql

from .measure import medians, parser, print_versions, report
from .streams import drain
from .tables import cached
from .tpch import generated

KEY = b"lance-encoding:compression"
SCHEMES = (None, "lz4", "zstd")
FILTER = ("l_shipdate", datetime.date(1994, 1, 1), datetime.date(1994, 2, 19))
"""2 % of the rows."""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows")
    arguments.add_argument("--writers", nargs="*", choices=("pylance", "ours"), default=("pylance", "ours"))
    arguments.add_argument("--schemes", nargs="*", choices=("none", "lz4", "zstd"), default=("none", "lz4", "zstd"))
    arguments.set_defaults(runs=3)
    given = arguments.parse_args()
    print_versions("pylance")
    folder = generated(given.data, given.scale)
    parquet = folder / "lineitem.parquet"
    paths = {
        (writer, scheme): table(folder, parquet, writer, None if scheme == "none" else scheme)
        for writer in given.writers
        for scheme in given.schemes
    }
    print(f"{'lineitem.parquet (zstd)':<34}{num_bytes(parquet) / 1e6:8.0f} MB")
    for (writer, scheme), path in paths.items():
        print(f"{f'{scheme} by {writer}':<34}{num_bytes(path) / 1e6:8.0f} MB", flush=True)
    for (writer, scheme), path in paths.items():
        for what, sides in operations(path, parquet).items():
            counts = {name: side() for name, side in sides.items()}
            assert len(set(counts.values())) == 1, counts
            report(f"{what}, {scheme} by {writer}", medians(sides, given.runs))


def table(folder: Path, parquet: Path, writer: str, scheme: str | None) -> Path:
    """lineitem as one of the writers writes it with a compression."""

    def make(to: Path) -> None:
        rows = pyarrow.parquet.ParquetFile(parquet)
        fields = rows.schema_arrow if scheme is None else compressed(rows.schema_arrow, scheme)
        batches = (batch.cast(fields) for batch in rows.iter_batches(1 << 17))
        reader = pa.RecordBatchReader.from_batches(fields, batches)
        if writer == "pylance":
            lance.write_dataset(reader, to, data_storage_version="2.2")
        else:
            lance_sql.write(reader, to)

    return cached(folder / f"lineitem_{scheme}_{writer}.lance", make)


def compressed(schema: pa.Schema, scheme: str) -> pa.Schema:
    """The schema with the metadata that asks every Lance writer for compression."""
    return pa.schema([field.with_metadata({KEY: scheme.encode()}) for field in schema])


def num_bytes(path: Path) -> int:
    """Returns the bytes of a file, or of the data files of a table."""
    return path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in (path / "data").iterdir())


def operations(path: Path, parquet: Path) -> dict[str, dict[str, Callable[[], int]]]:
    """The measured operations by side; each returns the number of rows read."""
    ours, theirs = lance_sql.open(path), lance.dataset(path)
    rows = pyarrow.dataset.dataset(parquet)
    name, first, last = FILTER
    text = f"{name} >= date '{first}' AND {name} < date '{last}'"
    column = pyarrow.dataset.field(name)
    expression = (column >= pa.scalar(first)) & (column < pa.scalar(last))
    return {
        "table": {
            "ours": lambda: int(ours.scan().to_table().num_rows),
            "pylance": lambda: int(theirs.to_table().num_rows),
            "parquet": lambda: int(rows.to_table().num_rows),
        },
        "stream": {
            "ours": lambda: drain(ours.scan().to_reader()),
            "pylance": lambda: drain(theirs.scanner().to_reader()),
            "parquet": lambda: drain(rows.scanner().to_reader()),
        },
        "filter": {
            "ours": partial(filtered, ours, text),
            "pylance": lambda: int(theirs.to_table(filter=text).num_rows),
            "parquet": lambda: int(rows.to_table(filter=expression).num_rows),
        },
    }


def filtered(ours: lance_sql.Dataset, text: str) -> int:
    return int(ours.scan(filter=text).to_table().num_rows)


if __name__ == "__main__":
    main()
