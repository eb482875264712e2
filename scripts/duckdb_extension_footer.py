"""Makes a DuckDB extension of a shared library: appends what DuckDB reads before it loads one.

    duckdb_extension_footer.py FILE VERSION PROCESSOR

Eight fields of 32 bytes, the last of them first, then 256 bytes for a signature, which stay empty.

Source: DuckDB's documentation of extensions, and what DuckDB 1.5 and 2.0 load.
"""

from __future__ import annotations

import sys
from pathlib import Path

MAGIC = b"4"
API_VERSION = b"v1.2.0"
ABI = b"C_STRUCT"
SYSTEMS = {"linux": b"linux", "darwin": b"osx", "win32": b"windows"}
PROCESSORS = {"x86_64": b"amd64", "AMD64": b"amd64", "aarch64": b"arm64", "arm64": b"arm64", "ARM64": b"arm64"}


def footer(platform: bytes, version: bytes) -> bytes:
    """512 bytes."""
    fields = [MAGIC, platform, API_VERSION, version, ABI, b"", b"", b""]
    return b"".join(field.ljust(32, b"\0") for field in reversed(fields)) + bytes(256)


def main(file: str, version: str, processor: str) -> None:
    platform = SYSTEMS.get(sys.platform, b"unknown") + b"_" + PROCESSORS.get(processor, b"unknown")
    with Path(file).open("ab") as stream:
        stream.write(footer(platform, version.encode()))


if __name__ == "__main__":
    main(*sys.argv[1:])
