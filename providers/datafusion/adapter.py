"""DataFusion as an engine of the library."""

from __future__ import annotations

from typing import ClassVar, Final

from ..adapter import Adapter


class _DataFusion(Adapter):
    name: ClassVar = "datafusion"
    title: ClassVar = "DataFusion"
    connection: ClassVar = "a SessionContext"
    modules: ClassVar = frozenset({"datafusion"})
    folder: ClassVar = "lance_sql.providers.datafusion"
    extra: ClassVar = "datafusion"

    pushes_filters: ClassVar = True
    casts_rows: ClassVar = True
    attaches: ClassVar = True


ADAPTER: Final = _DataFusion()
