"""Pages of the test site: the same kind of article in the layouts that news sites have had, and lists of articles.

Each layout has the article's words once, surrounded by text that an extractor has to leave out: navigation,
teasers, captions, shares, comments, cookies and footers.
"""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

MENU = ("Home", "World", "Business", "Culture", "Sports", "Opinion", "Video", "Subscribe")
TEASERS = (
    ("Markets end the week on a quiet note", "Traders waited for figures that are due on Tuesday morning."),
    ("A bridge that nobody wanted opens at last", "The mayor cut the ribbon before a crowd of some two hundred."),
    ("Five books to read before the summer", "Our critics have chosen novels, memoirs and one cookery book."),
)


@dataclass(frozen=True)
class Article:
    """The expected extraction of a page."""

    path: str
    title: str
    published: date
    paragraphs: tuple[str, ...]
    layout: str

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _menu() -> str:
    return "".join(f'<li><a href="/{name.lower()}/">{name}</a></li>' for name in MENU)


def _teasers() -> str:
    return "".join(f'<div class="card"><h3><a href="/">{title}</a></h3><p>{text}</p></div>' for title, text in TEASERS)


def _titles() -> str:
    return "".join(f'<li><a href="/">{title}</a></li>' for title, _ in TEASERS)


def _paragraphs(article: Article, tag: str = "p") -> str:
    return "".join(f"<{tag}>{_escaped(text)}</{tag}>\n" for text in article.paragraphs)


def _semantic(article: Article) -> str:
    """HTML5 as a content system of today writes it, with JSON-LD and Open Graph."""
    data = {"@context": "https://schema.org", "@type": "NewsArticle", "headline": article.title}
    data["datePublished"] = f"{article.published}T08:30:00+00:00"
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<title>{_escaped(article.title)} | The Loopback</title>
<meta property="og:type" content="article"><meta property="og:title" content="{html.escape(article.title)}">
<script type="application/ld+json">{json.dumps(data)}</script></head><body>
<header><nav><ul>{_menu()}</ul></nav></header><main><article><h1>{_escaped(article.title)}</h1>
<div class="byline">By <a href="/staff/jane-doe">Jane Doe</a>
<time datetime="{article.published}">{article.published}</time></div>
<figure><img src="/i/1.jpg" alt="A street"><figcaption>A street in the old town. Photo: J. Roe</figcaption></figure>
{_paragraphs(article)}
<ul class="share"><li><a href="#">Share on Facebook</a></li><li><a href="#">Share by e-mail</a></li></ul></article>
<aside class="related"><h2>Related stories</h2>{_teasers()}</aside></main>
<footer><p>Copyright 2024 The Loopback. All rights reserved. Terms of use. Privacy policy.</p></footer></body></html>"""


def _tables(article: Article) -> str:
    """Lay out with tables and fonts, as around 2000; the date is in a separate meta element."""
    menu = "".join(f'<td><font size="2"><a href="/{name.lower()}/">{name}</a></font></td>' for name in MENU)
    side = "".join(f'<tr><td><a href="/"><b>{title}</b></a></td></tr>' for title, _ in TEASERS)
    return f"""<html><head><title>{_escaped(article.title)}</title>
<meta name="publishdate" content="{article.published}"></head><body bgcolor="#ffffff">
<table width="760"><tr>{menu}</tr></table><table width="760"><tr><td width="160" valign="top"><table>{side}</table></td>
<td width="600" valign="top"><h1><font face="Arial">{_escaped(article.title)}</font></h1>
{_paragraphs(article)}</td></tr></table>
<table width="760"><tr><td align="center"><font size="1">Copyright by The Loopback. About us | Contact</font></td></tr>
</table></body></html>"""


def _breaks(article: Article) -> str:
    """Use no paragraphs, but one block divided by two <br>s each; the date is only in the text above it."""
    text = "<br><br>\n".join(map(_escaped, article.paragraphs))
    return f"""<html><head><title>{_escaped(article.title)} - Loopback Daily</title></head><body>
