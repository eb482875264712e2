"""Names that users give: one check for each kind of name, called by every door before anything is written.

    table, namespace              a folder, or a part of its name: no '/', '\\', '$' and control characters
    tag, cursor, rule             a file name of letters, digits, '.', '-' and '_'
    branch                        the same, with '/' between parts
    index, application, column    text without NUL; of an index, without '__' in front

Tags and branches stand where versions and times stand, so new ones cannot read as one of those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from lance_sql.errors import InvalidArgument
from lance_sql.values.moments import is_time

Kind: TypeAlias = Literal["table", "namespace", "tag", "cursor", "rule", "branch", "index", "application", "column"]

MAX_FILE_NAME: Final = 255
"""Maximum length of the name of a file or folder, in bytes of UTF-8."""

_MAX_BYTES: Final = MAX_FILE_NAME - len(".lance")
# The folder of a table in a namespace begins with eight digits, and has both names.
_MAX_BYTES_OF_NAMESPACE: Final = MAX_FILE_NAME - len("00000000_$t")

_SCHEMAS_OF_ENGINES: Final = ("information_schema", "pg_catalog")

_WORD: Final = re.compile(r"[A-Za-z0-9._-]+")
# A file name has up to 255 bytes, some of which the store may need for a temporary name.
_MAX_LENGTH: Final = 150
_NUMBER: Final = re.compile(r"-?[0-9]+")
_VERSIONS: Final = frozenset({"main", "latest", "earliest", "newest", "oldest"})
"""Words for a branch or a version."""


def check(name: object, kind: Kind) -> str:
    """Returns a name that has the form of its kind.

    raises: InvalidArgument
    """
    text = _checked_text(name, kind)
    if kind in ("table", "namespace"):
        _check_folder(text, kind)
    elif kind in ("tag", "cursor", "rule"):
        _check_word(text, kind)
    elif kind == "branch":
        _check_branch(text)
    elif "\0" in text:
        raise _refused(text, kind, "leave the NUL character out")
    elif kind == "index" and text.startswith("__"):
        raise _refused(text, kind, "names that begin with '__' are reserved")
    return text


def check_new_reference(name: object, kind: Literal["tag", "branch"]) -> str:
    """Returns the name of a new tag or branch, which no door reads as a version or a time.

    raises: InvalidArgument, also as `check`
    """
    text = check(name, kind)
    if _NUMBER.fullmatch(text) or text.lower() in _VERSIONS or is_time(text.lower()) or is_time(text.upper()):
        raise _refused(text, kind, f"it reads as a version or a time; choose another name, such as {f'v-{text}'!r}")
    return text


def like(name: str, existing: Iterable[str]) -> str | None:
    """Returns an existing name that is equal up to case and the form of characters; None if there is none."""
    wanted = folded(name)
    return next((other for other in existing if folded(other) == wanted), None)


def folded(name: str) -> str:
    """Returns the form in which names are equal that differ only in case or in the form of their characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def sql_folded(name: str) -> str:
    """Returns the form in which DuckDB compares names: it ignores the case of ASCII letters."""
    return (
        name.lower() if name.isascii() else name.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")
    )


def alike(names: Iterable[str]) -> dict[str, str]:
    """Returns each name that DuckDB cannot distinguish from another one, with that other one."""
    given = list(names)
    if len({name.lower() for name in given}) == len(given):
        return {}
    seen: dict[str, str] = {}
    pairs: dict[str, str] = {}
    for name in given:
        first = seen.setdefault(sql_folded(name), name)
        if first != name:
            pairs[name] = first
            pairs.setdefault(first, name)
    return pairs


def _checked_text(name: object, kind: Kind) -> str:
    if not isinstance(name, str):
        raise InvalidArgument(f"{name!r} cannot be the name of a {kind}: pass text")
    if not name:
        raise InvalidArgument(f"'' cannot be the name of {_with_article(kind)}: a name has at least one character")
    try:
        _ = name.encode()
    except UnicodeEncodeError as error:
        raise _refused(name, kind, "UTF-8 cannot encode it") from error
    return name


def _check_folder(name: str, kind: Kind) -> None:
    if any(sign in name for sign in "/\\$") or _has_control(name) or name in (".", ".."):
        raise _refused(name, kind, "leave '/', '\\', '$' and control characters out, and do not call it '.' or '..'")
    length, most = len(name.encode()), _MAX_BYTES_OF_NAMESPACE if kind == "namespace" else _MAX_BYTES
    if length > most:
        raise InvalidArgument(f"{name[:40]!r}... has {length} bytes: the name of a {kind} has at most {most}")
    if ".lance@" in name.lower():
        raise _refused(name, kind, "leave '.lance@' out, which begins a version of another table")
    if kind == "namespace" and "." in name:
        raise _refused(name, kind, "leave '.' out, which separates nested namespaces")
    if kind == "namespace" and sql_folded(name) in _SCHEMAS_OF_ENGINES:
        raise _refused(name, kind, "engines have a schema of their own of this name; choose another one")


def _check_word(name: str, kind: Kind) -> None:
    _check_length(name, kind)
    if not _WORD.fullmatch(name) or name.startswith(".") or name.endswith((".", ".lock")) or ".." in name:
        raise _refused(
            name,
            kind,
            "use letters, digits, '.', '-' and '_', without '.' at either end, '..', or '.lock' at the end",
        )


def _check_branch(name: str) -> None:
    _check_length(name, "branch")
    words = name.split("/")
    if (
        name == "main"
        or not all(_WORD.fullmatch(word) and word not in (".", "..") for word in words)
        or ".." in name
        or name.endswith(".lock")
    ):
        raise _refused(
            name,
            "branch",
            "use letters, digits, '.', '-', '_' and '/' between parts, without '..', or '.lock' at the end; 'main' is"
            " reserved",
        )


def _check_length(name: str, kind: Kind) -> None:
    # as in a file name, where / takes three characters
    length = len(quote(name, safe=""))
    if length > _MAX_LENGTH:
        raise InvalidArgument(
            f"{name[:40]!r}... has {length} characters: the name of a {kind} has at most {_MAX_LENGTH}"
        )


def _has_control(name: str) -> bool:
    return not name.isprintable() and any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in name)


def _refused(name: str, kind: Kind, advice: str) -> InvalidArgument:
    return InvalidArgument(f"{name[:100]!r} cannot be the name of {_with_article(kind)}: {advice}")


def _with_article(kind: Kind) -> str:
    return f"an {kind}" if kind[0] in "ai" else f"a {kind}"
