"""Records that users print: reprs with their known values, and tables in notebooks.

A record is a dataclass with `repr=False`, so that it has the repr of `Record`. Fields with `repr=False` are internal.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar

from lance_sql.values.value_text import text


class Page:
    """Conversions to HTML of everything with a template.

    template: its name; that of the part ends in `_part`
    """

    template: ClassVar[str]

    @abstractmethod
    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        """Returns the values for the templates.

        is_part: for a notebook, which shows less
        """

    def to_html(self) -> str:
        """Renders a page in one file that needs no network.

        raises: MissingDependency where Jinja2 is not installed
        """
        from lance_sql.values import html

        return html.render(self.template, **self.page_values(is_part=False))

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        return html.part(f"{self.template}_part", **self.page_values(is_part=True))


_UNKNOWN: Final[tuple[object, ...]] = (None, (), {})


class Record:
    """Base of dataclasses that users print."""

    __slots__ = ()

    def __repr__(self) -> str:
        known = ", ".join(f"{name}={value!r}" for name, value in _known(self))
        return f"{type(self).__name__}({known})"

    def _repr_html_(self) -> str | None:
        return _table([self])


T = TypeVar("T", bound=Record)


class Records(tuple[T, ...]):
    """Records in order, with a table for notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _table(self)


class NamedRecords(dict[str, T]):
    """Records by name, with a table for notebooks."""

    def _repr_html_(self) -> str | None:
        return _table(list(self.values()))


def _known(record: Record) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(record):  # type: ignore[arg-type]  # a dataclass
        value = getattr(record, field.name)
        if field.repr and not any(value is unknown or value == unknown for unknown in _UNKNOWN):
            yield field.name, value


def _table(records: Sequence[Record]) -> str | None:
    """Renders a row for each record, with the columns that one of them knows."""
    from lance_sql.values import html

    known = [dict(_known(record)) for record in records]
    names = list(dict.fromkeys(name for row in known for name, value in row.items() if not isinstance(value, Record)))
    rows = [tuple(None if name not in row else _shown(row[name]) for name in names) for row in known]
    return html.part("records_part", names=names, rows=rows)


def _shown(value: Any) -> str:
    return ", ".join(map(text, value)) if isinstance(value, tuple) else text(value)
