"""Spellings of statements on Lance tables: those that run, in the syntax of several products, and those that do not.

Imports no parser, because a connection looks for these words in every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_SHOWN: Final = ("BRANCH", "BRANCHES", "COLUMNS", "HISTORY", "INDEX", "INDEXES", "KEYS", "TAG", "TAGS", "TBLPROPERTIES")
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "alter index": ("ALTER INDEX",),
    "alter table": ("ALTER TABLE",),
    "analyze": ("ANALYZE",),
    "apply changes": ("APPLY CHANGES INTO", "AUTO CDC INTO"),
    "attach": ("ATTACH", "ATTACH OR REPLACE"),
    "comment": ("COMMENT ON",),
    "create index": ("CREATE INDEX", "CREATE OR REPLACE INDEX"),
    "create table": ("CREATE TABLE", "CREATE OR REPLACE TABLE", "REPLACE TABLE"),
    "create view": ("CREATE MATERIALIZED VIEW", "CREATE OR REPLACE MATERIALIZED VIEW"),
    "describe": ("DESC", "DESC TABLE", "DESCRIBE", "DESCRIBE TABLE"),
    "detail": ("DESC DETAIL", "DESCRIBE DETAIL"),
    "detach": ("DETACH",),
    "drop index": ("DROP INDEX",),
    "drop table": ("DROP TABLE",),
    "drop view": ("DROP MATERIALIZED VIEW",),
    "history": ("DESC HISTORY", "DESCRIBE HISTORY"),
    "optimize": ("OPTIMIZE",),
    "refresh view": ("REFRESH MATERIALIZED VIEW",),
    "reindex": ("REINDEX", "REINDEX TABLE"),
    "restore": ("RESTORE", "RESTORE TABLE"),
    "show": tuple(f"SHOW {kind}" for kind in _SHOWN),
    "show create table": ("SHOW CREATE TABLE",),
    "show tables": ("SHOW TABLES FROM", "SHOW TABLES IN"),
    "vacuum": ("VACUUM",),
}
STATEMENTS: Final = {spelling: verb for verb, spellings in _SPELLINGS.items() for spelling in spellings}
"""Verb by first words."""
OF_ENGINES: Final = (
    *("ALTER", "ANALYZE", "ATTACH", "COMMENT", "CREATE", "DESC", "DESCRIBE", "DETACH", "DROP", "REINDEX", "SHOW"),
    "VACUUM",
)
"""First words that statements of engines have as well."""
REFUSED: Final[Mapping[str, str]] = {
    r"CALL\s+(\w+\.)*(rollback_to_(snapshot|timestamp)|set_current_snapshot)\b": (
        "RESTORE TABLE 'x.lance' TO VERSION AS OF 4"
    ),
    r"CALL\s+(\w+\.)*(expire_snapshots|remove_orphan_files|ducklake_(expire_snapshots|cleanup_old_files))\b": (
        "VACUUM 'x.lance' RETAIN 168 HOURS"
    ),
    r"CALL\s+(\w+\.)*(rewrite_(data_files|manifests)|(ducklake_)?merge_adjacent_files)\b": "OPTIMIZE 'x.lance'",
    r"CALL\s+(\w+\.)*create_changelog_view\b": "FROM lance_changes('x.lance', 5, 6)",
    r"CALL\s+(\w+\.)*fast_forward\b": "lance-sql publish x.lance b",
    r"FSCK\s+REPAIR\b": "lance-sql repair x.lance",
    r"UNDROP\b": "RESTORE TABLE for an earlier version; a dropped table cannot be restored",
    r"CONVERT\s+TO\s+DELTA\b": "CREATE TABLE 'x.lance' AS FROM 'x.parquet'",
    r"REORG\s+TABLE\b": "OPTIMIZE 'x.lance', then VACUUM 'x.lance' RETAIN 168 HOURS",
    r"GENERATE\s+symlink_format_manifest\b": "FROM lance_files('x.lance') for the files of a version",
    r"REFRESH\s+TABLE\b": "nothing, because each query reads the newest version",
    r"CREATE\s+(OR\s+REPLACE\s+)?STREAM\b": "lance-sql cursors x.lance name --start latest",
    r"ALTER\s+TABLE\s+\S+\s+SWAP\s+WITH\b": "ALTER TABLE 'x.lance' RENAME TO 'y.lance'",
    r"ALTER\s+TABLE\s+\S+\s+(UN)?SET\s+AUTO_CLEANUP\b": (
        "ALTER TABLE 'x.lance' SET TBLPROPERTIES ('lance.auto_cleanup.interval' = '20', 'lance.auto_cleanup.older_than'"
        " = '14d'), which pylance and others heed when they write, and run lance-sql maintain"
    ),
    r"MERGE\s+WITH\s+SCHEMA\s+EVOLUTION\b": "ALTER TABLE 'x.lance' ADD COLUMN c INT, then MERGE INTO 'x.lance'",
    r"SHOW\s+MAINTENANCE\b": "SHOW TBLPROPERTIES 'x.lance'",
}
"""Statement to write instead, by a pattern of the first words."""
SEARCHES_OF_OTHERS: Final[Mapping[str, str]] = {
    r"\bVECTOR_SEARCH\s*\(": "FROM lance_vector_search('x.lance', 'v', [0.5, 1.5], k := 10)",
    r"\bHYBRID_SEARCH\s*\(": "FROM lance_hybrid_search('x.lance', 'v', [0.5, 1.5], 'text', 'words', k := 10)",
    r"\bFROM\s+SEARCH\s*\(": "FROM lance_fts('x.lance', 'text', 'words', k := 10)",
    r"\blance_(multi_)?match(_phrase)?\s*\(": "FROM lance_fts('x.lance', 'text', 'words', k := 10)",
}
"""Searches of lance-spark by a pattern of their names, and the table functions to write instead."""
TARGETS: Final = (
    "INSERT INTO",
    "INSERT OVERWRITE",
    "OR REPLACE INTO",
    "OR IGNORE INTO",
    "MERGE INTO",
    "DELETE FROM",
    "UPDATE",
    "TRUNCATE",
    "COPY",
)
"""Words before a table whose rows change."""
VERSIONS: Final = ("VERSION AS OF", "TIMESTAMP AS OF", "AT (", "CHANGES FROM")
"""Words after a table that is read at a version."""
FUNCTIONS: Final[Mapping[str, str]] = {
    "table_changes": "lance_changes",
    "table_changes_by_path": "lance_changes",
    "table_insertions": "lance_insertions",
    "table_deletions": "lance_deletions",
}
"""Table functions by their names in Databricks and DuckLake."""

_OWN: Final = ("OPTIMIZE", "RESTORE", "SHOW INDEX", "SHOW INDEXES", "SHOW TBLPROPERTIES", "SHOW TABLES IN")
"""Statements that no engine has, besides those that describe a history or details."""


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted({word.replace(" ", r"\s+") for word in words}))


_FIRST: Final = {spelling.split()[0] for spelling in (*STATEMENTS, *TARGETS)} - {"OR"}
_CLAUSES: Final = ("BEFORE", "CHANGES", "SUMMARIZE", "SYSTEM_TIME", "SYSTEM_VERSION", "TABLE", "VERSIONS BETWEEN")
_WORDS: Final = re.compile(
    rf"\b({_any((*_FIRST, *_CLAUSES, *FUNCTIONS, 'VERSION', 'TIMESTAMP AS'))})\b|=>|@|\.lance\b(?!')|\bAT\s*\("
    # a function that changes a table
    r"|\blance_(set|unset|create|compact|cleanup)_\w+\s*\("
    # a search of lance-spark
    r"|\b((vector|hybrid)_)?search\s*\(|\blance_(multi_)?match"
    # an argument that is named by =
    r"|\blance_\w+\s*\((?:[^()]|\([^()]*\))*?\w\"?\s*=(?![=>])",
    re.IGNORECASE,
)
_SYSTEM: Final = re.compile(r"\b_row(id|addr|_created_at_version|_last_updated_at_version)\b", re.IGNORECASE)
_READ: Final = re.compile(r"\b(FROM|JOIN)\s+(?!lance_\w+\s*\(|\()", re.IGNORECASE)
"""A table that is no table function, which has the system columns anyway."""
_OF_NO_ENGINE: Final = re.compile(
    rf"(^|;)\s*(({_any((*_OWN, *_SPELLINGS['detail'], *_SPELLINGS['history']))})\b"
    rf"|VACUUM\s+\S+\s+(RETAIN|WITH)|VACUUM\s+LANCE|REPLACE\s+TABLE|COPY\b(?s:.*)\bFORMAT\W*LANCE\b|ATTACH\b[^;]*\bTYPE\b\W*LANCE\b|{'|'.join(REFUSED)})",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(
    r"\b(show|information_schema|duckdb_(columns|schemas|tables|views)|pg_\w+|sqlite_(master|schema))\b", re.IGNORECASE
)


def may_be_of_lance(text: str) -> bool:
    """Whether a text about Lance tables may have statements or clauses that engines lack. Most queries have none."""
    return _WORDS.search(text) is not None or (_SYSTEM.search(text) is not None and _READ.search(text) is not None)


def lists_tables(text: str) -> bool:
    """Whether a text may ask for the names of tables."""
    return _LISTS.search(text) is not None


def is_of_no_engine(text: str) -> bool:
    """Whether a text has a statement that no engine runs, on any table."""
    return _OF_NO_ENGINE.search(text) is not None
