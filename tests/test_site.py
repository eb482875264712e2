"""The documents are a site whose links lead somewhere, and so do those of the documents beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT

BESIDE = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "examples").rglob("README.md"))]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)")


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    reference = (tmp_path / "reference" / "python" / "index.html").read_text()
    assert "when_not_matched_by_source_delete" in reference
    assert "assert_table_equal" in reference


@pytest.mark.parametrize("document", BESIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_other_documents_lead_somewhere(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text()):
        if "://" in target:
            continue
        found = document.parent / target
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, anchor
