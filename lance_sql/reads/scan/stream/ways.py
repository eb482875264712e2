"""The way in which a scan reads each column, and why, in lines for `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from lance_sql.format.file.column_rows import why_python
from lance_sql.reads.scan import null_pages
from lance_sql.reads.scan.batches import Cutting, runs
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.pieces import FragmentRun
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.stream.runs import how, why_none


def ways(plan: ReadPlan, fragments: Sequence[FragmentScan], batch_rows: int | None) -> list[str]:
    """Returns a line for each way, with the names of its columns: by the kernels, as a stream or as arrays, or by
    Python. Opens the pages.

    raises: CorruptFile, UnsupportedFeature
    """
    if plan.reads_nothing:
        return []
    without = why_none(plan, fragments, batch_rows)
    # by way, the names of columns: of one fragment in a line, even if it is read in several runs
    columns: dict[str, dict[str, None]] = {}
    counts: Counter[str] = Counter()
    for each in fragments:
        seen = set()
        for run in runs(plan, [each], Cutting(batch_rows)):
            for way, name in _ways_of(plan, run, without):
                columns.setdefault(way, {})[name] = None
                seen.add(way)
        counts.update(seen)
    total = len(fragments)
    return [
        f"{way}: {', '.join(names)}" + (f" (in {counts[way]} of {total} fragments)" if counts[way] < total else "")
        for way, names in columns.items()
    ]


def _ways_of(plan: ReadPlan, run: FragmentRun, without: str | None) -> Iterator[tuple[str, str]]:
    """Yields the way and the name of each column of a run.

    without: the reason why there is no stream
    """
    why_arrays = without or how(plan, run)
    plan = null_pages.answered(plan, [run.whole])
    for field in plan.fields:
        if not isinstance(why_arrays, str):
            yield "read by the kernels, as a stream", field.name
            continue
        columns = run.fragment.columns_of(field, plan.delivered.get(field.id))
        reason = next((why for column in columns if (why := why_python(column, run.rows)) is not None), None)
        if reason is None:
            yield f"read by the kernels, as arrays ({why_arrays})", field.name
        else:
            yield f"read by Python ({reason})", field.name
