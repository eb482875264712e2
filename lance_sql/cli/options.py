"""Options that several verbs have, and the types of their values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import click

from lance_sql.table.version_names import as_version


class _Age(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases only
    """Number and unit: days, hours or minutes."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> timedelta:
        from lance_sql.errors import InvalidArgument
        from lance_sql.values.durations import parse_age

        try:
            return parse_age(str(value))
        except InvalidArgument as error:
            self.fail(f"{error}.", param, context)


class _Names(click.ParamType):  # type: ignore[type-arg]  # as above
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> list[str]:
        return value.split(",") if isinstance(value, str) else list(value)


class _Bound(click.ParamType):  # type: ignore[type-arg]  # as above
    """Bound of a range of versions: a version, or a tag or time, which stay text."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int | str:
        number = as_version(str(value))
        return str(value) if number is None else number


AGE: Final = _Age()
BOUND: Final = _Bound()
NAMES: Final = _Names()

branch_option = click.option("--branch", help="Branch to use instead of main.")
key_option = click.option(
    "--key", type=NAMES, help="Match rows by these columns, separated by commas, instead of row ids."
)
report_option = click.option(
    "--output", "-o", type=click.Choice(("text", "json")), default="text", show_default=True, help="Format."
)
