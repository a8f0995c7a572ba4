"""Crawls that are killed, and crawls on a later day.

With CRAWL_KILLS=20 in the environment it kills as often as the project's target; `pytest -s` shows the figures.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stages import paths
from tests.news_crawler.conftest import REQUESTS_PER_SECOND, Crawl, archived_once, assert_polite
from tests.news_crawler.layouts import listing, render
from tests.news_crawler.site import Reply, Site, hang, newspaper, page, stories
from tests.waiting import LIMIT, wait_until
from tests.workspace import ROOT, write_params

KILLS = int(os.environ.get("CRAWL_KILLS", "4"))
STORIES = 240 if KILLS > 10 else 60
FAULTY = {"/robots.txt", "/world/flaky.html", "/broken.html", "/slow.html", "/cut-off.html"}


@dataclass(frozen=True)
class Kill:
    """The state when a crawl was killed: the length of the server's log, and the finished pages."""

    asked: int
    dealt_with: frozenset[str]


def state_after(crawl: Crawl) -> Kill:
    with sqlite3.connect(crawl.directory / paths.CRAWL_STATE / "state.sqlite") as db:
        try:
            rows = db.execute("select url from page where state in ('fetched', 'done', 'dropped')").fetchall()
        except sqlite3.OperationalError:
            rows = []  # killed before there was a table
    db.close()
    return Kill(len(crawl.site.log), frozenset(url for (url,) in rows))


@pytest.mark.fault(30)
def test_killed_and_started_again(tmp_path: Path) -> None:
    """The same articles, byte for byte, and no page fetched twice, except one in flight at a kill."""
    draw = random.Random(20)
    with Site(STORIES).serving() as site:
        newspaper(site)
        (tmp_path / "killed").mkdir()
        (tmp_path / "whole").mkdir()
        killed, whole = Crawl(tmp_path / "killed", site), Crawl(tmp_path / "whole", site)
        kills: list[Kill] = []
        while len(kills) < KILLS and killed.run_until(draw.randint(1, 2 * STORIES // KILLS), draw.uniform(0, 0.1)):
            kills.append(state_after(killed))
        killed.run()
        log = [*site.log]
        site.asked.clear()
        whole.run()

        assert len(kills) == KILLS
        for kill in kills:
            later = {site.url(asked.path, asked.host) for asked in log[kill.asked :]}
            assert not later & kill.dealt_with
        times = Counter((asked.host, asked.path) for asked in log if asked.path not in FAULTY)
        repeated = sum(count - 1 for count in times.values())
        assert repeated <= len(kills) * 2  # one request of each host can be in flight
        for host in ("news", "archive"):
            assert_polite([asked for asked in log if asked.host == host], REQUESTS_PER_SECOND)
        assert set(killed.articles()) == set(site.articles)
        part = paths.ARTICLES / "part-00000.parquet"
        assert (killed.directory / part).read_bytes() == (whole.directory / part).read_bytes()
        archived_once(killed)
        print(f"\n{KILLS} kills, {len(log)} requests, {repeated} of them again for what was under way at a kill")


def small_site(site: Site, count: int) -> None:
    """A front page, and articles of which each third has an ETag, a Last-Modified, or neither."""
    articles = stories()[:count]
    for number, article in enumerate(articles):
        site.article(article, article.path, validators=("etag", "date", "")[number % 3])
    cards = [(article.path, article) for article in articles]
    site.add("/", page(listing("Front page", cards, [], None), "etag"))


def test_the_next_snapshot_fetches_what_is_new(site: Site, crawl: Crawl) -> None:
    """Unchanged pages answer 304 or are not requested; new and changed ones are fetched; removed ones are kept."""
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    small_site(site, 9)
    crawl.run()
    first = crawl.articles()
    assert len(first) == 9
    del site.log[:]

    small_site(site, 12)
    changed = replace(stories()[0], paragraphs=stories()[50].paragraphs)
    site.article(changed, changed.path, validators="etag")
    site.add(stories()[1].path, Reply(b"gone", 410))
    crawl.web["snapshot"] = "2"
    crawl.run()
    statuses = {asked.path: asked.status for asked in site.requests("news")}
    unasked = {article.path for article in stories()[2:9:3]}
    assert not unasked & set(statuses)
    assert {path for path, status in statuses.items() if status == 304} == {
        *(stories()[number].path for number in (3, 4, 6, 7))
    }
    fetched = {stories()[number].path for number in (0, 9, 10, 11)}
    assert {path for path, status in statuses.items() if status == 200} == {"/"} | fetched
    second = crawl.articles()
    assert set(second) == {site.url(article.path) for article in stories()[:12]}
    assert second[site.url(changed.path)]["text"].splitlines()[0] == changed.paragraphs[0]
    assert second[site.url(stories()[1].path)] == first[site.url(stories()[1].path)]


def test_a_limit_ends_the_crawl_and_a_higher_one_resumes_it(site: Site, crawl: Crawl) -> None:
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    small_site(site, 9)
    crawl.web["pages"] = 12  # the front page, eight of its menu that are missing, three articles
    assert "page limit is reached and 8 pages are not fetched; raise web.pages and run again" in crawl.run()
    assert len(crawl.articles()) == 3
    assert crawl.counters()["dropped"] == {"HTTP 404": 8, "list of links": 1, "page limit": 8}
    crawl.web["pages"] = 100
    crawl.run()
    assert len(crawl.articles()) == 9
    paths = Counter(asked.path for asked in site.log)
    assert set(paths.values()) == {1}


def test_days_and_languages(site: Site, crawl: Crawl) -> None:
    """A page that a feed dates outside the window is not fetched; a fetched page outside it is dropped."""
    crawl.web |= {"sites": [crawl.named("news", sections=[site.url("/")], feeds=[site.url("/rss.xml")])]}
    crawl.web |= {"since": "2024-01-03", "until": "2024-01-05"}
    small_site(site, 6)
    items = [("/early.html", "Mon, 01 Jan 2024"), ("/late.html", "Tue, 09 Jan 2024"), ("/story-6.html", "2024-01-04")]
    site.article(replace(stories()[6], published=stories()[3].published), "/story-6.html")
    feed = "".join(f"<item><link>{site.url(path)}</link><pubDate>{day}</pubDate></item>" for path, day in items)
    site.add("/rss.xml", Reply(f"<rss><channel>{feed}</channel></rss>".encode(), 200, {"Content-Type": "text/xml"}))
    german = "Die Bundesregierung hat am Montag in Berlin neue Maßnahmen gegen die Teuerung beschlossen, wie es heißt. "
    foreign = replace(stories()[3], paragraphs=(german * 3, german * 2 + "Das Wetter wird besser.", german * 4))
    site.add(stories()[3].path, page(render(foreign)))
    crawl.run()
    assert {url.rpartition("/")[2] for url in crawl.articles()} == {"story-2.html", "story-4.html", "story-6.html"}
    reasons = {path: crawl.reason(path) for path in ("/early.html", "/late.html", "/story-0.html", "/story-3.html")}
    assert reasons == dict.fromkeys(reasons, "outside the date window") | {"/story-3.html": "language"}
    assert not {"/early.html", "/late.html"} & {asked.path for asked in site.log}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contact": None}, "crawl: web.contact is not set; give an e-mail address or a web page"),
        ({"sites": []}, "crawl: web.sites is empty; name a site, or use a preset"),
        ({"private_hosts": []}, "/ is refused (private address); list its host in the site's hosts, and in"),
        ({"languages": ["zz"]}, "'zz' is unknown to py3langid"),
    ],
)
def test_a_crawl_that_must_not_start(site: Site, crawl: Crawl, changes: dict[str, object], message: str) -> None:
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    crawl.web |= changes
    errors = crawl.run(status=1)
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert site.log == []


