"""Checks that wheels run on every Linux with glibc 2.28 or later: scripts/wheel_symbols.py WHEEL...

A wheel may need only the libraries of glibc, and of these only symbols that glibc 2.28 has. A module that needs others
is named with them. Prints the newest symbol version that each wheel needs.
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Iterator

NEWEST_GLIBC = (2, 28)
LIBRARIES = re.compile(r"(lib(c|m|dl|rt|pthread)|ld-linux-.*)\.so\.\d")
# of ELF: section types
DYNAMIC, VERSIONS_NEEDED = 6, 0x6FFFFFFE


def needed(elf: bytes) -> tuple[set[str], set[str]]:
    """Returns the libraries and the symbol versions that a module of 64 bits needs."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a module of 64 bits for Linux")
    start, size, count = (struct.unpack_from(f"<{code}", elf, at)[0] for code, at in (("Q", 40), ("H", 58), ("H", 60)))
    # of each: its type, its place and size in the file, and the section of its strings
    sections = [struct.unpack_from("<4xI16xQQI", elf, start + i * size) for i in range(count)]
    libraries, versions = set(), set()
    for kind, place, length, link in sections:
        if kind not in (DYNAMIC, VERSIONS_NEEDED):
            continue
        strings = sections[link][1]
        if kind == DYNAMIC:
            entries = struct.iter_unpack("<qQ", elf[place : place + length])
            libraries |= {_text(elf, strings + value) for tag, value in entries if tag == 1}
        else:
            versions |= {_text(elf, strings + name) for name in _version_names(elf, place)}
    return libraries, versions


def _version_names(elf: bytes, place: int) -> Iterator[int]:
    while True:
        count, first, following = struct.unpack_from("<2xH4xII", elf, place)
        at = place + first
        for _ in range(count):
            name, after = struct.unpack_from("<8xII", elf, at)
            yield name
            at += after
        if not following:
            return
        place += following


def _text(elf: bytes, start: int) -> str:
    return elf[start : elf.index(0, start)].decode()


def faults(elf: bytes) -> list[str]:
    """Returns the libraries and symbol versions that a system with glibc 2.28 may not have, sorted."""
    libraries, versions = needed(elf)
    return sorted({name for name in libraries if not LIBRARIES.fullmatch(name)} | {v for v in versions if _is_newer(v)})


def _is_newer(version: str) -> bool:
    return not version.startswith("GLIBC_") or _number(version) > NEWEST_GLIBC


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def main(wheels: list[str]) -> int:
    status = 0
    for path in wheels:
        newest = "GLIBC_0"
        with zipfile.ZipFile(path) as wheel:
            modules = [name for name in wheel.namelist() if wheel.open(name).read(4) == b"\x7fELF"]
            for name in modules:
                elf = wheel.read(name)
                newest = max(newest, *needed(elf)[1], key=_number)
                if found := faults(elf):
                    print(f"lance-sql: {path}: {name} needs {', '.join(found)}", file=sys.stderr)
                    status = 1
        if not modules:
            print(f"lance-sql: {path}: no compiled module", file=sys.stderr)
            status = 1
        print(f"{path}: needs {newest}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
