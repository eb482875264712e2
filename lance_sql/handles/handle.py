"""Base classes of the parts of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

from lance_sql.errors import LanceError, VersionNotFound
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import unknown_name
from lance_sql.values.guessed_names import OF_HANDLES, NamesGuessed

if TYPE_CHECKING:
    from lance_sql.writes.commit_options import CommitOptions

D = TypeVar("D")
"""The handle on a version: `Dataset`."""
V = TypeVar("V")


@dataclass(frozen=True, repr=False)
class Handle(NamesGuessed, Generic[D]):
    """Part of a table. Immutable, thread-safe, picklable.

    _snapshot: the version of the `Dataset` that it belongs to
    _opened: makes the `Dataset` of another version
    """

    _guessed_names = OF_HANDLES

    _snapshot: Snapshot
    _opened: Callable[[Snapshot], D]

    def _changed(
        self, operation: str, options: CommitOptions, commit: Callable[..., Snapshot], /, *arguments: Any, **chosen: Any
    ) -> D:
        """Commits a change; see `commit_options.changed`."""
        from lance_sql.writes.commit_options import changed

        return self._opened(changed(self._snapshot, operation, options, commit, *arguments, **chosen))

    if not TYPE_CHECKING:

        def __call__(self, *_: Any, **__: Any) -> NoReturn:
            name = type(self).__name__.removeprefix("Table").lower()
            calls = [f"{name}.{each}" for each in dir(self) if not each.startswith("_")]
            raise TypeError(f"{name} is no method: call {', '.join(calls[:-1])} or {calls[-1]}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._snapshot.label!r})"


@dataclass(frozen=True, repr=False)
class Named(Handle[D], Generic[D, V]):
    """Part of a table that has names: `in`, iteration over the names, and a value by its name.

    _kind: of what a name stands for, in messages
    _unknown: the error for an unknown name
    """

    _kind: ClassVar[str]
    _unknown: ClassVar[type[LanceError]] = VersionNotFound

    @abstractmethod
    def list(self) -> Collection[Any]:
        """Returns all of them."""

    @abstractmethod
    def _by_name(self) -> Mapping[str, V]: ...

    def __getitem__(self, name: str) -> V:
        found = self._by_name()
        if name not in found:
            raise self._unknown(unknown_name(self._kind, name, self._snapshot.name, found))
        return found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"

    def _repr_html_(self) -> str | None:
        render = getattr(self.list(), "_repr_html_", None)
        return None if render is None else render()
