"""Every page of the site in Chromium, at two widths; the site is built as `make site` builds it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.look import WIDTHS, browser_needed, chromium, faults
from tests.workspace import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return place


@pytest.mark.endurance
@browser_needed
def test_no_page_overflows_or_lacks_a_picture(site: Path) -> None:
    """All but 404.html, whose paths are those of a server."""
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html" and "assets" not in page.parts]
    assert len(pages) >= 39
    with chromium() as browser:
        for page in pages:
            for width in WIDTHS:
                assert faults(browser, page, width) == [], (page.name, width)