@pytest.mark.fault(4)
def test_two_crawls_at_once(site: Site, crawl: Crawl) -> None:
    """The second is refused here, and in a flow's run, which shares the state, after waiting for a moment."""
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    site.add("/", Reply(write=hang))  # so that the first stays in flight meanwhile
    crawl.web["timeout_seconds"] = LIMIT
    first = crawl.start()
    try:
        wait_until(lambda: site.log, "the first has begun", first)
        assert f"crawl: it already runs in this workspace (process {first.pid})" in crawl.run(status=1)
        run = Crawl(crawl.directory / "run", site)
        run.web = crawl.web
        state = Path("data/checkpoints/crawl")
        (run.directory / state.parent).mkdir(parents=True)
        (run.directory / state).symlink_to(crawl.directory / state)
        assert f"crawl: {state} is in use by another crawl; wait until it ends" in run.run(status=1)
    finally:
        first.kill()
        first.communicate()


@pytest.mark.fault(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_terminated(number: signal.Signals, site: Site, crawl: Crawl) -> None:
    """SIGTERM or SIGINT ends the crawl between two pages with its own exit status; articles are not written."""
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    small_site(site, 9)
    crawl.web["requests_per_second"] = 2.0
    process = crawl.start()
    wait_until(lambda: len(site.log) >= 3, "three requests", process)
    process.send_signal(number)
    errors = process.communicate()[1]
    assert process.returncode == 128 + number
    assert "crawl: stopped (shutdown); run again to continue" in errors
    assert not (crawl.directory / paths.ARTICLES).exists()


def test_a_fault_of_ours_ends_the_crawl(site: Site, crawl: Crawl) -> None:
    """Scrapy logs an exception of a callback and goes on; here a full disk is reported, and nothing is written."""
    crawl.web["sites"] = [crawl.named("news", sections=[site.url("/")])]
    small_site(site, 3)
    write_params(crawl.directory / "params.yaml", crawl={"source": "web"}, web=crawl.web)
    program = """
import errno
from stages.corpus import crawl
from news_crawler.archive import Archive
def full(*_): raise OSError(errno.ENOSPC, "No space left on device")
Archive.append = full
crawl.main()
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=crawl.directory, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1
    assert "crawl: data/checkpoints/crawl could not be written: [Errno 28] No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert [asked.path for asked in site.log] == ["/robots.txt", "/"]
