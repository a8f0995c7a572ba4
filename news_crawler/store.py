"""The state of a crawl in SQLite and WARC: SIGKILL at any moment loses at most the answers in transfer.

A page of a snapshot goes through these states; each step is one transaction, and the page's links enter together with
the step to `done`:

    queued ──answer──> fetched ──analysis──> done         settled ──its analysis of old──> done
       │ └──no robots.txt, for this run──> blocked
       └──error, refusal──> dropped, with its reason

An answer is first written to the WARC file and synced, then written to the database. A kill between the two leaves
a record that the database does not know; it is cut off when the store is opened again.

The store also keeps all bodies by their SHA-256, and the validators (ETag, Last-Modified) and the newest analysis of
each URL. With these the next snapshot only fetches pages that have changed.
"""

import fcntl
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from news_crawler.archive import Archive, Headers, Place
from news_crawler.policy import QUERIES_OF_A_PATH, TOO_DEEP, TRAP_QUERY, Link
from news_crawler.robots import Robots, Ruling
from sentence_distillery.io.artifacts import InputError

LOCK_SECONDS = 3.0

_SCHEMA = """
create table if not exists snapshot (
    id integer primary key, name text not null, scope text not null, requests integer not null default 0,
    bytes integer not null default 0, finished integer not null default 0, unique (name, scope));
create table if not exists page (
    id integer primary key, snapshot integer not null, url text not null, path text not null, host text not null,
    site text not null, kind text not null, depth integer not null, redirects integer not null,
    attempts integer not null default 0, not_before real not null default 0, state text not null,
    status integer, reason text, detail text, unique (snapshot, url));
create index if not exists page_state on page (snapshot, state, id);
create index if not exists page_path on page (snapshot, path);
create table if not exists visit (
    url text not null, snapshot integer not null, fetched real not null, digest text not null, content_type text,
    content_encoding text, etag text, last_modified text, primary key (url, snapshot)) without rowid;
create table if not exists body (
    digest text primary key, url text not null, file text not null, offset integer not null, length integer not null);
create table if not exists warc (file text primary key, length integer not null);
create table if not exists analysis (
    url text primary key, site text not null, kind text not null, digest text not null, extractor text not null,
    article integer not null, result text not null);
create table if not exists robots (origin text primary key, ruling text not null, text text not null, fetched real);
create table if not exists error (snapshot integer not null, kind text not null, count integer not null,
    primary key (snapshot, kind));
"""


@dataclass(frozen=True)
class Entry:
    """A page of the snapshot that waits to be fetched or analysed."""

    id: int
    link: Link
    attempts: int


@dataclass(frozen=True)
class Visit:
    """The newest answer with a body that a URL has given; `fetched` in seconds since 1970."""

    url: str
    digest: str
    content_type: str | None = None
    content_encoding: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    fetched: float = 0.0

    @property
    def has_validator(self) -> bool:
        return self.etag is not None or self.last_modified is not None


