"""The table of tools in docs/support.md is that of the catalog, and each tool has a recipe that a test runs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.documents import ROOT
from tests.tools import test_recipes
from tests.tools.catalog import RECIPES, TOOLS, table


def test_the_table_is_that_of_the_catalog() -> None:
    assert table() in (ROOT / "docs" / "support.md").read_text(), "run scripts/try_tools.py --table"


def test_every_recipe_has_a_tool_and_every_tool_a_test() -> None:
    tests = {name.removeprefix("test_") for name in vars(test_recipes) if name.startswith("test_")}
    with_recipe = {tool.node.removeprefix(RECIPES) for tool in TOOLS if tool.node.startswith(RECIPES) and tool.recipe}
    assert tests == with_recipe
    for tool in TOOLS:
        assert all((ROOT / each.partition("::")[0]).exists() for each in tool.node.split()), tool.name


def test_every_block_of_the_pages_is_a_recipe() -> None:
    """No block stands below a heading that no tool has."""
    headings = {tool.recipe.partition("#")[2] or tool.folder for tool in TOOLS}
    for page in test_recipes.PAGES:
        sections = re.split("^## ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)[1:]
        with_blocks = {each.partition("\n")[0].lower().replace(" ", "-") for each in sections if "```text" in each}
        assert with_blocks <= headings, Path(page)
