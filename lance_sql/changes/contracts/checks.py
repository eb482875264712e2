"""Violations of rules, in all rows of a version or in those that changed since another.

For changed rows, a condition, `not_null`, `accepted_values` and `foreign_key` read only these rows. `unique` also reads
the rows that have their keys.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes import bounds
from lance_sql.changes.bounds import Bound
from lance_sql.changes.contracts.checked_rows import MAX_EXAMPLES, CheckedChanges, CheckedRows, ProposedRows, scan
from lance_sql.changes.contracts.contract_report import ContractReport, RuleResult
from lance_sql.changes.contracts.rules import CONDITION, UNUSABLE, Rule, negated, quoted, read_rules, unaccepted
from lance_sql.changes.contracts.sense import missing, referenced_table
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.key_matching import match
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection, value_text
from lance_sql.values.arrays import I64
from lance_sql.values.durations import parse_age
from lance_sql.values.keys import number


def check(
    snapshot: Snapshot,
    since: Bound | None = None,
    names: Sequence[str] | None = None,
    *,
    rules_of: Snapshot | None = None,
) -> ContractReport:
    """Checks the rules of a version.

    since: a version, tag or time: rows that have not changed after it are assumed to satisfy the rules
    names: the rules to check; all by default
    rules_of: the version that has the rules, if it is not the checked one
    raises: InvalidArgument, VersionNotFound, CorruptFile
    """
    rules = read_rules(rules_of or snapshot)
    unknown = [name for name in names or () if name not in rules]
    if unknown:
        known = f"Rules: {', '.join(rules)}" if rules else "It has none: rules.set (lance-sql rules) adds one"
        raise InvalidArgument(f"{snapshot.name} has no rule {unknown[0]!r}. {known}")
    chosen = [rule for name, rule in rules.items() if names is None or name in names]
    if since is None:
        return _report(snapshot.label, None, chosen, CheckedRows(snapshot))
    first, _ = bounds.resolve(BranchHistory(snapshot), None, None, since)
    # rows rewritten without a change break no rule either, and need not be found
    feed = ChangeFeed(snapshot, since=first - 1, mode="net")
    return _report(snapshot.label, first - 1, chosen, CheckedChanges(snapshot, feed))


def check_proposed(latest: Snapshot, proposed: Snapshot, rules: Sequence[Rule]) -> ContractReport:
    """Checks rules on a proposed version: on the rows of files that the newest version does not have.

    latest: the newest version, whose rows are assumed to satisfy the rules
    raises: CorruptFile, and what the store raises
    """
    return _report(proposed.label, latest.version, rules, ProposedRows(latest, proposed))


def _report(table: str, since: int | None, rules: Sequence[Rule], rows: CheckedRows) -> ContractReport:
    results = []
    for rule in rules:
        started = time.perf_counter()
        breach = _CHECKS[rule.kind](rule, rows)
        seconds = time.perf_counter() - started
        results.append(RuleResult(rule, not breach.message, breach.count, breach.message, breach.examples, seconds))
    return ContractReport(table, since, tuple(results))


@dataclass(frozen=True)
class _Breach:
    """Violation of a rule; without a message, the rule is satisfied."""

    message: str = ""
    count: int | None = 0
    examples: pa.Table | None = None


def _filtered(rows: CheckedRows, filter: str, one: str, several: str) -> _Breach:
    """Returns the rows that pass a filter as a violation. one, several: wordings of the violation"""
    count = rows.count(filter)
    if not count:
        return _Breach()
    examples = rows.examples(filter)
    return _Breach(f"{_number(count)} {one if count == 1 else several}, such as {_shown(examples)}", count, examples)


def _condition(rule: Rule, rows: CheckedRows) -> _Breach:
    return _filtered(rows, negated(rule.text), "breaks it", "break it")


def _not_null(rule: Rule, rows: CheckedRows) -> _Breach:
    return _filtered(rows, " OR ".join(f"{quoted(column)} IS NULL" for column in rule.columns), "has NULL", "have NULL")


def _accepted_values(rule: Rule, rows: CheckedRows) -> _Breach:
    return _filtered(rows, unaccepted(rule), "has another value", "have another value")


def _unique(rule: Rule, rows: CheckedRows) -> _Breach:
    names = list(rule.columns)
    keys = rows.table(names)
    numbers = number(keys, nulls_are_equal=False)
    distinct, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    if rows.is_part and len(distinct):
        first = np.sort(first)
        counts = _counts(rows.snapshot, selection.take(keys, pa.array(first)))
    broken = np.flatnonzero(counts > 1)
    if not len(broken):
        return _Breach()
    examples = selection.take(keys, pa.array(first[broken[:MAX_EXAMPLES]]))
    what = "key is there several times" if len(broken) == 1 else "keys are there several times"
    return _Breach(
        f"{len(broken)} {what}, such as {_shown(examples)} ({int(counts[broken[0]])} rows)",
        int(counts[broken].sum()),
        examples,
    )


def _counts(snapshot: Snapshot, keys: pa.Table) -> I64:
    """Counts the rows of a version with each key."""
    names = keys.schema.names
    if set(names) <= set(snapshot.manifest.schema.names):
        matches = match(snapshot, keys, names, one_each=False)
        return np.bincount(matches.source, minlength=keys.num_rows)
    together = pa.concat_tables([keys, scan(snapshot, names, None, None).to_table()])
    numbers = number(together, nulls_are_equal=False)
    wanted, found = numbers[: keys.num_rows], numbers[keys.num_rows :]
    return np.bincount(found, minlength=int(numbers.max(initial=0)) + 1)[wanted]


def _foreign_key(rule: Rule, rows: CheckedRows) -> _Breach:
    column, other_column = rule.columns
    other = referenced_table(rows.snapshot, rule.values[0])
    # a change may remove what other rows of the same table refer to
    referring = CheckedRows(rows.snapshot) if other is rows.snapshot else rows
    values = referring.table([column]).column(0)
    referenced = scan(other, [other_column], None, None).to_table().column(0)
    left = missing(values, column, referenced, other_column)
    if not len(left):
        return _Breach()
    examples = pa.table({column: left.slice(0, MAX_EXAMPLES)})
    shown = ", ".join(map(repr, value_text.values(left.slice(0, MAX_EXAMPLES))))
    return _Breach(f"{_number(len(left), 'value')} not in {other_column} of {other.name}: {shown}", None, examples)


def _freshness(rule: Rule, rows: CheckedRows) -> _Breach:
    column, age = rule.columns[0], parse_age(rule.values[0])
    newest = None
    # changed rows are usually recent enough
    for looked_at in [rows, CheckedRows(rows.snapshot)] if rows.is_part else [rows]:
        times = looked_at.table([column]).column(0)
        if pa.types.is_timestamp(times.type):
            # Python has no nanoseconds
            times = times.cast(
                pa.timestamp("us" if times.type.unit == "ns" else times.type.unit, times.type.tz), safe=False
            )
        try:
            newest = pc.max(times).as_py()
        except OverflowError:
            # a time after the year 9999
            return _Breach()
        if newest is not None and datetime.now(UTC) - _moment(newest, column) <= age:
            return _Breach()
    if newest is None:
        return _Breach(f"{column} has no value", None)
    return _Breach(f"the newest {column} is {newest}, older than {rule.values[0]}", None)


def _moment(value: object, column: str) -> datetime:
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise InvalidArgument(f"freshness needs a column of dates or times; {column!r} is {type(value).__name__}")


def _row_count_change(rule: Rule, rows: CheckedRows) -> _Breach:
    base = rows.before
    if base is None:
        # the rows before are unknown
        return _Breach()
    before, now = (scan(each, (), None, None).count_rows() for each in (base, rows.snapshot))
    share = (now - before) / before if before else (0.0 if now == before else float("inf"))
    low, high = rule.values
    if low <= share <= high:
        return _Breach()
    return _Breach(f"{before} rows in version {base.version}, {now} now: a change of {share:+.1%}", None)


def _number(count: int, noun: str = "row") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _shown(examples: pa.Table) -> str:
    row = examples.slice(0, 1).to_pylist()[0]
    return ", ".join(f"{name}={value!r}"[:80] for name, value in list(row.items())[:6])


def _unusable(rule: Rule, rows: CheckedRows) -> _Breach:
    return _Breach(rule.problem, None)


_CHECKS: Final = {
    UNUSABLE: _unusable,
    CONDITION: _condition,
    "unique": _unique,
    "not_null": _not_null,
    "accepted_values": _accepted_values,
    "foreign_key": _foreign_key,
    "freshness": _freshness,
    "row_count_change": _row_count_change,
}
