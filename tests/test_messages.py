"""The form of error messages, and the page that lists the errors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from lance_sql import errors
from tests.documents import ROOT

_ERRORS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}
# a message begins with the subject that is wrong
_FORBIDDEN = re.compile(r"(What|Who|Whoever|Which|Those|Of|That|The same|There is|There are|Nobody)\b")
_FOLDERS = ("lance_sql", "providers")


def _messages() -> Iterator[tuple[str, str]]:
    """Yields the place and the text of every message that is given as a literal; values are '{}'."""
    for path in sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _ERRORS and node.args:
                text = _text(node.args[0])
                if text is not None:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def test_messages_have_one_form() -> None:
    messages = list(_messages())
    assert len(messages) > 1000
    for place, text in messages:
        assert "\n" not in text, place
        assert not text.endswith(".") or text.endswith(".."), f"{place}: {text}"
        assert not _FORBIDDEN.match(text), f"{place}: {text}"


@pytest.mark.parametrize("name", sorted(_ERRORS - {"LanceError"}))
def test_the_page_of_errors_has_the_remedy(name: str) -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    row = re.search(rf"^\| `{name}` \|([^|]*)\|([^|]*)\|([^|]*)\|$", page, re.MULTILINE)
    assert row is not None
    assert row[2].strip(), "no cause"
    assert row[3].strip(), "no remedy"