<div id="menu"><ul>{_menu()}</ul></div><div id="story"><h1>{_escaped(article.title)}</h1>
<div class="date">Published: {article.published:%B} {article.published.day}, {article.published.year}</div>
<div class="story-body">{text}</div></div>
<div id="sidebar"><h4>Most read</h4><ul>{_titles()}</ul></div>
<div id="footer">Loopback Daily, 1 Local Street. <a href="/terms">Terms</a></div></body></html>"""


def _daily(article: Article) -> str:
    """Like the English edition of China Daily: #Content with its <p>s, meta publishdate, a line with the time."""
    return f"""<!DOCTYPE html><html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">
<title>{_escaped(article.title)} - Loopbackdaily.com</title><meta name="publishdate" content="{article.published}">
<meta property="og:type" content="article"></head><body><div class="topBar"><ul>{_menu()}</ul></div>
<div class="main"><div id="lft-art"><h1>{_escaped(article.title)}</h1>
<div class="info"><span class="info_l">loopbackdaily.com | Updated: {article.published} 09:12</span></div>
<div id="Content">
<figure class="image"><img src="//img/x.jpeg">
<figcaption>A street in the old town. [Photo/LNA]</figcaption></figure>{_paragraphs(article)}</div></div>
<div class="mai_r">
<div class="tit"><a href="/">Most Viewed in 24 Hours</a></div><ul>{_titles()}</ul></div></div>
<div class="topNav2_art"><a href="/">BACK TO THE TOP</a><a href="/">English</a><a href="/">Chinese</a></div>
<div class="dabg1">Copyright 1994 - . All rights reserved. The content published in this site belongs to the Loopback
Daily Information Company.</div></body></html>"""


def _microdata(article: Article) -> str:
    """schema.org as attributes, an advertisement amid the text, comments of readers below it."""
    half = len(article.paragraphs) // 2
    first, second = (
        "".join(f"<p>{_escaped(text)}</p>" for text in part)
        for part in (article.paragraphs[:half], article.paragraphs[half:])
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>{_escaped(article.title)}</title></head><body>
<div class="cookie-banner">We use cookies to improve your experience. <button>Accept all</button></div>
<div class="nav"><ul>{_menu()}</ul></div>
<div itemscope itemtype="https://schema.org/NewsArticle"><h1 itemprop="headline">{_escaped(article.title)}</h1>
<meta itemprop="datePublished" content="{article.published}"><div itemprop="articleBody" class="post-content">{first}
<div class="advertisement"><span>Advertisement</span><a href="/buy">Buy one, get one free</a></div>{second}</div></div>
<div id="comments"><h3>2 comments</h3><div class="comment"><p>First! What a fine piece of writing, thank you.</p></div>
<div class="comment"><p>I do not agree with a word of this, and I have told the editor so.</p></div></div>
<div class="footer">The Loopback Post</div></body></html>"""


def _wrapped(article: Article) -> str:
    """Put each paragraph into a separate block, as visual editors do; subtitle and time are in the header."""
    blocks = "".join(
        f'<div data-block="text"><p class="css-1x"><span>{_escaped(text)}</span></p></div>'
        for text in article.paragraphs
    )
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{_escaped(article.title)}</title>
<meta property="article:published_time" content="{article.published}T10:00:00Z"></head><body><div id="app">
<div role="navigation"><ul>{_menu()}</ul></div><main id="main-content"><article><header>
<h1>{_escaped(article.title)}</h1></header>{blocks}<section data-block="links"><h2>More on this story</h2><ul>
{_titles()}</ul></section></article></main>
<footer role="contentinfo">Explore the Loopback</footer></div></body></html>"""


LAYOUTS: dict[str, Callable[[Article], str]] = {
    "semantic": _semantic,
    "tables": _tables,
    "breaks": _breaks,
    "daily": _daily,
    "microdata": _microdata,
    "wrapped": _wrapped,
}


def render(article: Article, canonical: str | None = None) -> str:
    page = LAYOUTS[article.layout](article)
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    return page.replace("</head>", f"{link}</head>", 1)


def listing(title: str, articles: Sequence[tuple[str, Article]], links: Sequence[str], following: str | None) -> str:
    """A section's page: teasers with the first sentence of each article, further links, the next page."""
    cards = "".join(
        f'<div class="teaser"><h2><a href="{html.escape(url)}">{_escaped(article.title)}</a></h2>'
        f"<p>{_escaped(article.paragraphs[0][:200])}</p></div>"
        for url, article in articles
    )
    further = "".join(f'<li><a href="{html.escape(url)}">More {number}</a></li>' for number, url in enumerate(links))
    more = f'<a rel="next" href="{html.escape(following)}">Older stories</a>' if following else ""
    return f"""<!DOCTYPE html><html lang="en"><head><title>{title} | The Loopback</title></head><body>
<nav><ul>{_menu()}</ul></nav><h1>{title}</h1><div class="list">{cards}</div><ul>{further}</ul>{more}
<footer>Copyright 2024 The Loopback</footer></body></html>"""
