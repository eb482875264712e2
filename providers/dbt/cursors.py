"""Cursors in dbt's graph: the source whose changes a model consumes, and the models that must not share a cursor.

    source  order_changes    meta: {path: orders.lance, cursor: copy}
    model   copy             config(cursor='copy'): reads it, or an ephemeral model or one of this run that does

The result does not depend on the order in which threads run the models, because only the graph decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lance_sql.errors import InvalidArgument


@dataclass(frozen=True)
class ModelRun:
    """A model as the materialization passes it.

    config: its options
    id: of its node in `graph`, which is dbt's
    sql: compiled
    selected: ids of the nodes of this run
    is_partial: dbt leaves out rows of the sources, with `--empty` or `--sample`
    asks: the model asks whether it may select new rows alone, by `lance_sql.is_incremental()`
    is_whole: the rows are all rows of the table, as with `--full-refresh`
    """

    config: Any
    id: str
    sql: str
    graph: Mapping[str, Any]
    selected: Sequence[str]
    is_partial: bool
    asks: bool
    is_whole: bool

    @property
    def cursor(self) -> str | None:
        name = self.config.get("cursor")
        return None if name is None else str(name)

    @property
    def keys(self) -> list[str]:
        """The columns of its unique_key; an empty one is none, as in dbt."""
        given = self.config.get("unique_key") or []
        return [given] if isinstance(given, str) else list(dict.fromkeys(given))

    @property
    def name(self) -> str:
        return self.id.rpartition(".")[2]


def source_of(model: ModelRun, names_in: Callable[[str], set[str]]) -> str | None:
    """Returns the name of the source whose changes a model with a cursor consumes.

    names_in: returns the tables that SQL reads
    returns: as `SourceConfig.table_name` has it; None if the compiled SQL of this run does not read it
    raises: InvalidArgument if no source or several sources of the model have the cursor, or if another model consumes
        its changes too
    """
    cursor = model.cursor
    sources = {
        id: source
        for id in sorted(_sources_below(model.graph, model.id))
        if _meta(source := model.graph["sources"][id]).get("cursor") == cursor
    }
    if not sources:
        raise InvalidArgument(f"Model {model.name}: no source of it reads from a cursor {cursor!r}")
    if len(sources) > 1:
        named = ", ".join(source["name"] for source in sources.values())
        raise InvalidArgument(
            f"Model {model.name}: {named} read from a cursor {cursor!r}: give each source a cursor of its own"
        )
    ((id, source),) = sources.items()
    _check_alone(model, source)
    if id not in _read_now(model, names_in):
        return None
    return ".".join(part for part in (source["database"], source["schema"], source["identifier"]) if part)


def _check_alone(model: ModelRun, source: Mapping[str, Any]) -> None:
    """Checks that no other model of the graph consumes changes of the cursor.

    raises: InvalidArgument
    """
    for id, node in sorted(model.graph["nodes"].items()):
        if id == model.id or node["config"].get("materialized") != "lance":
            continue
        if str(node["config"].get("cursor")) != model.cursor:
            continue
        others = (model.graph["sources"][other] for other in _sources_below(model.graph, id))
        if any(_place(other) == _place(source) for other in others):
            first, second = sorted((model.name, str(node["name"])))
            raise InvalidArgument(
                f"Models {first} and {second} consume the changes of one cursor {model.cursor!r}, and each change goes"
                " to one of them: give each model a source with a cursor of its own"
            )


def _sources_below(graph: Mapping[str, Any], id: str) -> set[str]:
    """Returns the ids of all sources that a node depends on."""
    found: set[str] = set()
    seen, waiting = {id}, [id]
    while waiting:
        for parent in _parents(graph, waiting.pop()):
            if parent in graph["sources"]:
                found.add(parent)
            elif parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return found


def _read_now(model: ModelRun, names_in: Callable[[str], set[str]]) -> set[str]:
    """Returns the ids of the sources whose rows of this run reach a model.

    A table or view that this run did not make has the rows of an earlier one.
    """
    graph, found, names = model.graph, set[str](), names_in(model.sql)
    seen, waiting = {model.id}, [(model.id, True)]
    while waiting:
        id, is_inlined = waiting.pop()
        for parent in _parents(graph, id):
            node = graph["sources"].get(parent) or graph["nodes"].get(parent)
            if node is None or parent in seen:
                continue
            is_ephemeral = node["config"].get("materialized") == "ephemeral"
            if is_inlined and not is_ephemeral and not names_in(f"FROM {node['relation_name']}") & names:
                continue
            if parent in graph["sources"]:
                found.add(parent)
            elif is_ephemeral or parent in model.selected:
                seen.add(parent)
                waiting.append((parent, is_inlined and is_ephemeral))
    return found


def _parents(graph: Mapping[str, Any], id: str) -> Iterator[str]:
    yield from graph["nodes"].get(id, {}).get("depends_on", {}).get("nodes", ())


def _place(source: Mapping[str, Any]) -> tuple[str, str, str]:
    """Returns the table, branch and cursor of a source."""
    meta = _meta(source)
    path = str(meta.get("path"))
    return path if "://" in path else os.path.realpath(path), str(meta.get("branch")), str(meta.get("cursor"))


def _meta(source: Mapping[str, Any]) -> dict[str, Any]:
    return {**(source.get("meta") or {}), **{key: value for key, value in source["config"].items() if key == "cursor"}}
