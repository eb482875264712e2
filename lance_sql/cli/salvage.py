"""`lance-sql salvage`."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import quiet_option
from lance_sql.cli.options import NAMES, branch_option, report_option
from lance_sql.table.version_names import split_name

SOMETHING_LOST: Final = 1


@click.command(short_help="Recovers readable rows to a new table.")
@click.argument("table")
@click.argument("target")
@click.option("--columns", "-c", type=NAMES, help="Columns to read, separated by commas.")
@click.option("--null-cells", is_flag=True, help="Keep partly readable rows, with NULL for the rest.")
@click.option("--intact-only", is_flag=True, help="Omit readable values that differ from their checksum.")
@branch_option
@report_option
@quiet_option
def salvage(
    table: str,
    target: str,
    output: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Writes every readable row of TABLE to the new table TARGET, and reports the lost rows.

    Handles missing or truncated data files, pages that cannot be decoded, and missing deletion files. TABLE is
    unchanged. Exits with 1 if rows are lost.

    \b
    lance-sql salvage events.lance saved.lance
    lance-sql salvage events.lance@41 saved.lance --null-cells
    """
    from lance_sql.cli.progress import Bar
    from lance_sql.health import repairs

    path, version, tag = split_name(table)
    bar = Bar("fragments read", hidden=quiet)
    try:
        report = repairs.salvage(
            path,
            target,
            version=tag if version is None else version,
            **options,
            progress=bar.update,
        )
    finally:
        bar.close()
    screen.show_report(report, output, None)
    sys.exit(0 if report.is_complete else SOMETHING_LOST)
