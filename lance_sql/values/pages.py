"""Values with an HTML page of their own, and a part of it for notebooks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar


class Page:
    """Conversions to HTML of everything with a template.

    template: its name; that of the part ends in `_part`
    """

    template: ClassVar[str]

    @abstractmethod
    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        """Returns the values for the templates.

        is_part: for a notebook, which shows less
        """

    def to_html(self) -> str:
        """Renders a page in one file that needs no network.

        raises: MissingDependency where Jinja2 is not installed
        """
        from lance_sql.values import html

        return html.render(self.template, **self.page_values(is_part=False))

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        return html.part(f"{self.template}_part", **self.page_values(is_part=True))
