"""Tables that are written smaller."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.errors import InvalidArgument

ROWS = pa.table(
    {"n": np.arange(50_000) % 1000 * 2**33, "s": pa.array([{"x": f"word {i % 97}"} for i in range(50_000)])}
)


@pytest.mark.parametrize("wanted", ["zstd", "lz4", {"n": "zstd"}, {"s": "lz4"}])
def test_compressed_tables_hold_the_same_rows(wanted: str | dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(ROWS, path, compression=wanted)
    appended = lance_sql.write(ROWS, path, mode="append")
    assert appended.to_table()["n"].to_pylist() == ROWS["n"].to_pylist() * 2
    assert lance.dataset(path).to_table()["s"].to_pylist() == ROWS["s"].to_pylist() * 2
    names = wanted if isinstance(wanted, dict) else ["n"]
    asked = {name for name in ("n",) if b"lance-encoding:compression" in (appended.schema.field(name).metadata or {})}
    assert asked == {"n"} & set(names)


def test_unsupported_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    for wanted, level in [("gzip", None), ({"m": "zstd"}, None), ("lz4", 3), (None, 3)]:
        with pytest.raises(InvalidArgument):
            lance_sql.write(ROWS, path, compression=wanted, compression_level=level)  # type: ignore[arg-type]  # wrong on purpose
    lance_sql.write(ROWS, path, compression="zstd", compression_level=9)
    with pytest.raises(InvalidArgument, match="use the compression of the table"):
        lance_sql.write(ROWS, path, mode="append", compression="lz4")


def test_writes_in_two_steps_and_on_the_command_line_are_compressed_too(tmp_path: Path) -> None:
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "two.lance", compression={"n": "zstd"}, compression_level=7)
    table = job.commit(job.write_fragments(ROWS))
    assert table.schema.field("n").metadata[b"lance-encoding:compression-level"] == b"7"
    assert not table.schema.field("s").metadata
    with pytest.raises(InvalidArgument, match="use the compression of the table"):
        lance_sql.begin_write(ROWS.schema, tmp_path / "two.lance", mode="append", compression="zstd")
    command = ["write", str(tmp_path / "cli.lance"), str(tmp_path / "two.lance"), "--compression", "lz4"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert lance_sql.open(tmp_path / "cli.lance").schema.field("n").metadata == {b"lance-encoding:compression": b"lz4"}
    refused = CliRunner().invoke(main, [*command[:3], "--compression", "gzip"])
    assert refused.exit_code == 2
