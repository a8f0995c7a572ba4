"""Extract the links of a fetched body, and its article by trafilatura, in a child process that can be killed.

Pure functions of the bytes and their labels. A result is JSON:

    {"links": [[url, kind, published, modified], ...], "article": true, "canonical": ..., "title": ...,
     "published": "2024-05-01", "text": ...}      or      {"links": [], "article": false, "reason": "empty body"}
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any
from urllib.parse import urljoin

from lxml import etree  # type: ignore[import-untyped]
from lxml.html import HtmlElement  # type: ignore[import-untyped]
from trafilatura import bare_extraction
from trafilatura.settings import Document
from trafilatura.utils import load_html

from news_crawler.dates import MONTHS, parse_date
from news_crawler.decoding import (
    Unreadable,
    character_set,
    check_type,
    decoded,
    decompressed,
    gunzipped,
)
from sentence_distillery.corpus.text import unspaced_words
from sentence_distillery.io.unicode import whole_surrogates

# A paragraph of prose is this long outside its links; a heading, a teaser's title or a caption is shorter.
PROSE = 80
PROSE_PARAGRAPHS = 2
LONG_PROSE = 400  # as much as several paragraphs
LONGEST_PARAGRAPH = 1_000
WORD = 5  # characters
# Notices in place of an article, in English; a page with LONG_PROSE of other text is an article all the same.
_OBSTACLES = {
    "not found": re.compile(
        r"\b404\b|\b(?:page|article|story|content|item)\b.{0,60}\b(?:not (?:be )?found|no longer (?:available|exists?)"
        r"|does(?:n.t| not) exist|(?:been|was) (?:removed|moved|deleted)|unavailable)\b"
        r"|\bwe (?:can.?t|could ?n.?t|cannot|could not) find\b|\b(?:mistyped|broken link|out of date link)\b",
        re.IGNORECASE,
    ),
    "cookie wall": re.compile(
        r"\bcookies?\b|\bconsent\b|\bprivacy (?:policy|settings|notice)\b|\bpersonal data\b|\badvertising partners\b"
        r"|\blegitimate interests?\b",
        re.IGNORECASE,
    ),
    "paywall": re.compile(
        r"\bsubscri(?:be|bers?|ptions?)\b|\b(?:log|sign) ?in to (?:read|continue|access)\b|\bfree trial\b|\bpaywall\b"
        r"|\bcreate (?:a free|an|your) account\b|\bunlimited access\b|\bpremium (?:article|content)\b"
        r"|\bcancel any ?time\b|\balready (?:a member|registered|have an account)\b|\b(?:continue|keep) reading\b",
        re.IGNORECASE,
    ),
}
_INLINE = frozenset(["a", "b", "big", "br", "cite", "em", "font", "i", "mark", "q", "small", "span", "strong", "u"])
_SKIPPED = frozenset(["aside", "button", "footer", "form", "head", "header", "nav", "noscript", "script", "style"])
_ARTICLE_TYPE = re.compile(r"^(?:\w*Article|(?:Live|)Blog(?:Posting|)|Report)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_AMPERSAND = re.compile(r"&(?!#?\w{1,32};)")
_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)""")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>\s*")
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_REFRESH = re.compile(r"""\s*[\d.]*\s*[;,]?\s*url\s*=\s*["']?([^"']+)""", re.IGNORECASE)
_JSON_LD = "application/ld+json"
_CDATA = re.compile(r"^\s*(?:/[/*])?\s*(?:<!\[CDATA\[|<!--)(?:\s*\*/)?|(?:/[/*])?\s*(?:\]\]>|-->)\s*(?:\*/)?\s*$")

Result = dict[str, Any]


def analyse(request: dict[str, Any], payload: bytes) -> Result:
    """Analyse a body. `request`: url, kind, content_type, content_encoding, limit (bytes when decompressed)."""
    try:
        body = decompressed(payload, request["content_encoding"], request["limit"])
        if request["kind"] == "page":
            check_type(request["content_type"])
            return _page(decoded(body, request["content_type"]), request["url"])

        # Sitemaps are often packed as files, whatever the headers say.
        links = _list(request["kind"], gunzipped(body, request["limit"]), request["url"])
    except Unreadable as unreadable:
        return {"links": [], "article": False, "reason": str(unreadable)}
    return {"links": links, "article": False, "reason": request["kind"]}


# Lists of pages


