"""Tags: names of versions."""

from __future__ import annotations

from dataclasses import dataclass

from lance_sql.handles.handle import D, Named
from lance_sql.table.refs import Ref
from lance_sql.table.versions import VersionLike
from lance_sql.values.records import NamedRecords
from lance_sql.writes import statements


@dataclass(frozen=True, repr=False)
class Tags(Named[D, Ref]):
    """The tags of a table as of now: names of versions, which a cleanup keeps.

    >>> tags = lance_sql.open("examples/orders.lance").tags
    >>> tags
    Tags(audited, published)
    >>> tags["audited"].version, "nightly" in tags
    (5, False)
    """

    _kind = "tag"

    def list(self) -> dict[str, Ref]:
        """Returns the tags of the table as of now, by name."""
        return NamedRecords(self._snapshot.tags())

    def create(self, name: str, version: VersionLike | None = None) -> None:
        """Names a version of this branch. A tagged version is not cleaned up.

        version: defaults to that of this handle
        raises: VersionNotFound; TagExists; InvalidArgument for an invalid name

        >>> orders.tags.create("audited")
        >>> orders.at("audited").version
        1
        """
        statements.maintenance.create_tag(self._snapshot, name, self._named(version))

    def move(self, name: str, version: VersionLike | None = None) -> None:
        """Moves a tag to another version of this branch, by default to that of this handle.

        raises: VersionNotFound
        """
        statements.maintenance.move_tag(self._snapshot, name, self._named(version))

    def delete(self, name: str) -> None:
        """Removes a tag; its version stays.

        raises: VersionNotFound if the tag does not exist
        """
        statements.maintenance.delete_tag(self._snapshot, name)

    def _named(self, version: VersionLike | None) -> VersionLike:
        return self._snapshot.version if version is None else version

    def _by_name(self) -> dict[str, Ref]:
        return self._snapshot.tags()
