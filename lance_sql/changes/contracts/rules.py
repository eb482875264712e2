"""Syntax of rules, and their keys in the config of the table.

unique(id, day)                                no two rows have the same key; a key with a NULL equals no other
not_null(id, status)
accepted_values(status, 'open', 'paid')        NULL is accepted
foreign_key(customer, 'customers.lance', id)   a reference to another table, beside this one unless the path is absolute
freshness(loaded_at, '1d')                     the newest value is not older than that
row_count_change(-0.1, 0.5)                    bounds of the relative change of the row count since the version before
amount >= 0 OR status = 'cancelled'            anything else is a condition that no row breaks; NULL does not break it

config  lance_sql.rule.<name> = {"rule": "unique(id)", "severity": "error", "enforce": true}
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa

from lance_sql.changes.contracts import sense
from lance_sql.errors import InvalidArgument, LanceError, VersionNotFound
from lance_sql.format.casts.json_texts import text_as_returned
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import unknown_name
from lance_sql.values import names
from lance_sql.values.durations import parse_age
from lance_sql.values.records import Record
from lance_sql.values.sql_text import identifier
from lance_sql.writes.statements import maintenance

if TYPE_CHECKING:
    import sqlglot.expressions as exp

Severity: TypeAlias = Literal["error", "warn"]

PREFIX: Final = "lance_sql.rule."
SEVERITIES: Final = ("error", "warn")
CONDITION: Final = "condition"
UNUSABLE: Final = "unusable"
"""Kind of a rule that the columns of the table do not allow, such as those that another library renamed."""
_CALL: Final = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Rule(Record):
    """One rule of a contract.

    text: the rule as typed
    severity: "error" stops a publication, "warn" does not
    kind: one of `KINDS`, "condition", or "unusable"
    columns: the columns of the rule; none for a condition
    values: its other arguments, as Python values
    enforce: whether commits of this library that break it are rejected
    problem: why it cannot be checked; empty if it can
    """

    name: str
    text: str
    severity: Severity
    kind: str
    columns: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    enforce: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Arguments of a kind of rule.

    columns: the minimum and maximum number of columns
    check: checks the other arguments; returns the problem, or None
    """

    columns: tuple[int, int]
    check: Callable[[Sequence[Any]], str | None]


def _nothing(values: Sequence[Any]) -> str | None:
    return "takes columns alone" if values else None


def _some(values: Sequence[Any]) -> str | None:
    return None if values else "takes a column and the values that are accepted"


def _other_column(values: Sequence[Any]) -> str | None:
    good = len(values) == 1 and isinstance(values[0], str)
    return None if good else "takes a column, the path of a table, and a column of that table"


def _age(values: Sequence[Any]) -> str | None:
    try:
        good = len(values) == 1 and isinstance(parse_age(values[0]), timedelta)
    except (InvalidArgument, TypeError):
        good = False
    return None if good else "takes a column and an age such as '1d', '12h' or '90m'"


def _bounds(values: Sequence[Any]) -> str | None:
    good = len(values) == 2 and all(isinstance(value, int | float) for value in values) and values[0] <= values[1]
    return None if good else "takes two shares, the lower one first"


KINDS: Final[Mapping[str, _Kind]] = {
    "unique": _Kind((1, 64), _nothing),
    "not_null": _Kind((1, 64), _nothing),
    "accepted_values": _Kind((1, 1), _some),
    "foreign_key": _Kind((2, 2), _other_column),
    "freshness": _Kind((1, 1), _age),
    "row_count_change": _Kind((0, 0), _bounds),
}


def parse_rule(name: str, text: str, severity: str, snapshot: Snapshot) -> Rule:
    """Parses a rule for a table.

    raises: InvalidArgument, ColumnNotFound; UnsupportedFeature for SQL that filters do not have
    """
    names.check(name, "rule")
    if severity not in SEVERITIES:
        raise InvalidArgument(f"severity={severity!r} is not one of {', '.join(map(repr, SEVERITIES))}")
    call = _CALL.fullmatch(text)
    kind = KINDS.get(call[1].lower()) if call is not None else None
    if call is not None and kind is None and (close := difflib.get_close_matches(call[1].lower(), KINDS, 1, 0.75)):
        raise InvalidArgument(f"No kind of rule {call[1]!r}. Did you mean {close[0]!r}?")
    if call is None or kind is None:
        # errors are raised now, not when the rule is checked
        _ = to_predicate(snapshot, text), to_predicate(snapshot, negated(text))
        return Rule(name, text.strip(), _severity(severity), CONDITION)
    kind_name = call[1].lower()
    columns, values = _arguments(text, kind_name)
    problem = kind.check(values)
    if problem is not None or not kind.columns[0] <= len(columns) <= kind.columns[1]:
        raise InvalidArgument(f"{text.strip()!r}: {kind_name} {problem or 'takes another number of columns'}")
    for column in columns if kind_name != "foreign_key" else columns[:1]:
        snapshot.manifest.schema.resolve(column, table=snapshot.label)
    if kind_name == "accepted_values" and snapshot.manifest.schema.is_json(columns[0]):
        values = [text_as_returned(value) if isinstance(value, str) else value for value in values]
    return Rule(name, text.strip(), _severity(severity), kind_name, tuple(columns), tuple(values))


