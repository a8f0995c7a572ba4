"""Decide which URLs belong to a crawl, normalise them, and give the reason for each refusal.

    http://News.example:80/a//b/?utm_source=x&id=2#top   ->  http://news.example/a/b/?id=2      (courlan)
    http://news.example/a/a/a/a/                         ->  refused: trap: repeated path
    http://10.0.0.1/                                     ->  refused: private address

A link to another host, another section or another kind of file is not a page of the site and is only counted.
A redirect comes from a page of the site, so that page is listed with the refusal.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from courlan import clean_url

from news_crawler.options import Site, Web

LONGEST_URL = 500  # characters
# No sensible path has three equal segments, but a wrong relative link makes paths that repeat them without end.
REPEATED_SEGMENTS = 3
# A calendar or a filter makes a page for each query; a section has at most that many real pages.
QUERIES_OF_A_PATH = 100
MOST_REDIRECTS = 10
SESSION = re.compile(r"(?:^|&)(?:phpsessid|jsessionid|aspsessionid\w*|sid)=[^&]*", re.IGNORECASE)
SESSION_PATH = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
OTHER_FILES = re.compile(
    r"\.(?:jpe?g|png|gif|webp|svg|ico|bmp|css|js|json|mp[34]|m4[av]|avi|mov|webm|wav|ogg|pdf|docx?|xlsx?|pptx?|zip|gz"
    r"|rar|7z|exe|apk|dmg|woff2?|ttf|eot)$",
    re.IGNORECASE,
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")  # RFC 8215; Python 3.11 treats it as public
WEB_SCHEMES = ("http", "https")

TOO_DEEP = "too deep"
PAGE_LIMIT = "page limit"
TRAP_PATH = "trap: repeated path"
TRAP_QUERY = "trap: too many queries of one path"
TRAP_LENGTH = "trap: long URL"


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The reason why a URL is not fetched, with its link if it is a page of the site and so is listed."""

    def __init__(self, reason: str, link: "Link | None" = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.link = link


def normalise(url: str, base: str = "") -> str:
    """Normalise `url`: absolute, lower-case host, no default port, no fragment, no session or tracking parameter.

    Raises Refused if it is not a web address.
    """
    try:
        parts = urlsplit(urljoin(base, url.strip().replace(" ", "%20")))
        if parts.scheme.lower() not in WEB_SCHEMES or not parts.hostname or parts.username is not None:
            raise Refused(f"{parts.scheme or 'no'} address")
        plain = parts._replace(fragment="", query=SESSION.sub("", parts.query), path=SESSION_PATH.sub("", parts.path))
        cleaned = clean_url(plain.geturl())
        if cleaned is None or not (result := urlsplit(cleaned)).hostname or result.port == 0:
            raise Refused("no address")
        netloc = result.netloc.encode("idna").decode()  # courlan decodes it, and sites list it in ASCII
    except ValueError as error:  # a bad host or port, or a bracket that is not an IPv6 address
        raise Refused("no address") from error
    return result._replace(netloc=netloc, path=result.path or "/").geturl()


def host_of(url: str) -> str:
    """Return the host, with its port unless that is the default: news.example, 127.0.0.1:8000."""
    return urlsplit(url).netloc


def is_public(address: str) -> bool:
    """Tell whether an IP address is public: not private, loopback, link-local or reserved."""
    ip = ipaddress.ip_address(address.split("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64:  # IPv4 addresses as a resolver behind NAT64 writes them (RFC 6052)
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and ip not in _LOCAL_NAT64


def is_private_literal(host: str) -> bool:
    """Tell whether `host`, as written in a URL, is a non-public IP address in any form that resolvers accept.

    0x7f.1, 2130706433 and 127.1 are loopback to the resolver, too, so a host of numbers only is not trusted.
    """
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return not is_public(name)
    except ValueError:
        return re.fullmatch(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+))*\.?", name) is not None


@dataclass(frozen=True)
class Link:
    """A page to fetch. `kind` is page, sitemap or feed; `depth` counts links from the start of the crawl."""

    url: str
    site: str
    kind: str = "page"
    depth: int = 0
    redirects: int = 0

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def path(self) -> str:
        """The URL without its query."""
        return self.url.partition("?")[0]


class Scope:
    """The pages that the parameters ask for."""

    def __init__(self, web: Web) -> None:
        self.depth = web.depth
        self.private_hosts = frozenset(web.private_hosts)
        self._sites = {site.name: _SiteScope(site) for site in web.sites}

    def seeds(self) -> list[Link]:
        """List the links to start from: sitemaps and feeds first, since they list articles in few requests."""
        return [
            Link(scope.with_scheme(normalise(url)), name, kind)
            for name, scope in self._sites.items()
            for kind, urls in (
                ("sitemap", scope.site.sitemaps),
                ("feed", scope.site.feeds),
                ("page", scope.site.sections),
            )
            for url in urls
        ]

    def follow(self, url: str, parent: Link, kind: str = "page") -> Link:
        """Return the link from `parent` to `url`; raises Refused if it must not be fetched."""
        scope = self._sites[parent.site]
        link = Link(scope.with_scheme(normalise(url, parent.url)), parent.site, kind, parent.depth + 1)
        self.check_host(link)
        path = urlsplit(link.url).path
        if kind == "page" and OTHER_FILES.search(path):
            raise Refused("another kind of file")
        # Pages of a sitemap or a feed belong to the site under any path; so do further sitemaps.
        if parent.kind == "page" and not scope.holds(link.url):
            raise Refused("outside the sections")
        if reason := trap(urlsplit(link.url)):
            raise Refused(reason, link)
        if link.depth > self.depth:
            raise Refused(TOO_DEEP, link)
        return link

    def redirect(self, location: str, source: Link) -> Link:
        """Follow a redirect; raises Refused for another host, a private address, a file and endless chains."""
        scope = self._sites[source.site]
        try:
            url = scope.with_scheme(normalise(location, source.url))
        except Refused as refused:
            raise Refused(f"redirect refused: {refused.reason}") from refused

        # A redirect leads out of the site more easily than a link, and is believed less.
        link = Link(url, source.site, source.kind, source.depth, source.redirects + 1)
        if link.host not in scope.site.hosts and is_private_literal(link.host):
            raise Refused("redirect refused: private address")
        if link.host not in scope.site.hosts:
            raise Refused("redirect refused: another host")
        if link.url == source.url:
            raise Refused("redirect refused: to itself")
        if link.redirects > MOST_REDIRECTS:
            raise Refused("redirect refused: too many")
        return link

    def check_host(self, link: Link) -> None:
        """Raise Refused if the host is not one of the site, or is a private address that is not in `private_hosts`."""
        if link.host not in self._sites[link.site].site.hosts:
            raise Refused("another host")
        if is_private_literal(link.host) and link.host not in self.private_hosts:
            raise Refused("private address", link)

    def is_article(self, site: str, url: str) -> bool | None:
        """Tell whether the URL fits the site's pattern of articles; None if the site has no pattern."""
        return self._sites[site].fits(url)

    def canonical(self, site: str, url: str, declared: str | None) -> str:
        """Return the canonical URL of a page: `declared` if it is a page of the same site, else `url`.

        A page that declares the front page is not believed: content systems do that by mistake.
        """
        if not declared:
            return url
        try:
            normalised = self._sites[site].with_scheme(normalise(declared, url))
        except Refused:
            return url
        front = urlsplit(normalised).path == "/" and not urlsplit(normalised).query
        return url if front or host_of(normalised) not in self._sites[site].site.hosts else normalised


class _SiteScope:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.articles = re.compile(site.articles) if site.articles is not None else None
        self._secure = {host_of(normalise(url)) for url in _starts(site) if url.startswith("https:")}

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        """Return `host/path/` of each section, without the last part of the path if it is a file."""
        starts = (urlsplit(normalise(url)) for url in self.site.sections)
        return tuple(start.netloc + _directory(start.path) for start in starts)

    def holds(self, url: str) -> bool:
        """Tell whether the URL is in a section or fits the pattern of articles."""
        parts = urlsplit(url)
        place = parts.netloc + parts.path
        below = any(place.startswith(prefix) or place + "/" == prefix for prefix in self._prefixes)
        return below or bool(self.fits(url))

    def fits(self, url: str) -> bool | None:
        """Tell whether the URL, as it is sent or as it is read, fits the pattern of articles; None without one."""
        if self.articles is None:
            return None
        return self.articles.search(url) is not None or self.articles.search(unquote(url)) is not None

    def with_scheme(self, url: str) -> str:
        """Use https for hosts that are crawled by https, so that no page is fetched by both schemes."""
        parts = urlsplit(url)
        return parts._replace(scheme="https").geturl() if parts.netloc in self._secure else url


def _starts(site: Site) -> Sequence[str]:
    return [*site.sections, *site.sitemaps, *site.feeds]


def _directory(path: str) -> str:
    last = path.rpartition("/")[2]
    return path.removesuffix(last) if "." in last or not last else path + "/"


def trap(parts: SplitResult) -> str | None:
    """Return the reason why the URL looks like one of endlessly many; None if it does not."""
    if len(unquote(parts.geturl())) > LONGEST_URL:  # a letter of Hindi is 9 characters of its URL
        return TRAP_LENGTH
    segments = Counter(segment for segment in parts.path.split("/") if segment)
    if segments and max(segments.values()) >= REPEATED_SEGMENTS:
        return TRAP_PATH
    return None
