"""The config of a table, and the metadata of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from lance_sql.errors import InvalidArgument
from lance_sql.handles.handle import D, Named
from lance_sql.writes import statements

if TYPE_CHECKING:
    from lance_sql.writes.commit_options import CommitOptions


@dataclass(frozen=True, repr=False)
class Config(Named[D, str]):
    """The config of a version: texts by key, such as the policy of `Dataset.maintenance.maintain`.

    >>> orders.config.update({"lance_sql.maintain.older_than": "30d"}).config["lance_sql.maintain.older_than"]
    '30d'
    """

    _kind = "key"
    _unknown = InvalidArgument

    def list(self) -> dict[str, str]:
        """Returns the values of this version's config, by key."""
        return self._by_name()

    def update(self, values: Mapping[str, str | None], **options: Unpack[CommitOptions]) -> D:
        """Sets keys of the table's config; None removes one.

        raises: CommitConflict when another writer has set one of the keys
        """
        return self._changed("update_config", options, statements.maintenance.update_config, values)

    def update_table_metadata(self, values: Mapping[str, str | None], **options: Unpack[CommitOptions]) -> D:
        """Sets keys of the metadata of the table; None removes one. `lance_table_metadata` lists them.

        raises: CommitConflict when another writer has changed the metadata
        """
        return self._changed(
            "update_config", options, statements.maintenance.update_config, values, of="table_metadata"
        )

    def update_schema_metadata(self, values: Mapping[str, str | None], **options: Unpack[CommitOptions]) -> D:
        """Sets keys of the metadata of the schema, which `schema.metadata` has; None removes one.

        raises: CommitConflict when another writer has changed the schema
        """
        return self._changed(
            "update_config", options, statements.maintenance.update_config, values, of="schema_metadata"
        )

    def update_field_metadata(
        self, column: str, values: Mapping[str, str | None], **options: Unpack[CommitOptions]
    ) -> D:
        """Sets keys of the metadata of a column, such as its `comment`; None removes one. The schema has the metadata.

        column: `a.b` is a member of a struct
        raises: ColumnNotFound; CommitConflict when another writer has changed the metadata

        >>> orders.config.update_field_metadata("amount", {"comment": "in euros"}).schema.field("amount").metadata
        {b'comment': b'in euros'}
        """
        return self._changed(
            "update_field_metadata", options, statements.maintenance.update_field_metadata, column, values
        )

    def _by_name(self) -> dict[str, str]:
        return dict(self._snapshot.manifest.config)
