"""The life of a model: an edition, a new day's edition, a bad one, and a consumer who knows only an address.

A news site on loopback is crawled, cleaned and trained on by the real stages crawl, benchmarks, clean and skipgram, in
a repository of their own; one more stage counts the words of the model. Teacher, soft labels and student are left out:
with them the story would take five minutes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import dvc.api
import pyarrow.parquet as pq
import pytest
from dvc.repo import Repo

from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.registry.promotion import Channel, rollback
from prefect_dvc.retraining import Decision, RetrainSettings, Verdict, retrain_once
from tests.sentence_distillery.crawl.layouts import Article, listing
from tests.sentence_distillery.crawl.site import Site, page, stories
from tests.workspace import ROOT, write_params

from .conftest import git, write_yaml
from .models import add_remote

COUNT = """
import json
from pathlib import Path
import pyarrow.parquet as pq

words = pq.read_table("models/skipgram/vocabulary.parquet").num_rows
Path("reports/figures.json").write_text(json.dumps({"skipgram/words": words}))
"""


def real(module: str, params: list[str], deps: list[str], outs: list[str]) -> dict[str, Any]:
    name = module.rpartition(".")[2]
    return {
        "cmd": f"python -m stages.{module}",
        "params": params,
        "deps": deps,
        "outs": [*outs, f"reports/counters/{name}.json"],
    }


FINGERPRINTS = "data/benchmarks/evaluation_fingerprints.parquet"
GRAPH: dict[str, Any] = {
    "benchmarks": real("benchmarks.benchmarks", ["benchmarks"], ["data/samples"], ["data/benchmarks"]),
    "crawl": real("corpus.crawl", ["crawl", "web"], ["data/samples"], ["data/corpus/articles"]),
    "clean": real(
        "corpus.clean",
        ["clean", "held_out"],
        ["data/corpus/articles", FINGERPRINTS],
        ["data/corpus/sentences", "reports/corpus.json"],
    ),
    "skipgram": real("paper1.skipgram", ["skipgram"], ["data/corpus/sentences"], ["models/skipgram"]),
    "count": {
        "cmd": "python count.py",
        "deps": ["count.py", "models/skipgram"],
        "metrics": [{"reports/figures.json": {"cache": False}}],
    },
}
CONFIG: dict[str, Any] = {
    "params": {"check": "python -m stages.params"},
    "paths": {"shared": "data/checkpoints/crawl"},
    "registry": {
        "artifact": "words",
        "metrics": "reports/figures.json",
        "tolerances": {"skipgram/words": "1%"},
        "gains": {"skipgram/words": 10},
    },
    "edition": {
        "snapshot": "web.snapshot",
        "counters": "reports/counters/clean.json",
        "overview": "reports/corpus.json",
        "limits": {"rows": "30%", "dropped": 0.1, "language": 0.05},
    },
}
IGNORED = "/data/benchmarks\n/data/corpus\n/data/checkpoints\n/models\n/reports/counters\n/reports/corpus.json\n"


class Newsroom:
    """A site with a front page that lists every article so far."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cards: list[tuple[str, Article]] = []
        site.add("/", lambda query, times: page(listing("Front page", self.cards, [], None)))

    def publish(self, articles: list[Article], folder: str) -> None:
        for number, article in enumerate(articles):
            path = f"/{folder}/{number}.html"
            self.site.article(article, path)
            self.cards.append((path, article))


@pytest.fixture
def newsroom() -> Iterator[Newsroom]:
    with Site(addresses={"news": "127.0.0.1"}).serving() as site:
        yield Newsroom(site)


@pytest.fixture
def workspace(newsroom: Newsroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The graph, committed, with a DVC remote; nothing has run."""
    root = tmp_path / "workspace"
    shutil.copytree(ROOT / "data/samples", root / "data/samples")
    (root / "count.py").write_text(COUNT, encoding="utf-8")
    (root / ".gitignore").write_text(IGNORED, encoding="utf-8")
    write_yaml(root / "dvc.yaml", {"stages": GRAPH, "artifacts": {"words": {"path": "models/skipgram"}}})
    write_yaml(root / "flows.yaml", CONFIG)
    news: dict[str, Any] = {"name": "news", "hosts": [newsroom.site.host("news")], "sitemaps": [], "feeds": []}
    write_params(
        root / "params.yaml",
        crawl={"source": "web"},
        web={
            "contact": "tests@example.org",
            "sites": [news | {"sections": [newsroom.site.url("/")], "articles": None}],
            "requests_per_second": 50.0,
            "private_hosts": news["hosts"],
            "retries": 1,
        },
        benchmarks={"sets": ["samples"]},
        skipgram={"epochs": 1, "dimension": 16},
        shards={"processes": 1},
    )
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(root))
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@localhost")
    Repo.init(str(root)).close()
    add_remote(root, tmp_path / "store")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(root)
    return root


def words_at(directory: Path) -> int:
    return int(pq.read_metadata(directory / "vocabulary.parquet").num_rows)


def by_command(address: Path, target: Path) -> int:
    """What a consumer gets by `dvc artifacts get`, from any directory."""
    get = ["artifacts", "get", str(address), "words", "--stage", "production", "--out", str(target)]
    environment = os.environ | {"DVC_NO_ANALYTICS": "1"}
    subprocess.run([sys.executable, "-m", "dvc", *get], cwd=target.parent, env=environment, check=True)
    return words_at(target)


def by_python(address: Path, target: Path) -> int:
    """The same by DVC's API."""
    found = dvc.api.artifacts_show("words", stage="production", repo=str(address))
    dvc.api.DVCFileSystem(str(address), rev=found["rev"]).get(found["path"], str(target), recursive=True)
    return words_at(target)


def copies(articles: list[Article]) -> list[Article]:
    """A bad edition: old stories under new addresses and titles."""
    return [replace(article, title=f"{article.title} again") for article in articles]


@pytest.mark.fault(39)
def test_the_story(workspace: Path, newsroom: Newsroom, tmp_path: Path) -> None:
    """Two editions are promoted, the bad one is refused before any training, and a rollback leads back."""
    texts, channel = stories(), Channel("words")

    def retrain(day: int) -> Verdict:
        order = RetrainSettings(artifact="words", snapshot=date(2026, 11, day))
        return retrain_once(workspace, order, run_in_threads, print, "a test")

    newsroom.publish(texts[:60], "day-1")
    first = retrain(21)
    assert first.decision is Decision.PROMOTED, first.report

    newsroom.publish(texts[60:110], "day-2")
    second = retrain(22)
    assert second.decision is Decision.PROMOTED, second.report
    git(tmp_path, "clone", "--quiet", str(workspace), "hub")
    newest = by_command(tmp_path / "hub", tmp_path / "by command")
    assert by_python(tmp_path / "hub", tmp_path / "by python") == newest

    newsroom.publish(copies(texts[:100]), "day-3")
    third = retrain(23)
    assert third.decision is Decision.REFUSED, third.report
    assert third.reason.startswith("The data gate refuses this edition. dropped: ")

    assert [version.name for version in rollback(workspace, channel)] == ["v0.0.2", "v0.0.1"]
    git(tmp_path / "hub", "fetch", "--quiet", "--tags")
    assert newest > by_command(tmp_path / "hub", tmp_path / "before") > 100
