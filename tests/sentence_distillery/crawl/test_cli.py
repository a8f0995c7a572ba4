"""The command line's crawl of a site that is served here."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.sentence_distillery.crawl.site import SECTIONS, Site, newspaper
from tests.waiting import LIMIT

STORIES = 24


def crawl(site: Site, directory: Path, *more: str) -> tuple[int, str]:
    """Run `sentence-distillery crawl` on a section; return its status and what it says."""
    command = [sys.executable, "-W", "error", "-m", "sentence_distillery.cli", "crawl", site.url(f"/{SECTIONS[0]}/")]
    command += ["--contact", "tests@example.org", "--output", "articles", "--requests-per-second", "100", *more]
    process = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=LIMIT)
    return process.returncode, process.stderr


@pytest.mark.fault(31)
def test_articles_of_a_site(tmp_path: Path) -> None:
    """Without --private-host nothing on this machine; then each article of a section, once, and none in a later run."""
    with Site(STORIES).serving() as site:
        newspaper(site)
        status, told = crawl(site, tmp_path)
        assert status == 1 and "private" in told and site.log == []
        private = ("--private-host", site.host("news"))
        status, told = crawl(site, tmp_path, *private)
        assert status == 0, told
        table = pq.read_table(tmp_path / "articles/part-00000.parquet")
        assert f"{len(table)} articles in articles" in told
        assert len(table) == len(set(table["url"].to_pylist())) > STORIES // 6
        asked = len(site.log)
        assert {entry.host for entry in site.log} == {"news"}
        assert crawl(site, tmp_path, *private)[0] == 0
        assert len(site.log) == asked
        assert pq.read_table(tmp_path / "articles/part-00000.parquet") == table
