"""`lance-sql recall`."""

from __future__ import annotations

import click

from lance_sql.cli import screen


@click.command(short_help="Measures the recall of a vector index by nprobes.")
@click.argument("table")
@click.option("--column", help="Vector column.")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="Rows of each search.")
@click.option("--nprobes", metavar="N,N,..", help="Partitions to search; default: several numbers and auto.")
@click.option("--refine", type=click.IntRange(min=1), help="Compare this many times k candidates exactly.")
@click.option("--queries", type=click.IntRange(min=2), default=100, show_default=True, help="Number of searches.")
@screen.output_option
def recall(
    table: str, column: str | None, k: int, nprobes: str | None, refine: int | None, queries: int, output: str
) -> None:
    """Measures the recall of the vector index of TABLE, by number of searched partitions.

    \b
    lance-sql recall images.lance --column embedding --nprobes 1,10,50
    """
    import pyarrow as pa

    from lance_sql.cli import tables
    from lance_sql.reads.search.recall import NPROBES, recalls

    probes: list[int | None] = [*NPROBES, None]
    if nprobes is not None:
        try:
            probes = [None if each.strip() == "auto" else int(each) for each in nprobes.split(",")]
        except ValueError:
            raise click.BadParameter("it is not a list such as 1,5,auto", param_hint="--nprobes") from None
    snapshot = tables.open_table(table).snapshot
    measured = recalls(snapshot, column, k=k, nprobes=probes, refine_factor=refine, num_queries=queries)
    result = pa.table(
        {
            "nprobes": ["auto" if each.nprobes is None else str(each.nprobes) for each in measured],
            "recall": [round(each.share, 4) for each in measured],
            "milliseconds": [round(each.milliseconds, 2) for each in measured],
        }
    )
    screen.show(result.to_reader(), output)
