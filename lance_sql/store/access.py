"""Access to the files of a table: all that opening its stores takes besides their places, as one value.

    Access.of(storage_options={"region": "x"}, cache=True)    from the keywords of a public function
    open_store(place, access)                                 each store of the table, with the same value

What a function is not given comes from the block that it is called in, `within`, and from the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypedDict, Unpack, cast

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.store.disk_cache import DEFAULT_BYTES
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.values.keywords import check_keywords

ALLOW_BASES: Final = "LANCE_SQL_ALLOW_BASES"
"""The environment variable with places that are allowed in the process, separated by commas or spaces."""
CACHE: Final = "LANCE_SQL_CACHE"
"""The environment variable with the folder of the cache."""
CHECKSUMS: Final = "LANCE_SQL_CHECKSUMS"
"""The environment variable that makes readers compare checksums."""

_TRUE: Final = ("1", "true", "yes", "on")
_FALSE: Final = ("", "0", "false", "no", "off")
_WORDS: Final = ("manifest_store", "allow_bases", "cache", "cache_bytes", "checksums")
"""Parts that may also be among the storage options, for engines that pass nothing else."""


class PlaceOptions(TypedDict, total=False):
    """Keywords of functions that take the path of a table; see `lance_sql.open`."""

    storage_options: Mapping[str, Any] | None
    manifest_store: ManifestStore | None
    allow_bases: str | Iterable[str] | None
    cache: str | os.PathLike[str] | bool | None


class AccessOptions(PlaceOptions, total=False):
    """Keywords of functions that open a table by its path; see `lance_sql.open`."""

    checksums: bool | None


KEYWORDS: Final = tuple(AccessOptions.__annotations__)


@dataclass(frozen=True, slots=True)
class Access:
    """Access to the files of a table. Picklable if the options are.

    options: of the client of the store, by name
    manifest_store: arbiter of commits; None if the store is its own
    allow_bases: URI prefixes of places that may hold files of the table besides its own
    cache, cache_bytes: the folder of the disk cache, None for none, and its maximum size
    checksums: whether blocks of files are compared with their checksums when they are first read
    """

    options: tuple[tuple[str, Any], ...] = ()
    manifest_store: ManifestStore | None = None
    allow_bases: tuple[str, ...] = ()
    cache: str | None = None
    cache_bytes: int = DEFAULT_BYTES
    checksums: bool = False

    @classmethod
    def of(cls, **given: Unpack[AccessOptions]) -> Access:
        """Returns the access that keywords give, with that of the block and of the environment.

        raises: InvalidArgument for values of other kinds; UnknownKeywordError
        """
        return _complete(_joined(_around.get(), _parts(given)))

    @property
    def identity(self) -> Access | None:
        """The value as a key of caches; None if an option cannot be a key."""
        try:
            hash(self)
        except TypeError:
            return None
        return self

    def allowing(self, base: str) -> Access:
        """Returns access that also allows a place."""
        return self if base in self.allow_bases else replace(self, allow_bases=(*self.allow_bases, base))

    def without_checksums(self) -> Access:
        """Returns access for readers that damage must not stop."""
        return replace(self, checksums=False)

    def with_keywords(self, given: AccessOptions) -> Access:
        """Returns this access with the parts that keywords give; places are added."""
        return _complete(_joined(_parts(self.keywords()), _parts(given))) if given else self

    def keywords(self) -> AccessOptions:
        """Returns keywords of a public function that give the same access."""
        size = {} if self.cache_bytes == DEFAULT_BYTES else {"cache_bytes": self.cache_bytes}
        return {
            "storage_options": {**dict(self.options), **size},
            "manifest_store": self.manifest_store,
            "allow_bases": self.allow_bases,
            "cache": self.cache or False,
            "checksums": self.checksums,
        }

    def texts(self) -> dict[str, str]:
        """Returns storage options that give the same access, for engines that pass texts to other processes.

        raises: UnsupportedFeature for a manifest store
        """
        if self.manifest_store is not None:
            raise UnsupportedFeature(
                f"Workers of the engine cannot get the manifest store {type(self.manifest_store).__name__}: read the"
                " table in this process, or use s3+ddb://"
            )
        given = {**self.keywords(), "allow_bases": ",".join(self.allow_bases)}
        options: Mapping[str, Any] = given.pop("storage_options")  # type: ignore[assignment]  # it has one
        words = {name: value for name, value in given.items() if value}
        return {name: str(value) for name, value in {**options, **words}.items()}


_around: Final[ContextVar[Mapping[str, Any]]] = ContextVar("access", default=MappingProxyType({}))


@contextmanager
def within(given: AccessOptions) -> Iterator[None]:
    """Gives keywords to every `Access.of` in a block, which has them unless it is given others; places are added."""
    token = _around.set(_joined(_around.get(), _parts(given)))
    try:
        yield
    finally:
        _around.reset(token)


def access_options(options: Mapping[str, Any]) -> AccessOptions:
    """Returns those of some keywords that are of access."""
    return cast(AccessOptions, {name: options[name] for name in KEYWORDS if options.get(name) is not None})


def _parts(given: AccessOptions) -> dict[str, Any]:
    """Returns the parts that keywords name, or words among the storage options, as they were given."""
    check_keywords("open", given, KEYWORDS)
    options = dict(given.get("storage_options") or {})
    words = {name: options.pop(name) for name in _WORDS if options.get(name) is not None}
    chosen = {name: value for name, value in given.items() if name != "storage_options" and value is not None}
    bases = (*_bases(words.get("allow_bases")), *_bases(chosen.get("allow_bases")))
    return {**words, **chosen, "allow_bases": bases, "options": options}


def _joined(around: Mapping[str, Any], inside: Mapping[str, Any]) -> Mapping[str, Any]:
    if not around:
        return inside
    bases, options = (*around["allow_bases"], *inside["allow_bases"]), {**around["options"], **inside["options"]}
    return {**around, **inside, "allow_bases": bases, "options": options}


def _complete(parts: Mapping[str, Any]) -> Access:
    """Returns the access of parts, with those of the environment."""
    return Access(
        tuple(sorted(parts["options"].items(), key=str)),
        _arbiter(parts.get("manifest_store")),
        tuple(dict.fromkeys((*parts["allow_bases"], *_bases(os.environ.get(ALLOW_BASES))))),
        _folder(parts.get("cache")),
        _number(parts.get("cache_bytes", DEFAULT_BYTES)),
        _flag(parts.get("checksums", os.environ.get(CHECKSUMS, ""))),
    )


def _bases(given: Any) -> list[str]:
    """
    given: URI prefixes, as a list or separated by commas or spaces
    """
    if not given:
        return []
    bases = given.replace(",", " ").split() if isinstance(given, str) else list(given)
    if not all(isinstance(each, str) and each.strip() for each in bases):
        raise InvalidArgument(f"allow_bases={given!r} is not a list of URIs, such as ['s3://archive/']")
    return bases


def _arbiter(given: Any) -> ManifestStore | None:
    if given is not None and not hasattr(given, "put_if_absent"):
        raise InvalidArgument(f"manifest_store={given!r} is not a manifest store: pass SqliteManifestStore(path)")
    return cast(ManifestStore | None, given)


def _folder(given: object) -> str | None:
    if isinstance(given, str) and given.strip().lower() in ("true", "false"):
        given = _flag(given)
    if given is None or given is True:
        return os.environ.get(CACHE) or (_default_folder() if given else None)
    if given is not False and not isinstance(given, str | os.PathLike):
        raise InvalidArgument(f"cache={given!r} is not a folder: pass a folder, True for {_default_folder()}, or False")
    return os.fspath(given) or None if given else None


def _default_folder() -> str:
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "lance-sql", "ranges")


def _number(given: Any) -> int:
    try:
        number = int(given)
    except (TypeError, ValueError):
        raise InvalidArgument(f"cache_bytes={given!r} is not a number of bytes") from None
    if number <= 0:
        raise InvalidArgument(f"cache_bytes={number} is too small: pass more than 0, or leave cache= out")
    return number


def _flag(given: object) -> bool:
    """
    raises: InvalidArgument for what is neither true nor false
    """
    text = str(given).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise InvalidArgument(f"checksums={given!r} is neither true nor false")
    return text in _TRUE
