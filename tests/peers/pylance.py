"""Runs calls of pylance, and the calls of this library that stand for them, on copies of the same table.

    python -m tests.peers.pylance

A call is `equal` if both give the same rows, values or kind of failure, and `different` if they do not. One that this
library does not have is `documented` by its row of docs/from-pylance.md. The calls are what tests of pylance make; the
lists of `tests.peers.calls` hold them.
"""

from __future__ import annotations

import ast
import math
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lance_sql
from lance_sql.errors import LanceError

from .calls import CALLS, Call, make_table

PAGES: Final = tuple(
    Path(__file__).parents[2] / "docs" / name for name in ("from-pylance.md", "search.md", "limits.md")
)


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    kind: equal, different or documented
    """

    call: Call
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Failure:
    """The result of a code that raises an error; only that it does is compared."""

    error: Exception

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure)

    __hash__ = None  # type: ignore[assignment]  # typeshed says a method


def run(call: Call, folder: Path) -> Outcome:
    """Runs both codes of a call.

    folder: empty
    """
    make_table(call.table, folder / "theirs.lance")
    shutil.copytree(folder / "theirs.lance", folder / "ours.lance")
    if call.ours is None:
        is_said = any(call.row in page.read_text() for page in PAGES)
        return Outcome(call, "documented" if is_said else "different", "" if is_said else f"no page says {call.row!r}")
    theirs = _evaluated(call.theirs, _names(folder) | {"ds": lance.dataset(folder / "theirs.lance")})
    ours = _evaluated(call.ours, _names(folder) | {"t": lance_sql.open(folder / "ours.lance")})
    if isinstance(theirs, Failure) and not call.fails:
        return Outcome(call, "different", f"pylance: {theirs.error}")
    if isinstance(ours, Failure) and not isinstance(ours.error, LanceError | TypeError):
        return Outcome(call, "different", f"not an error of this library: {ours.error!r}")
    is_equal = are_equal(theirs, ours)
    return Outcome(call, "equal" if is_equal else "different", "" if is_equal else f"{ours} for {theirs}")


def _names(folder: Path) -> dict[str, Any]:
    modules = {"lance": lance, "lance_sql": lance_sql, "np": np, "pa": pa, "pc": pc, "timedelta": timedelta}
    rng = np.random.default_rng(7)
    return modules | {
        "folder": folder,
        "rows": pa.table({"id": [3, 1000], "a": [-1, -2]}),
        "q": rng.random(8, np.float32),
    }


def _evaluated(code: str, names: dict[str, Any]) -> Any:
    """Runs lines of code; returns the comparable form of the last one."""
    *before, last = ast.parse(code).body
    assert isinstance(last, ast.Expr), code
    try:
        with redirect_stderr(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(ast.Module(before, []), "<call>", "exec"), names)
            return comparable(eval(compile(ast.Expression(last.value), "<call>", "eval"), names))
    except Exception as error:
        return Failure(error)


def comparable(value: Any) -> Any:
    """Returns plain values of a result; for tables, the names and types of columns as well."""
    if isinstance(value, lance.LanceDataset | lance_sql.Dataset):
        value = value.to_table()
    if isinstance(value, pa.RecordBatchReader):
        value = value.read_all()
    if isinstance(value, pa.RecordBatch):
        value = pa.Table.from_batches([value])
    if isinstance(value, pa.Table):
        return {field.name: (str(field.type), value[field.name].to_pylist()) for field in value.schema}
    if isinstance(value, pa.Schema):
        return {field.name: (str(field.type), field.nullable, comparable(field.metadata)) for field in value}
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Mapping):
        return {comparable(key): comparable(each) for key, each in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Iterable):
        return [comparable(each) for each in value]
    return value


def are_equal(theirs: Any, ours: Any) -> bool:
    """Whether two comparable results are the same. Floating-point numbers may differ in the last digits."""
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(theirs, ours, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(theirs) and math.isnan(ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return list(theirs) == list(ours) and all(are_equal(theirs[key], ours[key]) for key in theirs)
    if isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        return len(theirs) == len(ours) and all(map(are_equal, theirs, ours))
    return bool(type(theirs) is type(ours) and theirs == ours)


def run_all(calls: Iterable[Call] = CALLS) -> list[Outcome]:
    """Runs calls, each in a folder of its own."""
    outcomes = []
    for call in calls:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(call, Path(folder))
        outcomes.append(replace(outcome, detail=outcome.detail[:400]))
    return outcomes


def main() -> None:
    """Prints what is not equal, and the counts."""
    outcomes = run_all()
    for each in outcomes:
        if each.kind != "equal":
            print(f"{each.kind}: {each.call.theirs}\n    {each.call.ours or each.call.row}\n    {each.detail}")
    counts = Counter(each.kind for each in outcomes)
    print(dict(counts), len(outcomes))


if __name__ == "__main__":
    main()
