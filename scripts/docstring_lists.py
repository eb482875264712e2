"""An extension of griffe, by which the site shows docstrings: what stands as `name: text` becomes an item of a list."""

from __future__ import annotations

import re
from typing import Any

from griffe import Docstring, Extension, Object

_ITEM = re.compile(r"^(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*|raises|returns): (?P<text>\S.*)$")


class DocstringLists(Extension):
    """Changes the docstring of everything that is loaded."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring = Docstring(as_markdown(obj.docstring.value), lineno=obj.docstring.lineno, parent=obj)


def as_markdown(text: str) -> str:
    """The text of a docstring with its arguments as a list, and its examples as blocks of code."""
    lines: list[str] = []
    in_list = in_code = False
    for line in text.splitlines():
        found = _ITEM.match(line)
        if in_code and not line.strip():
            lines.append("```")
            in_code = False
        if line.startswith(">>> ") and not in_code:
            lines += ["", "```pycon"]
            in_code = True
        if found and not in_code:
            if not in_list:
                lines.append("")
            lines.append(f"- `{found['names']}`: {found['text']}")
        else:
            lines.append(line)
        in_list = bool(found) or (in_list and line.startswith(" "))
    if in_code:
        lines.append("```")
    return "\n".join(lines)