def _xml(body: bytes) -> Any:
    """Parse an XML file without resolving entities, which could name files and grow without end."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, recover=True, load_dtd=False)
    try:
        root = etree.fromstring(_AMPERSAND.sub("&amp;", _xml_text(body)).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:  # if the parser finds nothing that it could recover
        raise Unreadable("not XML") from error

    # Many a missing sitemap is answered by a page of HTML.
    if root is None:
        raise Unreadable("not XML")
    if etree.QName(root).localname.lower() == "html":
        raise Unreadable("HTML, not a list of pages")
    return root


def _xml_text(body: bytes) -> str:
    """Decode an XML file; a declaration of its encoding counts only if the bytes are neither marked nor UTF-8."""
    declared = _ENCODING.search(body[:200])
    marked = "utf-16" if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    known = character_set(declared[1].decode("ascii")) if declared else None
    for encoding in (marked, known or "cp1252"):
        with suppress(UnicodeDecodeError):
            return _DECLARATION.sub("", body.decode(encoding))
    return _DECLARATION.sub("", body.decode("cp1252", "replace"))


def _list(kind: str, body: bytes, url: str) -> list[list[str | None]]:
    """List the pages of a sitemap or a feed; a sitemap may also be a text of one URL a line (sitemaps.org)."""
    if kind == "sitemap" and body.lstrip(codecs.BOM_UTF8).lstrip().startswith((b"http://", b"https://")):
        lines = map(str.strip, body.decode("utf-8-sig", "replace").splitlines())
        return [[line, "page", None, None] for line in lines if line]
    root = _xml(body)
    return [*(_feed(root, url) if kind == "feed" else _sitemap(root))]


def _sitemap(root: Any) -> Iterator[list[str | None]]:
    """List the pages of a sitemap, or the sitemaps of an index (sitemaps.org), with their dates."""
    for entry in root.iterfind("{*}sitemap"):
        if location := _child(entry, "loc"):
            yield [location, "sitemap", None, _day(_child(entry, "lastmod"))]
    for entry in root.iterfind("{*}url"):
        if location := _child(entry, "loc"):
            published = next((node.text for node in entry.iterfind(".//{*}publication_date")), None)
            yield [location, "page", _day(published), _day(_child(entry, "lastmod"))]


def _feed(root: Any, url: str) -> Iterator[list[str | None]]:
    """List the entries of an RSS 1, RSS 2 or Atom feed at `url`."""
    for entry in root.iter("{*}item", "{*}entry"):
        main = next((node for node in entry.iterfind("{*}link") if _is_main_link(node)), None)
        atom = None if main is None else main.get("href")
        if location := _child(entry, "link") or atom or _permanent_link(entry):
            day = _day(_child(entry, "pubDate") or _child(entry, "published") or _child(entry, "date"))
            yield [_based(url, entry if main is None else main, location), "page", day, None]


def _based(url: str, node: Any, location: str) -> str:
    """Resolve an address in the feed at `url` by the xml:base of its element and of those around it (XML Base, 4.2)."""
    bases = [base.strip() for each in (node, *node.iterancestors()) if (base := each.get(_XML_BASE))]
    base = ""
    for each in [url, *reversed(bases)] if bases else []:
        base = _resolved(base, each)
    return _resolved(base, location)


def _permanent_link(entry: Any) -> str | None:
    """Return the identifier of an RSS item if it is the address of its page, as it is unless the item denies it."""
    guid = entry.find("{*}guid")
    url = _child(entry, "guid") if guid is not None and guid.get("isPermaLink", "true") != "false" else None
    return url if url and url.startswith(("http://", "https://")) else None


def _is_main_link(node: Any) -> bool:
    return node.get("href") is not None and node.get("rel", "alternate") == "alternate"


def _child(entry: Any, name: str) -> str | None:
    text = entry.findtext(f"{{*}}{name}")
    return text.strip() or None if text else None


def _day(text: str | None) -> str | None:
    found = parse_date(text.strip()) if text else None
    return found.isoformat() if found else None


# Pages


def _page(html: str, url: str) -> Result:
    tree = load_html(html)
    if tree is None:
        raise Unreadable("not HTML")

    # Links count even if the page is no article: a list of links is how a crawl gets on.
    result: Result = {"links": [*_links(tree)], "canonical": _canonical(tree), "article": False}
    headings = ["".join(node.itertext()) for node in tree.iter("h1")]
    block = prose_block(tree)
    aside = prose_block(tree, _SKIPPED - {"aside"}) if block is None else None
    marked = _is_marked(tree)
    document = bare_extraction(tree, url=url, with_metadata=True, include_comments=False)
    if not isinstance(document, Document) or not document.text:
        return result | {"reason": "no text"}

    # A cookie wall may carry the article's own marks, so what the page says comes before its metadata.
    obstacle = _obstacle([document.title or "", *headings, *document.text.split("\n")])
    if aside is not None and _has_most(aside, document.text):
        block = aside  # some sites have the article itself in an <aside>
    article = (block is not None or marked) and obstacle is None
    return result | {
        "article": article,
        "reason": None if article else obstacle or "list of links",
        "title": whole_surrogates(document.title) if document.title else None,
        "published": _certain(_day(document.date), html),
        # trafilatura has a line for each paragraph, heading and item, and cleaning parts texts at blank lines
        "text": whole_surrogates(
            trimmed(document.text, {document.title or "", *headings}, block).replace("\n", "\n\n")
        ),
    }


def _certain(day: str | None, html: str) -> str | None:
    """Return the day of a page, unless the page has it only in a form that could be of two months.

    The extractor takes 03/04/2019 for one of both. Where the page has the day in another form, too, it is certain.
    """
    if day is None:
        return None
    year, month, date = map(int, day.split("-"))
    if month == date or date > len(MONTHS):
        return day
    either = rf"(?:0?{month}[/.-]0?{date}|0?{date}[/.-]0?{month})[/.-]{year}"
    name = rf"{MONTHS[month - 1]}[a-z]*\.?"
    certain = (
        rf"{year}[/.-]?0?{month}[/.-]?0?{date}|{name}\W+0?{date}\w*\W+{year}|0?{date}\w*\W+(?:of\W+)?{name}\W+{year}"
    )

    # A day that another form of the page's date confirms is certain.
    ambiguous = re.search(rf"(?<!\d){either}(?!\d)", html)
    known = re.search(rf"(?<!\d)(?:{certain})(?!\d)", html, re.IGNORECASE)
    return None if ambiguous and not known else day


def _obstacle(lines: Iterable[str]) -> str | None:
    """Name the notice that replaces an article, if a third of the text is notices and little is prose."""
    kinds = Counter[str]()
    prose = 0
    for line in chain.from_iterable(map(_paragraphs, lines)):
        kind = next((kind for kind, notice in _OBSTACLES.items() if notice.search(line)), None)
        length = _length(line)
        kinds[kind or "other"] += length
        prose += length if kind is None and length >= PROSE else 0

    # A notice beside an article is no obstacle; one in place of it is.
    other = kinds.pop("other", 0)
    found = bool(kinds) and prose < LONG_PROSE and 2 * kinds.total() > other
    return max(kinds, key=kinds.__getitem__) if found else None


def _paragraphs(line: str) -> list[str]:
    """Part a line that is longer than any paragraph, such as an article in the cell of a table, into its sentences."""
    if len(line) < LONGEST_PARAGRAPH:
        return [line] if line else []
    return _SENTENCE_END.split(line)


def trimmed(text: str, titles: Iterable[str], block: Any) -> str:
    """Trim the title, datelines, menus and notices that trafilatura leaves at the ends of `text`.

    A line is removed if it is a title, or is shorter than a paragraph and outside the block that has the prose.
    """
    inside = _squeezed("".join(block.itertext())) if block is not None else None
    around = {_squeezed(title) for title in titles}
    lines = text.split("\n")

    def is_around(line: str) -> bool:
        words = _squeezed(line)
        return words in around or (inside is not None and _length(line) < PROSE and words not in inside)

    # Only from the ends: the same words within the article belong to it.
    while lines and is_around(lines[0]):
        lines.pop(0)
    while lines and is_around(lines[-1]):
        lines.pop()
    return "\n".join(lines) or text


def _length(text: str) -> int:
    """Count characters, in scripts without spaces between words those of as many English words."""
    return max(len(text), WORD * unspaced_words(text))


def _squeezed(text: str) -> str:
    """Keep letters and digits only: spaces and list marks differ between a tree and its text."""
    return "".join(filter(str.isalnum, text))


def _links(tree: HtmlElement) -> Iterator[list[str | None]]:
    """List the links of a page; respect `nofollow`, and resolve links by <base>."""
    base = next((node.get("href") for node in tree.iter("base") if node.get("href")), None)
    seen = set()
    if sent := _refreshed(tree):
        seen.add(target := _resolved(base, sent))
        yield [target, "page", None, None]

    # Links of the head lead to further pages of a list, those of the body unless they say nofollow.
    for node in tree.iter("a", "area", "link"):
        target, relation = node.get("href"), (node.get("rel") or "").lower().split()
        wanted = {"next", "prev", "canonical"} & {*relation} if node.tag == "link" else "nofollow" not in relation
        if target and wanted and (target := _resolved(base, target)) not in seen:
            seen.add(target)
            yield [target, "page", None, None]


def _refreshed(tree: HtmlElement) -> str | None:
    """Return the address to which a page redirects: `<meta http-equiv="refresh" content="0; url=/new.html">`."""
    for node in tree.iter("meta"):
        if (node.get("http-equiv") or "").strip().lower() == "refresh":
            target = _REFRESH.match(node.get("content") or "")
            return target[1].strip() if target else None
    return None


def _resolved(base: str | None, target: str) -> str:
    try:
        return urljoin(base, target) if base else target
    except ValueError:
        return target  # the policy refuses it with a reason


def _canonical(tree: HtmlElement) -> str | None:
    for node in tree.iter("link"):
        if "canonical" in (node.get("rel") or "").lower().split() and node.get("href"):
            return str(node.get("href"))
    return None


def _is_marked(tree: HtmlElement) -> bool:
    """Tell whether the page declares itself an article: Open Graph, or schema.org as JSON-LD or microdata."""
    for node in tree.iter("meta"):
        if node.get("property") == "og:type" and (node.get("content") or "").lower() == "article":
            return True
        if node.get("property") == "article:published_time":
            return True
    return any(_ARTICLE_TYPE.match(name) for name in _schema_types(tree))


def _schema_types(tree: HtmlElement) -> Iterator[str]:
    """Yield the names of the types that a page declares, as JSON-LD or microdata, without their vocabulary."""
    for node in tree.iter("script"):
        if (node.get("type") or "").partition(";")[0].strip().lower() == _JSON_LD:
            yield from map(_type_name, _json_types(_json_of(node.text or "")))
    for node in tree.xpath("//*[@itemtype and not(ancestor::*[@itemtype])]"):
        yield from map(_type_name, node.get("itemtype").split())


def _json_of(text: str) -> Any:
    """Read JSON-LD as pages have it: in a comment or CDATA, with raw line ends in strings; None if it is broken."""
    try:
        return json.loads(_CDATA.sub("", text), strict=False)
    except (ValueError, RecursionError):
        return None  # it tells nothing; the page's own text decides


def _json_types(content: Any) -> Iterator[str]:
    """Yield the types of the things that JSON-LD describes: one, a list, a graph, or the main thing of a page."""
    # A page may nest what it describes to any depth, so no recursion.
    things = [content]
    while things:
        thing = things.pop()
        if isinstance(thing, list):
            things += thing
        elif isinstance(thing, dict):
            types = thing.get("@type", [])
            yield from (name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str))
            things += [thing[key] for key in ("@graph", "mainEntity") if key in thing]


def _type_name(name: str) -> str:
    """Return the name of a type, such as NewsArticle for https://schema.org/NewsArticle or schema:NewsArticle."""
    return re.split(r"[/#:]", name.strip().rstrip("/#"))[-1]


