"""Verbs and options that people know from other tools, and what they are here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERBS: Final[Mapping[str, str]] = {
    "add": "lance-sql write TABLE SOURCE --mode append",
    "append": "lance-sql write TABLE SOURCE --mode append",
    "branches": "lance-sql branch TABLE",
    "cat": "lance-sql head TABLE, or lance-sql \"FROM 'TABLE'\"",
    "checkout": 'TABLE@41 reads a version, as in lance-sql head TABLE@41; "lance-sql restore TABLE 41" returns to it',
    "clone": "lance-sql branch TABLE NAME, or lance-sql write NEW TABLE",
    "columns": "lance-sql schema TABLE",
    "commits": "lance-sql history TABLE",
    "copy": "lance-sql write NEW TABLE",
    "count": "lance-sql \"SELECT count(*) FROM 'TABLE'\"",
    "create": "lance-sql write TABLE SOURCE",
    "drop": "lance-sql \"DROP TABLE 'TABLE'\", which asks for confirmation",
    "evolve": "lance-sql \"ALTER TABLE 'TABLE' ADD COLUMN name TYPE\"",
    "expire": "lance-sql cleanup TABLE",
    "export": "lance-sql \"COPY (FROM 'TABLE') TO 'x.parquet'\"",
    "fsck": "lance-sql verify TABLE",
    "gc": "lance-sql cleanup TABLE",
    "grep": "lance-sql search TABLE WORDS, or lance-sql head TABLE --where SQL",
    "import": "lance-sql write TABLE SOURCE",
    "indexes": "lance-sql index list TABLE",
    "indices": "lance-sql index list TABLE",
    "info": "lance-sql describe TABLE",
    "insert": "lance-sql write TABLE SOURCE --mode append",
    "inspect": "lance-sql describe TABLE",
    "list": "lance-sql describe TABLE, or ls for the folder",
    "load": "lance-sql write TABLE SOURCE",
    "log": "lance-sql history TABLE",
    "ls": "ls of your shell lists a folder; lance-sql describe TABLE describes a table",
    "merge-into": "lance-sql merge TABLE SOURCE --on COLUMNS",
    "mv": "lance-sql \"ALTER TABLE 'TABLE' RENAME TO 'NEW'\"",
    "optimize": "lance-sql compact TABLE, or lance-sql maintain TABLE",
    "publish-branch": "lance-sql publish TABLE BRANCH",
    "purge": "lance-sql cleanup TABLE",
    "reindex": "lance-sql index optimize TABLE",
    "rename": "lance-sql \"ALTER TABLE 'TABLE' RENAME TO 'NEW'\"",
    "repl": "lance-sql without arguments",
    "revert": "lance-sql restore TABLE VERSION",
    "rm": "lance-sql \"DROP TABLE 'TABLE'\", which asks for confirmation",
    "rollback": "lance-sql restore TABLE VERSION",
    "select": 'lance-sql "SELECT .."',
    "shell": "lance-sql without arguments",
    "show": "lance-sql head TABLE for rows, lance-sql describe TABLE for the rest",
    "sql": 'lance-sql "SELECT .."',
    "stats": "lance-sql describe TABLE, lance-sql layout TABLE, or lance-sql \"SUMMARIZE FROM 'TABLE'\"",
    "status": "lance-sql describe TABLE",
    "tables": ".tables in the shell of lance-sql, or ls",
    "tags": "lance-sql tag TABLE",
    "tail": "lance-sql \"FROM 'TABLE' ORDER BY _rowid DESC LIMIT 10\"",
    "truncate": "lance-sql delete TABLE --all",
    "undo": "lance-sql restore TABLE VERSION",
    "upsert": "lance-sql merge TABLE SOURCE --on COLUMNS",
    "vacuum": "lance-sql cleanup TABLE for old versions, lance-sql compact TABLE for deleted rows",
    "validate": "lance-sql verify TABLE for damage, lance-sql check TABLE for rules",
    "view": "lance-sql materialize QUERY TABLE",
    "watch": "lance-sql changes TABLE --follow",
}

_OF_ANY: Final[Mapping[str, str]] = {
    "--as-of": "A time follows the table: TABLE@yesterday",
    "--append": "Use --mode append",
    "--by": "Use --key",
    "--count": "lance-sql \"SELECT count(*) FROM 'TABLE'\" counts rows",
    "--csv": "Use --output csv",
    "--delete-where": "Use --where",
    "--format": "Use --output",
    "--from": "Versions of a range are arguments, as in changes TABLE 5 6; others take --since",
    "--id": 'Rows are chosen by a condition: --where "id = 5"',
    "--job": "Name the job of a commit in the environment: LANCE_SQL_JOB=nightly lance-sql ..",
    "--json": "Use --output json",
    "--md": "Use --output markdown",
    "--overwrite": "Use --mode overwrite",
    "--partition-by": "Tables have no partitions: write sorted rows, or make an index",
    "--set": "New values are arguments: update TABLE \"status='paid'\" --where ..",
    "--sort": "Order rows in SQL: lance-sql \"FROM 'TABLE' ORDER BY column\"",
    "--tag": "A tag follows the table: TABLE@TAG",
    "--timestamp": "A time follows the table: TABLE@yesterday",
    "--to": "Versions of a range are arguments, as in changes TABLE 5 6",
    "--type": "Kinds of changes are chosen by a condition: --where \"_change_type = 'delete'\"",
    "--user": "Name the user of a commit in the environment: LANCE_SQL_USER=etl lance-sql ..",
    "--until": "Versions of a range are arguments, as in changes TABLE 5 6",
    "--version": "A version follows the table: TABLE@41",
}

_OF_VERBS: Final[Mapping[tuple[str, str], str]] = {
    ("diff", "--since"): "The other version is an argument: diff TABLE yesterday",
    ("diff", "--from"): "Versions are arguments: diff TABLE 5 6",
    ("diff", "--to"): "Versions are arguments: diff TABLE 5 6",
    ("diff", "--where"): "A diff has all rows: changes TABLE --where .. filters",
    ("check", "--rule"): 'lance-sql rules TABLE NAME "amount > 0" sets a rule, which check then checks',
    ("publish", "--branch"): "The branch is an argument: publish TABLE BRANCH",
    ("rules", "--add"): 'A name and a rule are arguments: rules TABLE NAME "amount > 0"',
    ("rules", "--set"): 'A name and a rule are arguments: rules TABLE NAME "amount > 0"',
    ("restore", "--version"): "The version is an argument: restore TABLE 41",
    ("restore", "--to"): "The version is an argument: restore TABLE 41",
    ("tag", "--version"): "The version is an argument: tag TABLE NAME 41",
    ("write", "--where"): 'Write a query: write TABLE "SELECT .. WHERE .."',
    ("write", "--format"): "The suffix of SOURCE names its format",
}

_SAME: Final[tuple[tuple[str, ...], ...]] = (
    ("--limit", "-k", "--rows", "--max-rows", "--num-rows", "--head", "--n", "--top"),
    ("--where", "--filter", "--condition", "--predicate"),
    ("--key", "--on", "--keys"),
    ("--columns", "--select", "--fields"),
    ("--keep", "--retain", "--retain-last", "--keep-last"),
    ("--older-than", "--retention", "--older", "--min-age"),
    ("--dry-run", "--plan", "--whatif", "--preview"),
    ("--quiet", "--silent", "--no-progress"),
    ("--output", "--out"),
    ("--target-rows", "--target-size", "--target-rows-per-fragment"),
)
"""Names of one option, in this and in other tools."""


def of_option(verb: str, name: str, known: frozenset[str]) -> str | None:
    """Returns the way out for an option that a verb lacks; None if none is known.

    known: the options of the verb
    """
    if (said := _OF_VERBS.get((verb, name))) is not None:
        return said
    for names in _SAME:
        if name in names:
            chosen = next((each for each in names if each in known), None)
            if chosen is not None:
                return f"Use {chosen}"
    if name in ("--yes", "-y", "--force", "-f"):
        return "Use --yes" if "--yes" in known else "This verb does not ask, leave it out"
    said = _OF_ANY.get(name)
    uses = [word for word in (said or "").split() if word.startswith("--")]
    return said if said is None or not said.startswith("Use ") or set(uses[:1]) <= known else None