@dataclass(frozen=True)
class Answer:
    """The answer for a page: `headers` as received, `payload` as transferred; `when` in seconds since 1970."""

    status: int
    headers: Headers
    payload: bytes
    when: float

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Store:
    """The state of all snapshots and the work on one of them; not thread-safe."""

    def __init__(self, name: str, scope: str, software: str, directory: Path) -> None:
        """Open the snapshot that `name` and `scope`, a digest of its request, identify; begin it if it is new.

        Raises InputError if another process crawls in `directory`, or its files are damaged.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(directory / "lock")
        try:
            self._db = _database(directory / "state.sqlite")
            self._archive = Archive(directory / "warc", software)
            self._archive.recover(self._rows("select file, length from warc"))
        except BaseException:
            os.close(self._lock)
            raise

        # Another scope under the same name is another snapshot.
        self._change("insert or ignore into snapshot (name, scope) values (?, ?)", name, scope)
        self._snapshot = self._value("select id from snapshot where name = ? and scope = ?", name, scope)

    def close(self) -> None:
        self._archive.close()
        self._db.close()
        os.close(self._lock)

    # The snapshot as a whole

    @property
    def finished(self) -> bool:
        return bool(self._value("select finished from snapshot where id = ?", self._snapshot))

    def finish(self) -> None:
        """Note that nothing is left to fetch: from now on the snapshot needs no network."""
        self._change("update snapshot set finished = 1 where id = ?", self._snapshot)

    def totals(self) -> tuple[int, int]:
        """Count the requests made and bytes received for this snapshot."""
        row = self._db.execute("select requests, bytes from snapshot where id = ?", (self._snapshot,)).fetchone()
        return int(row[0]), int(row[1])

    def states(self) -> dict[str, int]:
        """Count the pages of this snapshot by state."""
        return dict(self._rows("select state, count(*) from page where snapshot = ? group by state", self._snapshot))

    def errors(self) -> dict[str, int]:
        """Count the errors of this snapshot by kind, including those that a retry resolved."""
        return dict(self._rows("select kind, count from error where snapshot = ? order by kind", self._snapshot))

    def articles(self) -> int:
        """Count the snapshot's pages that look like articles so far."""
        query = "select count(*) from page join analysis using (url) where snapshot = ? and state = 'done' and article"
        return int(self._value(query, self._snapshot))

    # Pages that wait

    def unblock(self) -> None:
        """Queue the pages again whose robots.txt was unreachable in an earlier run."""
        query = "update page set state = 'queued', reason = null where snapshot = ? and state = 'blocked'"
        self._change(query, self._snapshot)

    def next(self, now: float, busy_hosts: Iterable[str], taken: Iterable[int]) -> Entry | None:
        """Return the oldest page that may be fetched now and whose host is not busy."""
        hosts, ids = json.dumps([*busy_hosts]), json.dumps([*taken])
        rows = self._entries(
            "state = 'queued' and not_before <= ? and host not in (select value from json_each(?)) "
            "and id not in (select value from json_each(?)) order by id limit 1",
            *(now, hosts, ids),
        )
        return rows[0] if rows else None

    def has_queued(self, taken: Iterable[int] = ()) -> bool:
        query = "state = 'queued' and id not in (select value from json_each(?)) limit 1"
        return bool(self._entries(query, json.dumps([*taken])))

    def fetched(self) -> list[Entry]:
        """List the pages whose body is stored and whose analysis is missing."""
        return self._entries("state = 'fetched' order by id")

    def settled(self) -> list[Entry]:
        """List articles of an earlier snapshot that are not fetched again and whose links are not yet followed."""
        return self._entries("state = 'settled' order by id")

    # Steps

    def add(self, links: Iterable[Link]) -> None:
        """Queue the links that the snapshot does not know yet."""
        with self._db:
            for link in links:
                self._add(link)

    def refuse(self, link: Link, reason: str) -> None:
        """List a page that will not be fetched."""
        with self._db:
            self._insert(link, "dropped", reason)

    def keep(self, entry: Entry, answer: Answer) -> None:
        """Keep an answer with a body, or with none since it has not changed (304): queued -> fetched."""
        url = entry.link.url
        known = self.last_visit(url)
        if answer.status == 304 and known is not None:
            digest, payload = known.digest, b""
        else:
            digest, payload = "sha256:" + hashlib.sha256(answer.payload).hexdigest(), answer.payload

        # A body that many URLs share is stored once.
        first = self._db.execute("select url from body where digest = ?", (digest,)).fetchone()
        same_as = (str(first[0]), digest) if first else None
        place = self._archive.append(url, answer.when, str(answer.status), answer.headers, payload, same_as)
        visit = _visit(url, digest, answer, known if answer.status == 304 else None)

        # One transaction: after a kill the page is fetched with all that belongs to it, or not at all.
        with self._db:
            self._db.execute("insert or replace into warc values (?, ?)", (place.file, place.offset + place.length))
            if not first:
                row = (digest, url, place.file, place.offset, place.length)
                self._db.execute("insert into body values (?, ?, ?, ?, ?)", row)
            self._put_visit(visit)
            self._set_state(entry, "fetched", answer.status, None, None)
            self._count(1, len(answer.payload))

    def finish_page(self, entry: Entry, digest: str, extractor: str, result: dict[str, Any], links: list[Link]) -> None:
        """Keep the analysis of a body and queue its links: fetched -> done."""
        with self._db:
            self._put_analysis(entry.link, digest, extractor, result)
            for link in links:
                self._add(link)
            self._set_state(entry, "done", None, None, None)

    def drop(
        self, entry: Entry, reason: str, status: int | None = None, detail: str | None = None, size: int = 0
    ) -> None:
        """List a page whose request failed, `size` bytes long: queued -> dropped."""
        with self._db:
            self._set_state(entry, "dropped", status, reason, detail)
            self._count(1, size)

    def forbid(self, entry: Entry, reason: str, for_this_run: bool) -> None:
        """List a page that was not requested: queued -> dropped, or blocked until the next run."""
        with self._db:
            self._set_state(entry, "blocked" if for_this_run else "dropped", None, reason, None)

    def redirect(self, entry: Entry, status: int, target: Link) -> None:
        """Queue the target of a redirect and list the page itself: queued -> dropped."""
        with self._db:
            self._add(target)
            self._set_state(entry, "dropped", status, "redirect", target.url)
            self._count(1, 0)

    def retry(self, entry: Entry, not_before: float) -> None:
        """Leave the page queued for another attempt; `not_before` in seconds since 1970."""
        with self._db:
            self._db.execute(
                "update page set attempts = attempts + 1, not_before = ? where id = ?", (not_before, entry.id)
            )
            self._count(1, 0)

    def count_error(self, kind: str) -> None:
        query = "insert into error values (?, ?, 1) on conflict do update set count = count + 1"
        self._change(query, self._snapshot, kind)

    # Lookups by URL

    def last_visit(self, url: str) -> Visit | None:
        """Return the newest answer with a body, of this snapshot or an earlier one."""
        row = self._db.execute(
            "select url, digest, content_type, content_encoding, etag, last_modified, fetched from visit "
            "where url = ? order by snapshot desc limit 1",
            (url,),
        ).fetchone()
        return Visit(*row) if row else None

    def payload(self, digest: str) -> bytes:
        """Return a body as it was transferred."""
        row = self._db.execute("select file, offset, length from body where digest = ?", (digest,)).fetchone()
        return self._archive.read(Place(*row))

    def analysis(self, url: str, digest: str, extractor: str) -> dict[str, Any] | None:
        """Return the analysis of this body by this extractor; None if there is none yet."""
        row = self._db.execute(
            "select result from analysis where url = ? and digest = ? and extractor = ?", (url, digest, extractor)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def outdated(self, extractor: str) -> Iterator[tuple[Link, Visit]]:
        """Yield pages that another extractor analysed, with the analysed body."""
        rows = self._rows("select url, site, kind from analysis where extractor != ? order by url", extractor)
        for url, site, kind in rows:
            visit = self.last_visit(url)
            if visit is not None:
                yield Link(url, site, kind), visit

    def replace_analysis(self, link: Link, digest: str, extractor: str, result: dict[str, Any]) -> None:
        """Keep the analysis that another extractor made of a body."""
        with self._db:
            self._put_analysis(link, digest, extractor, result)

    def analyses(self) -> Iterator[tuple[Link, dict[str, Any]]]:
        """Yield every analysed page of every snapshot, by URL."""
        with closing(self._db.execute("select url, site, kind, result from analysis order by url")) as rows:
            for url, site, kind, result in rows:
                yield Link(url, site, kind), json.loads(result)

    def unread(self) -> Iterator[tuple[Link, int | None, str | None, str | None]]:
        """Yield pages of this snapshot without analysis, by URL: link, HTTP status, reason (None: queued), detail."""
        rows = self._rows(
            "select url, site, kind, status, reason, detail from page where snapshot = ? and state != 'done' "
            "order by url",
            self._snapshot,
        )
        for url, site, kind, status, reason, detail in rows:
            yield Link(url, site, kind), status, reason, detail

    def robots(self, origin: str) -> Robots | None:
        row = self._db.execute("select ruling, text, fetched from robots where origin = ?", (origin,)).fetchone()
        return Robots(Ruling(row[0]), row[1], row[2]) if row else None

    def put_robots(self, origin: str, robots: Robots) -> None:
        row = (origin, str(robots.ruling), robots.text, robots.fetched)
        self._change("insert or replace into robots values (?, ?, ?, ?)", *row)

    def _change(self, query: str, *values: object) -> None:
        with self._db:
            self._db.execute(query, values)

    # Inside a transaction

    def _add(self, link: Link) -> None:
        if "?" in link.url and self._queries(link) >= QUERIES_OF_A_PATH:
            self._insert(link, "dropped", TRAP_QUERY)
            return
        known = self.last_visit(link.url)
        # An article without a validator is not fetched again: newspapers do not change old pages.
        settled = known is not None and not known.has_validator and self._is_article(link.url)
        if self._insert(link, "settled" if settled else "queued", None) and settled and known:
            self._put_visit(known)

    def _insert(self, link: Link, state: str, reason: str | None) -> bool:
        """Insert a page and tell whether it is new; one that was too deep may have a shorter path."""
        values = asdict(link) | {"path": link.path, "host": link.host, "snapshot": self._snapshot}

        # A page that was too deep comes back if a shorter way to it is found.
        cursor = self._db.execute(
            "insert into page (snapshot, url, path, host, site, kind, depth, redirects, state, reason) "
            "values (:snapshot, :url, :path, :host, :site, :kind, :depth, :redirects, :state, :reason) "
            f"on conflict do update set state = :state, reason = :reason, depth = :depth "
            f"where page.reason = '{TOO_DEEP}' and :reason is null",
            values | {"state": state, "reason": reason},
        )
        return cursor.rowcount > 0

    def _queries(self, link: Link) -> int:
        query = "select count(*) from page where snapshot = ? and path = ? and url != ?"
        return int(self._value(query, self._snapshot, link.path, link.url))

    def _is_article(self, url: str) -> bool:
        row = self._db.execute("select article from analysis where url = ?", (url,)).fetchone()
        return row is not None and bool(row[0])

    def _put_analysis(self, link: Link, digest: str, extractor: str, result: dict[str, Any]) -> None:
        row = (link.url, link.site, link.kind, digest, extractor, bool(result["article"]), json.dumps(result))
        self._db.execute("insert or replace into analysis values (?, ?, ?, ?, ?, ?, ?)", row)

    def _put_visit(self, visit: Visit) -> None:
        self._db.execute(
            "insert or replace into visit values (:url, :snapshot, :fetched, :digest, :content_type, "
            ":content_encoding, :etag, :last_modified)",
            asdict(visit) | {"snapshot": self._snapshot},
        )

    def _set_state(self, entry: Entry, state: str, status: int | None, reason: str | None, detail: str | None) -> None:
        self._db.execute(
            "update page set state = ?, status = coalesce(?, status), reason = ?, detail = ? where id = ?",
            (state, status, reason, detail, entry.id),
        )

    def _count(self, requests: int, size: int) -> None:
        self._db.execute(
            "update snapshot set requests = requests + ?, bytes = bytes + ? where id = ?",
            (requests, size, self._snapshot),
        )

    # Reading

    def _entries(self, condition: str, *values: object) -> list[Entry]:
        rows = self._rows(
            f"select id, url, site, kind, depth, redirects, attempts from page where snapshot = ? and {condition}",
            *(self._snapshot, *values),
        )
        return [Entry(row[0], Link(*row[1:6]), row[6]) for row in rows]

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._db.execute(query, values).fetchall()

    def _value(self, query: str, *values: object) -> Any:
        return self._db.execute(query, values).fetchone()[0]


def _visit(url: str, digest: str, answer: Answer, before: Visit | None) -> Visit:
    """Make a visit of an answer; a 304 may omit headers of the earlier answer (RFC 9110, 15.4.5)."""
    # An answer 304 repeats only some headers; the others are those of the last full answer.
    return Visit(
        url,
        digest,
        before.content_type if before else answer.header("content-type"),
        before.content_encoding if before else answer.header("content-encoding"),
        answer.header("etag") or (before.etag if before else None),
        answer.header("last-modified") or (before.last_modified if before else None),
        answer.when,
    )


def _database(path: Path) -> sqlite3.Connection:
    try:
        # A write-ahead log, since readers of the state must not wait for a crawl.
        db = sqlite3.connect(path, isolation_level="DEFERRED")
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")  # the WARC file is synced before; the two must not differ after a crash
        db.executescript(_SCHEMA)
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{path} cannot be read: {error}. Remove {path.parent} and crawl again, or restore it."
        ) from error
    return db


def _locked(path: Path) -> int:
    """Open a descriptor that holds the lock; the system frees it when the process ends, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + LOCK_SECONDS

    # A crawl that has just been stopped may hold the lock for a moment.
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise InputError(
                    f"{path.parent} is in use by another crawl; wait until it ends, or stop it."
                ) from error
            time.sleep(0.1)
        else:
            return descriptor
