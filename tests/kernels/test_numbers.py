"""Enumerations of the kernels: each member has one name and one number, in C++, in Python and in the stub."""

from __future__ import annotations

import ast
import copy
import enum
import pickle
import re
from pathlib import Path

import pytest

from lance_sql import _kernels

ROOT = Path(__file__).parents[2]

OF_THE_KERNELS_ALONE = {"EncodingKind", "LevelCodec", "LevelKind", "ValueCodec", "WireType"}
"""Python has no use for them."""


def in_headers() -> dict[str, dict[str, int]]:
    """The enumerations of all headers, with their members as Python writes them; those inside classes are private."""
    found = {}
    for header in (ROOT / "kernels").rglob("*.h"):
        text = re.sub(r"//.*", "", header.read_text())
        for name, body in re.findall(r"^enum (?:class )?(\w+)(?: : [\w:]+)? \{(.*?)\}", text, re.DOTALL | re.MULTILINE):
            members: dict[str, int] = {}
            for member in body.replace("\n", " ").split(","):
                if stripped := member.strip():
                    label, _, number = stripped.partition("=")
                    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label.strip().removeprefix("k")).upper()
                    members[snake] = int(number) if number else len(members)
            found[name] = members
    return found


def in_stub() -> dict[str, dict[str, int]]:
    tree = ast.parse((ROOT / "lance_sql" / "_kernels.pyi").read_text())
    return {
        node.name: {
            statement.targets[0].id: ast.literal_eval(statement.value)
            for statement in node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["IntEnum"]
    }


def in_module() -> dict[str, dict[str, int]]:
    return {name: {each.name: each.value for each in value} for name, value in bound().items()}


def bound() -> dict[str, type[enum.IntEnum]]:
    return {
        name: value
        for name, value in vars(_kernels).items()
        if isinstance(value, type) and issubclass(value, enum.IntEnum)
    }


def test_every_enumeration_of_the_headers_is_one_of_python() -> None:
    headers = in_headers()
    shared = {name: members for name, members in headers.items() if name not in OF_THE_KERNELS_ALONE}
    assert set(headers) >= OF_THE_KERNELS_ALONE
    assert shared == in_module()


def test_the_stub_has_the_numbers_of_the_kernels() -> None:
    assert in_stub() == in_module()
    assert len(in_stub()) > 10


@pytest.mark.parametrize("kind", bound().values(), ids=bound().keys())
def test_members_are_values(kind: type[enum.IntEnum]) -> None:
    """Tasks that hold them travel to other processes."""
    for member in kind:
        assert pickle.loads(pickle.dumps(member)) is copy.copy(member) is kind(member.value) is kind[member.name]
        assert {int(member): 1}[member] == 1
        assert str(member) == f"{kind.__name__}.{member.name}"


def test_other_numbers_are_refused_by_name() -> None:
    with pytest.raises(_kernels.InvalidDataError, match="7 is not a ValueOrder"):
        _kernels.PageTest.range(7, bytes(16), bytes(16), True)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(_kernels.InvalidDataError, match="-1 is not a Compression"):
        _kernels.compression_library(-1)  # type: ignore[arg-type]  # likewise
    with pytest.raises(TypeError):
        _kernels.compression_library("lz4")  # type: ignore[arg-type]  # likewise