def _has_most(block: Any, text: str) -> bool:
    """Tell whether a block has most of the text that was extracted from its page."""
    inside = _squeezed("".join(block.itertext()))
    lines = [_squeezed(line) for line in text.split("\n")]
    return 2 * sum(len(line) for line in lines if line in inside) > sum(map(len, lines))


def prose_block(tree: HtmlElement, skipped: frozenset[str] = _SKIPPED) -> Any:
    """Return the block with the most prose; None if no block outside the `skipped` elements has several paragraphs.

    A list of teasers has one paragraph in each of its blocks. <p>s count for their parent, text between <br>s for the
    block that contains it.
    """
    paragraphs: Counter[Any] = Counter()
    for node in tree.iter():  # comments, too: text may follow them
        own = node.text if isinstance(node.tag, str) else None
        for text, owner in ((own, node), (node.tail, node.getparent())):
            if text and _length(text.strip()) >= PROSE and owner is not None and not _is_skipped(owner, skipped):
                paragraphs[_block(owner)] += 1 if _length(text) < LONG_PROSE else PROSE_PARAGRAPHS
    block, count = max(paragraphs.items(), key=lambda item: item[1], default=(None, 0))
    return block if count >= PROSE_PARAGRAPHS else None


def _is_skipped(node: Any, skipped: frozenset[str]) -> bool:
    return node.tag == "a" or any(
        parent.tag in skipped or parent.tag == "a" for parent in [node, *node.iterancestors()]
    )


def _block(node: Any) -> Any:
    """Find the block of a text: go up past inline elements, its paragraph, and wrappers of one element."""
    while node.tag in _INLINE and node.getparent() is not None:
        node = node.getparent()
    if node.tag == "p" and node.getparent() is not None:
        node = node.getparent()
        while len(node) == 1 and node.tag != "body" and node.getparent() is not None:
            node = node.getparent()
    return node
