"""`lance-sql search`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lance_sql.cli import screen
from lance_sql.cli.options import BOUND, NAMES, branch_option

if TYPE_CHECKING:
    from lance_sql.changes.answer_scan import AnswerScan
    from lance_sql.dataset import Dataset


@click.command(short_help="Searches TABLE by words, vectors, or both.")
@click.argument("table")
@click.argument("words", required=False)
@click.option("--vector", metavar="JSON", help="Query vector, as '[0.1, 0.2, ..]', or a list of vectors.")
@click.option(
    "--like-row", type=click.IntRange(min=0), metavar="ROWID", help="Use the vector of this row as the query."
)
@click.option("--column", help="Vector column.")
@click.option("--text-column", help="Text column.")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="Number of rows.")
@click.option("--where", "-w", metavar="SQL", help="Filter, applied before ranking.")
@click.option(
    "--since", type=BOUND, metavar="WHEN", help="Search only rows that changed after this version, tag or time."
)
@click.option(
    "--changes-since",
    type=BOUND,
    metavar="WHEN",
    help="Show the changes of the result since this version, tag or time: new, changed and gone rows.",
)
@click.option("--metric", help="l2, cosine, dot or hamming.")
@click.option("--nprobes", type=click.IntRange(min=1), help="Partitions of the index to search.")
@click.option("--refine", type=click.IntRange(min=1), help="Compare this many times k candidates exactly.")
@click.option("--exact", is_flag=True, help="Compare every row, ignoring indices.")
@click.option("--columns", type=NAMES, help="Columns to show, separated by commas; default: all but vectors.")
@branch_option
@click.option("--explain", is_flag=True, help="Explain the search instead of running it.")
@screen.output_option
@screen.html_option
def search(
    table: str,
    words: str | None,
    vector: str | None,
    like_row: int | None,
    column: str | None,
    text_column: str | None,
    k: int,
    where: str | None,
    since: int | str | None,
    changes_since: int | str | None,
    metric: str | None,
    nprobes: int | None,
    refine: int | None,
    exact: bool,
    columns: list[str] | None,
    branch: str | None,
    explain: bool,
    output: str,
    html: str | None,
) -> None:
    """Searches TABLE by words, by vectors, or both; best rows first.

    \b
    lance-sql search articles.lance "quick fox"
    lance-sql search images.lance --vector '[0.1, 0.9, 0.3]'
    lance-sql search images.lance@41 --like-row 17 -k 5 --where "kind = 'cat'"
    lance-sql search articles.lance "quick fox" --changes-since 41
    lance-sql search articles.lance "quick fox" --html found.html
    """
    from lance_sql.cli import tables
    from lance_sql.reads.search import Nearest, SearchScan, Words

    if vector is not None and like_row is not None:
        raise click.UsageError("Give --vector or --like-row.")
    if words is None and vector is None and like_row is None:
        raise click.UsageError("Give words, --vector or --like-row.")
    dataset = tables.open_table(table, branch=branch)
    query = _query_vector(dataset, vector, like_row, column)
    use_index = False if exact else None
    queries: list[Nearest | Words] = []
    if query is not None:
        queries.append(Nearest(query, column, metric, nprobes, refine, use_index=use_index))
    if words is not None:
        queries.append(Words(words, text_column, use_index))
    answer: SearchScan | AnswerScan
    if changes_since is None:
        answer = dataset.search(*queries, k=k, columns=columns, filter=where, since=since)
    elif since is None:
        answer = dataset.search_changes(*queries, k=k, columns=columns, filter=where, since=changes_since)
    else:
        raise click.UsageError("Give either --since, to search changed rows, or --changes-since, to compare results.")
    if columns is None:
        from lance_sql.reads.search import is_vector

        # vectors have hundreds of numbers
        shown = [each.name for each in answer.schema if not is_vector(each.type) and each.name != "_rowid"]
        answer = answer.rows.scan(shown) if isinstance(answer, SearchScan) else answer.changes.scan(shown)
    if html is not None:
        screen.write_page(html, answer.to_html())
    elif explain:
        click.echo(answer.explain())
    else:
        screen.show(answer.to_reader(), output)


def _query_vector(dataset: Dataset, vector: str | None, like_row: int | None, column: str | None) -> Any:
    """Returns the vector, or the list of vectors, to search for; None to search by words alone.

    raises: click.BadParameter for text that is no vector
    """
    from lance_sql.reads.search import vector_column

    if vector is not None:
        try:
            return json.loads(vector)
        except ValueError:
            raise click.BadParameter("it is not a list of numbers, such as [0.1, 0.2]", param_hint="--vector") from None
    if like_row is None:
        return None
    return dataset.take([like_row], [column or vector_column(dataset.snapshot)]).column(0)[0].as_py()
