"""Secondary indices of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from lance_sql.errors import InvalidArgument
from lance_sql.handles.handle import D, Named
from lance_sql.runtime.progress import Progress
from lance_sql.table.indices import IndexSummary, summaries
from lance_sql.values.records import Records
from lance_sql.writes import statements

if TYPE_CHECKING:
    from lance_sql.writes.commit_options import CommitOptions


@dataclass(frozen=True, repr=False)
class Indices(Named[D, IndexSummary]):
    """The secondary indices of a version. Filters and searches use them.

    >>> indexed = orders.indices.create("status", "bitmap")
    >>> indexed.indices
    Indices(status_idx)
    >>> indexed.indices["status_idx"].kind
    'bitmap'
    """

    _kind = "index"
    _unknown = InvalidArgument

    def list(self) -> tuple[IndexSummary, ...]:
        """Returns the secondary indices of this version, with their columns and the fragments that they cover."""
        return Records(summaries(self._snapshot))

    def create(
        self,
        column: str,
        kind: str,
        *,
        name: str | None = None,
        replace: bool = False,
        train: bool = True,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
        job: str | None = None,
        **options: Any,
    ) -> D:
        """Builds an index over the newest version. Filters or searches of this library and of pylance use it.

        column: `a.b` is a member of a struct, or of JSON documents
        kind: "zonemap" for clustered columns, "btree" for many distinct values, "bitmap" for few,
            "bloomfilter" for `=` and `IN` alone; "ivf_pq", "ivf_sq", "ivf_rq" or "ivf_flat" for vectors, "inverted"
            for words
        name: defaults to `<column>_idx`
        replace: replace an index of that name, instead of raising an error
        train: False leaves the index empty until `optimize`, for all kinds but those of vectors and words
        progress, properties, job: as for every change
        options: for vectors `metric`, `num_partitions`, for "ivf_pq" `num_sub_vectors` and `num_bits`, for "ivf_rq"
            `num_bits`; for words `with_position`, `language`, `stem`, `base_tokenizer` and others, see docs/search.md
        raises: ColumnNotFound; InvalidArgument; UnsupportedFeature for a column type that the kind does not support

        >>> orders.indices.create("status", "bitmap").indices.list()[0].kind
        'bitmap'
        """
        commit: CommitOptions = {"progress": progress, "properties": properties, "job": job}
        return self._changed(
            "create_index",
            commit,
            statements.indices.create,
            column,
            kind,
            name=name,
            replace_existing=replace,
            train=train,
            options=options,
        )

    def drop(self, name: str, **options: Unpack[CommitOptions]) -> D:
        """Drops an index.

        raises: InvalidArgument if no index has this name
        """
        return self._changed("drop_index", options, statements.indices.drop, name)

    def optimize(
        self, names: str | Sequence[str] | None = None, *, rebuild: bool = False, **options: Unpack[CommitOptions]
    ) -> D:
        """Extends indices to the fragments that were added since they were built.

        names: of indices; defaults to all that can be built
        rebuild: rebuild each index over all rows, as one segment
        raises: InvalidArgument, also for a named index of members of JSON that have got several types;
            UnsupportedFeature for a named index of another kind
        """
        chosen = [names] if isinstance(names, str) else names
        return self._changed(
            "optimize_indices",
            options,
            statements.indices.optimize,
            chosen,
            rebuild=rebuild,
            skips_mixed=chosen is None,
        )

    def _by_name(self) -> dict[str, IndexSummary]:
        return {each.name: each for each in summaries(self._snapshot)}
