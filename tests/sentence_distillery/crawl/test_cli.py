"""The command line's crawl of a site that is served here."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.sentence_distillery.crawl.site import SECTIONS, Site, newspaper
from tests.waiting import LIMIT

STORIES = 24


def crawl(site: Site, directory: Path, *more: str) -> str:
    """Run `sentence-distillery crawl` on a section; return what it says."""
    command = [sys.executable, "-W", "error", "-m", "sentence_distillery.cli", "crawl", site.url(f"/{SECTIONS[0]}/")]
    command += ["--contact", "tests@example.org", "--output", "articles", "--requests-per-second", "100", *more]
    process = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=LIMIT)
    assert process.returncode == 0, process.stderr
    return process.stderr


def test_articles_of_a_site(tmp_path: Path) -> None:
    """Every article of a section, once; a second run fetches none of them again."""
    with Site(STORIES).serving() as site:
        newspaper(site)
        told = crawl(site, tmp_path, "--private-host", site.host("news"))
        table = pq.read_table(tmp_path / "articles/part-00000.parquet")
        assert f"{len(table)} articles in articles" in told
        assert len(table) == len(set(table["url"].to_pylist())) > STORIES // 6
        asked = len(site.log)
        assert {entry.host for entry in site.log} == {"news"}
        crawl(site, tmp_path, "--private-host", site.host("news"))
        assert len(site.log) == asked
        assert pq.read_table(tmp_path / "articles/part-00000.parquet") == table


@pytest.mark.fault(31)
def test_a_private_address_is_refused(tmp_path: Path) -> None:
    """Without --private-host nothing on this machine is fetched, and the command says why it has nothing."""
    with Site(STORIES).serving() as site:
        newspaper(site)
        command = [sys.executable, "-m", "sentence_distillery.cli", "crawl", site.url("/"), "--output", "articles"]
        command += ["--contact", "tests@example.org"]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
        assert process.returncode == 1
        assert "private" in process.stderr
        assert not site.log
