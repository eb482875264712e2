"""One input of a decoder, and its file: JSON with a line that describes it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = bytes | int | str | None
Values: TypeAlias = dict[str, Value]
"""By name: files by their paths, buffers, counts."""


@dataclass(frozen=True, slots=True)
class Input:
    """Input of a target.

    what: in a line, how it was found or what it does
    """

    target: str
    what: str
    values: Values


def save(path: Path, item: Input) -> None:
    """Writes the input to a file."""
    values = {name: _to_json(value) for name, value in item.values.items()}
    content = {"what": item.what, "target": item.target, "values": values}
    path.write_text(json.dumps(content, indent=1) + "\n")


def load(path: Path) -> Input:
    """The input in a file."""
    content = json.loads(path.read_text())
    values = {name: _from_json(value) for name, value in content["values"].items()}
    return Input(content["target"], content["what"], values)


def _to_json(value: Value) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _from_json(value: object) -> Value:
    if isinstance(value, Mapping):
        return base64.b64decode(value["base64"])
    assert value is None or isinstance(value, (int, str))
    return value
