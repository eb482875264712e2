"""Types of columns, JSON of three sizes among them, against pylance: each is written, read, filtered, taken, updated,
compacted and read through DuckDB. Ratios below 1: we are faster. Reads are repeated with one handle; a change
has a fresh copy of the table in each run.

Tables have ids and one column, a tenth of it NULL, in ten files; they are made by pylance. Members of JSON are filtered
without an index, and with one that pylance has built.

python -m benchmarks.types --rows 100000 --only json
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.indices import IndexConfig

import lance_sql

from .measure import medians, parser, print_versions
from .operation_verbs import Verb, count, everything
from .operations import HEADER, LINE, compared, same
from .tables import FILES, NULL_SHARE, cached, columns

TAKEN: Final = 500
DOCUMENTS: Final = {"json 30 bytes": (8, 1), "json 400 bytes": (380, 1), "json 20 kB": (20_000, 50)}
"""Bytes of the longest member, and the divisor of the number of rows."""

_READS: Final = lance_sql.connect()
_OTHERS: Final = duckdb.connect()


def numbers(rows: int) -> dict[str, pa.Array]:
    """Types whose values are numbers in storage, beside those of `tables.columns`."""
    rng = np.random.default_rng(11)
    few, many = pa.array(rng.integers(0, 100, rows)), pa.array(rng.integers(0, 10**9, rows))
    types = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.decimal256(50, 2), pa.duration("us")]
    types += [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.time64("us")]
    made = {str(type): (few if type == pa.uint8() else many).cast(type, safe=False) for type in types}
    made["time32[ms]"] = pc.cast(few, pa.int32()).cast(pa.time32("ms"))
    made["halffloat"] = pa.array(rng.random(rows).astype(np.float16))
    return made


def texts(rows: int) -> dict[str, pa.Array]:
    """Types of text, bytes and nested values."""
    rng = np.random.default_rng(12)
    words = pc.binary_join_element_wise("word ", pa.array(rng.integers(0, 10**6, rows)).cast(pa.string()), "")
    bytes_of_16 = pa.array([each.tobytes() for each in rng.integers(0, 256, (rows, 16), np.uint8)], pa.binary(16))
    inside = pa.StructArray.from_arrays([pa.array(rng.integers(0, 100, rows))], ["a"])
    offsets = pa.array(np.arange(rows + 1), pa.int32())
    return {
        "large_string": words.cast(pa.large_string()),
        "large_binary": words.cast(pa.large_binary()),
        "extension uuid": pa.ExtensionArray.from_storage(pa.uuid(), bytes_of_16),
        "list of structs": pa.ListArray.from_arrays(offsets, inside),
    }


def documents(rows: int, longest: int) -> pa.Array:
    """Documents with a number, a word and a text."""
    rng = np.random.default_rng(13)
    found = rng.integers(0, 1000, rows).tolist()
    made = [json.dumps({"n": n, "s": f"w{n % 50}", "t": "x" * longest}) for n in found]
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(made))


def kinds(rows: int) -> dict[str, Callable[[], pa.Array]]:
    """Columns by name, made when they are needed."""
    made = {**columns(rows, nullable=False), **numbers(rows), **texts(rows)}
    return {
        **{name: lambda column=column: column for name, column in made.items()},
        **{
            name: lambda longest=longest, share=share: documents(max(rows // share, FILES), longest)
            for name, (longest, share) in DOCUMENTS.items()
        },
    }


def table_of(column: pa.Array) -> pa.Table:
    """A table of ids and a column with NULLs."""
    valid = pa.array(np.random.default_rng(14).random(len(column)) >= NULL_SHARE)
    places = pc.if_else(valid, pa.array(np.arange(len(column))), None)
    return pa.table({"id": np.arange(len(column)), "c": column.take(places)})


def make(folder: Path, name: str, rows: pa.Table, *, index: bool = False) -> Path:
    """The table of a column, with an index on its member n if it is asked for."""

    def write(to: Path) -> None:
        step = -(-rows.num_rows // FILES)
        made = lance.write_dataset(
            rows, to, max_rows_per_file=step, data_storage_version="2.2", enable_stable_row_ids=not index
        )
        if index:
            config = IndexConfig("json", {"target_index_type": "btree", "path": "n"})
            made.create_scalar_index("c", config, name="n")

    kind = name.replace(" ", "_") + ("_indexed" if index else "")
    return cached(folder / f"types_{kind}_{rows.num_rows}.lance", write)


def condition(rows: pa.Table) -> str:
    """A filter on the column for one of its values, as both write it; one on the ids for other types."""
    type = rows.schema.field("c").type
    value = rows["c"].drop_null()[len(rows) // 3]
    if pa.types.is_integer(type) or pa.types.is_float64(type):
        return f"c = {value.as_py()}"
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        return f"c = '{value.as_py()}'"
    if pa.types.is_boolean(type):
        return "c"
    if pa.types.is_date32(type):
        return f"c = DATE '{value.as_py()}'"
    return "id % 100 = 3"


def stored(_: Path, returned: Any) -> pa.Table:
    """The values of a result, in types of storage, in the order of ids."""
    return pa.table([_stored(each.combine_chunks()) for each in returned.columns], returned.column_names)


def _stored(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        return values.storage
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def verbs(rows: pa.Table) -> Iterator[Verb]:
    """The verbs over the table of a column."""
    taken = np.sort(np.random.default_rng(15).integers(0, rows.num_rows, TAKEN)).tolist()

    def reading(name: str, columns: list[str], filter: str | None = None) -> Verb:
        return Verb(
            name,
            "",
            lambda table: table.scan(columns, filter).to_table(),
            lambda table: table.to_table(columns, filter=filter),
            stored,
            changes=False,
        )

    yield Verb(
        "write",
        "",
        lambda table: lance_sql.write(rows, table.uri, mode="overwrite"),
        lambda table: lance.write_dataset(rows, table.uri, mode="overwrite"),
    )
    yield reading("read", ["c"])
    yield reading("IS NOT NULL", ["id"], "c IS NOT NULL")
    yield reading("filter", ["id", "c"], condition(rows))
    yield Verb(
        f"take {TAKEN} rows",
        "",
        lambda table: table.take(taken, ["c"]),
        lambda table: table.take(taken, columns=["c"]),
        stored,
        changes=False,
    )
    yield Verb(
        "update of ids",
        "",
        lambda table: table.update({"id": "id + 0"}, "id % 100 = 3"),
        lambda table: table.update({"id": "id + 0"}, "id % 100 = 3"),
        everything,
    )
    yield Verb(
        "compact",
        "",
        lambda table: table.maintenance.compact(),
        lambda table: table.optimize.compact_files(),
        count,
    )
    yield Verb("DuckDB", "", through_ours, through_pylance, lambda _, found: found.num_rows, changes=False)


def through_ours(table: Any) -> pa.Table:
    """Reads the column in DuckDB."""
    return _READS.sql(f"SELECT c FROM lance_scan('{table.uri}')").to_arrow_table()


def through_pylance(table: Any) -> pa.Table:
    """Reads the column in DuckDB."""
    _OTHERS.register("peer", table)
    return _OTHERS.sql("SELECT c FROM peer").to_arrow_table()


def of_member(name: str) -> Verb:
    """A filter on a member of JSON."""
    filter = "json_get_int(c, 'n') = 7"
    return Verb(
        name,
        "",
        lambda table: table.scan(["id"], filter).to_table(),
        lambda table: table.to_table(["id"], filter=filter),
        stored,
        changes=False,
    )


def repeated(verb: Verb, path: Path, runs: int) -> None:
    """Prints one line about a verb that changes nothing."""
    ours, others = lance_sql.open(path), lance.dataset(path)
    if not same(verb.answer(path, verb.ours(ours)), verb.answer(path, verb.pylance(others))):
        raise AssertionError(f"{verb.name}: the answers differ")
    times = medians({"ours": partial(verb.ours, ours), "pylance": partial(verb.pylance, others)}, runs)
    ratio = times["ours"] / times["pylance"]
    print(f"{verb.name:<44}{times['ours']:>9.1f} {times['pylance']:>9.1f} {ratio:>7.2f}", flush=True)


def main() -> None:
    arguments = parser(__doc__, 1_000_000)
    arguments.add_argument("--only", action="append", help="types whose names have this in them")
    given = arguments.parse_args()
    print_versions("pylance", "duckdb")
    print(HEADER)
    for name, column in kinds(given.rows).items():
        if given.only and not any(part in name for part in given.only):
            continue
        rows = table_of(column())
        plain = make(given.data, name, rows)
        timed = [(verb, plain) for verb in verbs(rows)]
        if name in DOCUMENTS:
            timed.append((of_member("member filter"), plain))
            timed.append((of_member("member filter, BTREE"), make(given.data, name, rows, index=True)))
        for verb, path in timed:
            named = replace(verb, name=f"{name}, {verb.name}")
            try:
                if verb.changes:
                    compared(named, path, given.data / "types", given.runs, LINE)
                else:
                    repeated(named, path, given.runs)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, duckdb.Error, OSError) as error:
                print(f"{named.name:<44}{str(error).splitlines()[0][:80]}", flush=True)


if __name__ == "__main__":
    main()
