"""Sail as an engine of the library."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ..spark.adapter import Spark


class _Sail(Spark):
    extra: ClassVar = "sail"

    def new_target(self) -> Any:
        from ..spark.sessions import session

        return session("sail")


ADAPTER: Final = _Sail()
