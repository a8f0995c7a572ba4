"""robots.txt according to RFC 9309; Protego parses the rules, this module interprets the answers.

    2xx                   the rules of the first 500 KiB; bytes that are not UTF-8 spoil their own line only (2.2, 2.5);
                          marked UTF-16 is read, too; of a name with a version the product token counts (2.2.1),
                          as in "name/1.0", "name 1.0" and "name (a note)"
    3xx                   followed, at least five times, to other hosts too (2.3.1.2)
    4xx                   "unavailable": all is allowed (2.3.1.3); 429 is excluded, it asks to come back later
    5xx, no answer        "unreachable": nothing is allowed (2.3.1.4)

An answer holds for 24 hours at most (2.4). Beyond the RFC, Crawl-delay and Request-rate are heeded.
"""

import codecs
import math
import re
import time
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from urllib.parse import urlsplit

from protego import Protego

from news_crawler.decoding import Unreadable, decompressed

# RFC 9309, 2.5: at least 500 kibibytes. Later bytes are not read.
LARGEST = 500 * 1024
# Servers that compress without being asked pack text some ten times smaller.
LARGEST_PACKED = 20 * LARGEST
LONGEST_CACHED = 24 * 3600.0
MOST_REDIRECTS = 10
AGENT = "sentence-distillery"
OTHER = "other"  # in place of all names that are not ours
_NAME = re.compile(r"(?i)(?<![^\r\n])([^\S\r\n]*user[- ]?agent[^\S\r\n]*:[^\S\r\n]*)([^\s#][^#\r\n]*)")


class Ruling(StrEnum):
    """RULES: the text decides; ALLOWED: there is no robots.txt; UNREACHABLE: unknown, so nothing is allowed."""

    RULES = "rules"
    ALLOWED = "allowed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Robots:
    """The rules of robots.txt of one origin; `fetched` in seconds since 1970."""

    ruling: Ruling
    text: str = ""
    fetched: float = field(default_factory=time.time)

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(_NAME.sub(_token, self.text))

    def allows(self, url: str) -> bool:
        if self.ruling is Ruling.RULES:
            return self._rules.can_fetch(url, AGENT)
        return self.ruling is Ruling.ALLOWED

    def delay(self) -> float:
        """Return the seconds between two requests that the file demands; 0 if it demands none."""
        if self.ruling is not Ruling.RULES:
            return 0.0
        rate = self._rules.request_rate(AGENT)
        try:
            pause = rate.seconds / rate.requests if rate and rate.requests else 0.0
        except OverflowError:  # a number of hundreds of digits
            pause = math.inf
        return max((delay for delay in (self._rules.crawl_delay(AGENT) or 0.0, pause) if delay > 0), default=0.0)

    def expired(self, now: float) -> bool:
        """Tell whether it must be fetched again; a clock that was set back counts as expired."""
        return not 0 <= now - self.fetched < LONGEST_CACHED


def _token(line: re.Match[str]) -> str:
    """Return a line with the name of a group: ours, * or OTHER, since for Protego a group "S 2.0" is ours, too."""
    field, name = line.groups()
    token = re.split(r"[^\w-]", name, maxsplit=1)[0]
    return str(field) + (AGENT if token.lower() == AGENT else "*" if name.split()[0] == "*" else OTHER)


def ruling(status: int, body: bytes, encoding: str = "") -> Robots:
    """Interpret an answer that is not a redirect; unreadable rules forbid everything."""
    if 200 <= status < 300:
        try:
            return Robots(Ruling.RULES, decode(decompressed(body, encoding, LARGEST_PACKED)))
        except Unreadable:
            return Robots(Ruling.UNREACHABLE)
    if 400 <= status < 500 and status != 429:
        return Robots(Ruling.ALLOWED)
    return Robots(Ruling.UNREACHABLE)


def decode(body: bytes) -> str:
    """Decode the first 500 KiB; leave out a line that the limit cuts, since half a path would forbid too much."""
    kept = body[:LARGEST]
    if len(body) > LARGEST:
        kept = kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]
    if kept.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return kept.decode("utf-16", errors="replace")
    return kept.decode("utf-8-sig", errors="replace")


def address(url: str) -> str:
    """Return the URL of robots.txt of the origin of `url` (RFC 9309, 2.3)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/robots.txt"
