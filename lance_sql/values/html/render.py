"""Rendering of templates to HTML."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from lance_sql.errors import MissingDependency, missing_package
from lance_sql.runtime.terminal_text import one_line
from lance_sql.values.value_text import text, values

if TYPE_CHECKING:
    from jinja2 import Environment
    from pyarrow import RecordBatchReader

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_SCALES: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
UNKNOWN: Final = "\N{EN DASH}"
MAX_CHARACTERS: Final = 2_000
"""Longer values are cut."""


def render(template: str, **given: Any) -> str:
    """Renders a whole page.

    template: name in `templates`, without its suffix
    raises: MissingDependency if Jinja2 is not installed
    """
    # a time without its fraction would open the version before
    return _environment().get_template(f"{template}.html").render(given, made_at=datetime.now(UTC))


def part(template: str, **given: Any) -> str | None:
    """Renders a part of a page with its own style, for a notebook. Returns None if Jinja2 is not installed, so that the
    notebook shows the text."""
    try:
        return render(template, **given)
    except MissingDependency:
        return None


def first_rows(reader: RecordBatchReader, most: int = 20) -> str | None:
    """Renders the first rows of a stream for a notebook."""
    rows: list[tuple[Any, ...]] = []
    with reader:
        for batch in reader:
            columns = batch.slice(0, most + 1 - len(rows)).columns
            rows += zip(*map(values, columns), strict=True) if columns else [()] * batch.num_rows
            if len(rows) > most:
                break
    return part("rows_part", schema=reader.schema, rows=rows[:most], has_more=len(rows) > most)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing_package("HTML pages need Jinja2", "html") from error
    environment = Environment(
        loader=PackageLoader("lance_sql.values.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "size": size,
        "share": share,
        "cell": cell,
        "moment": moment,
        "line": one_line,
        "duration": duration,
        "counted": counted,
        "short": short,
    }
    environment.globals |= {
        "style": _resource("style.css"),
        "script": _resource("script.js"),
        "max_characters": MAX_CHARACTERS,
    }
    environment.globals["script_hash"] = base64.b64encode(
        hashlib.sha256(_resource("script.js").encode()).digest()
    ).decode()
    return environment


def _resource(name: str) -> str:
    return files("lance_sql.values.html").joinpath("templates", name).read_text("utf-8")


def number(value: float | None) -> str:
    """Formats a count, or a dash for an unknown one."""
    return UNKNOWN if value is None else f"{value:,}"


def short(value: int) -> str:
    """Formats a count for an axis, with about three digits."""
    if value < 10_000:
        return f"{value:,}"
    scale, unit = next((scale, unit) for scale, unit in _SCALES if value >= scale)
    return f"{value / scale:.4g}{unit}"


def counted(count: int, noun: str) -> str:
    """Formats a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def size(value: int | None) -> str:
    """Formats bytes in a suitable unit."""
    if value is None:
        return UNKNOWN
    amount, unit = float(value), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return counted(value, "byte") if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def share(value: float) -> str:
    """Formats a share in percent: a small one is not rounded to nothing, nor a nearly complete one to all."""
    percent = value * 100
    if 0 < percent < 0.1:
        return "< 0.1%"
    if 99.9 < percent < 100:
        return "> 99.9%"
    return f"{percent:.1f}%".replace(".0%", "%")


def cell(value: Any) -> str:
    """Formats a value that is not NULL, in one line."""
    if isinstance(value, bytes) and len(value) > MAX_CHARACTERS:
        value = value[:MAX_CHARACTERS]
    shown = text(value)
    return one_line(shown if len(shown) <= MAX_CHARACTERS else f"{shown[: MAX_CHARACTERS - 1]}…")


def moment(value: datetime | None) -> str:
    """Formats a time in UTC, whole, so that it names the version of that time."""
    return UNKNOWN if value is None else value.astimezone(UTC).isoformat(sep=" ").replace("+00:00", "Z")


def duration(value: int | None) -> str:
    """Formats milliseconds in a suitable unit."""
    if value is None:
        return UNKNOWN
    return f"{value} ms" if value < 1000 else f"{value / 1000:.1f} s" if value < 60_000 else f"{value / 60_000:.1f} min"