def parse_stored(name: str, text: str, severity: str, snapshot: Snapshot) -> Rule:
    """Parses a rule that was set for earlier columns of a table.

    raises: as `parse_rule`; InvalidArgument for accepted values that the type of the column does not have
    """
    rule = parse_rule(name, text, severity, snapshot)
    if rule.kind == "accepted_values":
        _ = to_predicate(snapshot, unaccepted(rule))
    return rule


def negated(condition: str) -> str:
    """Returns the filter for rows that break a condition."""
    # the condition may end with a comment
    return f"NOT ({condition}\n)"


def unaccepted(rule: Rule) -> str:
    """Returns the filter for rows with other values than the accepted ones."""
    return f"{quoted(rule.columns[0])} NOT IN ({', '.join(map(literal, rule.values))})"


def read_rules(snapshot: Snapshot) -> dict[str, Rule]:
    """Returns the rules of a version, by name. A rule that cannot be read, or that the columns of the table no longer
    allow, is `UNUSABLE`."""
    return {
        key.removeprefix(PREFIX): _read_rule(key.removeprefix(PREFIX), value, snapshot)
        for key, value in sorted(snapshot.manifest.config.items())
        if key.startswith(PREFIX)
    }


def _read_rule(name: str, value: str, snapshot: Snapshot) -> Rule:
    content: Any = None
    try:
        content = json.loads(value)
        rule = parse_stored(name, content["rule"], content["severity"], snapshot)
        return replace(rule, enforce=content.get("enforce") is True)
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError) as error:
        given = content if isinstance(content, dict) else {}
        text, severity = given.get("rule"), str(given.get("severity"))
        reason = error.message if isinstance(error, LanceError) else str(error)
        return Rule(
            name,
            text if isinstance(text, str) else value[:200],
            "warn" if severity == "warn" else "error",
            UNUSABLE,
            enforce=given.get("enforce") is True,
            problem=f"it cannot be checked ({reason}); set it again, or drop it",
        )


def is_enforced(entry: tuple[str, str]) -> bool:
    """Whether an entry of the config may be an enforced rule. Cheap; False is certain."""
    return entry[0].startswith(PREFIX) and '"enforce"' in entry[1]


def set_rule(
    snapshot: Snapshot,
    name: str,
    text: str,
    severity: str,
    enforce: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Adds a rule to the newest version of the branch, or replaces the rule of this name.

    raises: as `parse_rule`; InvalidArgument for an enforced rule that only warns; CommitConflict
    """
    if enforce and severity == "warn":
        raise InvalidArgument("A rule with severity='warn' cannot be enforced: leave one of the two out")
    latest = snapshot.latest()
    rule = parse_rule(name, text, severity, latest)
    filter = unaccepted(rule) if rule.kind == "accepted_values" else None
    sense.check(rule.kind, rule.columns, rule.values, filter, latest)
    content: dict[str, Any] = {"rule": rule.text, "severity": rule.severity}
    if enforce:
        content["enforce"] = True
    return maintenance.update_config(snapshot, {PREFIX + name: json.dumps(content, ensure_ascii=False)}, properties)


def drop_rule(snapshot: Snapshot, name: str, properties: Mapping[str, str] | None = None) -> Snapshot:
    """Removes a rule.

    raises: VersionNotFound if there is none of this name; CommitConflict
    """
    latest = snapshot.latest()
    names = [key.removeprefix(PREFIX) for key in latest.manifest.config if key.startswith(PREFIX)]
    if name not in names:
        raise VersionNotFound(unknown_name("rule", name, latest.name, names))
    return maintenance.update_config(snapshot, {PREFIX + name: None}, properties)


def _severity(text: str) -> Severity:
    return "error" if text == "error" else "warn"


def _arguments(text: str, kind: str) -> tuple[list[str], list[Any]]:
    """Returns the columns in a call, and its other arguments.

    raises: InvalidArgument
    """
    import sqlglot
    import sqlglot.expressions as exp

    try:
        call = sqlglot.parse_one(f"rule_{text.strip()}", dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise InvalidArgument(f"Cannot read the rule {text.strip()!r}") from error
    if not isinstance(call, exp.Anonymous):
        raise InvalidArgument(f"Cannot read the rule {text.strip()!r}: {kind}(...) cannot be part of an expression")
    columns, values = [], []
    for each in call.expressions:
        if isinstance(each, exp.Column):
            columns.append(".".join(part.name for part in each.parts))
        else:
            values.append(_value(each, text))
    return columns, values


def _value(node: exp.Expression, text: str) -> Any:
    import sqlglot.expressions as exp

    if isinstance(node, exp.Literal):
        return node.name if node.is_string else json.loads(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -json.loads(node.this.name)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    raise InvalidArgument(f"Cannot read the rule {text.strip()!r}: its arguments must be columns, strings or numbers")


def quoted(column: str) -> str:
    """Quotes a column name for SQL; `a.b` is a member of a struct."""
    return ".".join(map(identifier, column.split(".")))


def literal(value: Any) -> str:
    """Returns a value as an SQL literal."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def as_table(rules: Mapping[str, Rule]) -> pa.Table:
    listed = list(rules.values())
    return pa.table(
        {
            "rule": pa.array([rule.name for rule in listed], pa.string()),
            "text": pa.array([rule.text for rule in listed], pa.string()),
            "severity": pa.array([rule.severity for rule in listed], pa.string()),
            "kind": pa.array([rule.kind for rule in listed], pa.string()),
            "enforce": pa.array([rule.enforce for rule in listed], pa.bool_()),
        }
    )
