"""`lance-sql cache`: the local disk cache of tables in object stores."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from lance_sql.cli import screen


@click.command(short_help="Shows or clears the cache of remote tables.")
@click.option(
    "--folder", metavar="FOLDER", help="Folder of the cache; default: $LANCE_SQL_CACHE, or the user's cache folder."
)
@click.option("--clear", is_flag=True, help="Clear the cache.")
@click.option("--output", "-o", type=click.Choice(("table", "json", "csv", "markdown")), default="table")
def cache(folder: str | None, clear: bool, output: str) -> None:
    """Shows the local cache of tables in object stores, or clears it.

    \b
    lance-sql cache
    lance-sql cache --clear
    """
    import pyarrow as pa

    from lance_sql.store.access import Access
    from lance_sql.store.cached import cache_in

    disk_cache = cache_in(folder or str(Access.of(cache=True).cache))
    if clear:
        count = disk_cache.clear()
        click.echo(f"Removed {count} file{'' if count == 1 else 's'} from {disk_cache.folder}.", err=True)
        return
    tables: dict[str, list[tuple[int, int, float]]] = {}
    for each in disk_cache.files():
        tables.setdefault(each.uri, []).append((each.size, each.cached_bytes, each.used))
    rows = [
        {
            "table": uri,
            "files": len(files),
            "size": sum(size for size, _, _ in files),
            "kept": sum(held for _, held, _ in files),
            "used": datetime.fromtimestamp(max(used for _, _, used in files), UTC),
        }
        for uri, files in tables.items()
    ]
    schema = pa.schema(
        [
            ("table", pa.string()),
            ("files", pa.int64()),
            ("size", pa.int64()),
            ("kept", pa.int64()),
            ("used", pa.timestamp("s", "UTC")),
        ]
    )
    table = pa.Table.from_pylist(rows, schema)
    screen.show(pa.RecordBatchReader.from_batches(schema, table.to_batches()), output)


VERBS = (cache,)
