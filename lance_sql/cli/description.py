"""Description of a table on one screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_sql.runtime.terminal_text import cut, one_line
from lance_sql.values.local_paths import shown

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset


@dataclass(frozen=True)
class Description:
    """Facts by name, then the columns: names, types, and whether they may be NULL."""

    facts: tuple[tuple[str, Any], ...]
    columns: tuple[tuple[str, str, bool], ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns the description in types of JSON."""
        columns = [{"column": name, "type": type, "nullable": nullable} for name, type, nullable in self.columns]
        return {name.replace(" ", "_"): value for name, value in self.facts} | {"columns": columns}

    def to_text(self, width: int | None) -> str:
        """Returns the description as lines of text.

        width: the maximum number of characters of a line; unlimited by default
        """
        names = max(len(name) for name, _ in self.facts)
        lines = [f"{name:<{names}}  {_shown(value)}" for name, value in self.facts]
        longest = max((len(one_line(name)) for name, *_ in self.columns), default=0)
        lines += ["", f"{len(self.columns)} column{'' if len(self.columns) == 1 else 's'}"]
        lines += [
            f"  {one_line(name):<{longest}}  {type}{'' if nullable else ' not null'}"
            for name, type, nullable in self.columns
        ]
        return "\n".join(line if width is None else cut(line, width) for line in lines)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(one_line, value)) or "none"
    return "unknown" if value is None else one_line(str(value))


def described(dataset: Dataset) -> Description:
    """Describes a version from its metadata; reads no page.

    raises: CorruptFile, UnsupportedFeature
    """
    from lance_sql.catalogs import metadata_tables

    fragments = metadata_tables.fragments(dataset)
    sizes = fragments["bytes"].to_pylist()
    deleted = fragments["deleted_rows"].to_pylist()
    versions = dataset.versions()
    committed = next((each.timestamp for each in versions if each.version == dataset.version), None)
    format_version = next((each.data_format for each in versions if each.version == dataset.version), None)
    facts: tuple[tuple[str, Any], ...] = (
        ("table", shown(dataset.uri)),
        ("version", dataset.version),
        ("branch", dataset.branch or "main"),
        ("committed", None if committed is None else committed.isoformat(sep=" ")),
        ("rows", dataset.count_rows()),
        ("deleted rows", sum(deleted) if None not in deleted else None),
        ("fragments", fragments.num_rows),
        ("data files", sum(fragments["data_files"].to_pylist())),
        ("bytes", sum(sizes) if None not in sizes else None),
        ("file format", format_version),
        ("stable row ids", "_row_created_at_version" in dataset.system_columns),
        ("versions", len(versions)),
        ("tags", [f"{name}@{ref.version}" for name, ref in sorted(dataset.tags.list().items())]),
        ("branches", sorted(dataset.branches)),
        ("indices", [f"{each.name} ({each.kind})" for each in dataset.indices.list()]),
    )
    if rows := dataset.maintenance.num_rows_in_log:
        facts = (*facts, ("rows in no version, of the write-ahead log", rows))
    columns = tuple((field.name, str(field.type), field.nullable) for field in dataset.schema)
    return Description(facts, columns)
