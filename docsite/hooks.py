"""Hooks of MkDocs: pages from other folders of the repository, the picture of the graph, links.

A page links to files as they lie in the repository, so that it can be read there. On the site, README is the home page,
and a link to a file that has no page becomes its name.
"""

import posixpath
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite import try_it
from docsite.kept import ROOT
from docsite.reference import picture

ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "models/released/README.md": "model-card.md",
    **{
        f"reproductions/docs/{name}.md": f"reproductions/{name}.md"
        for name in ("paper_1", "papers_2_and_3", "pairs-and-components", "levers")
    },
}
FROM_ROOT = {page: source for source, page in ROOT_PAGES.items()}
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
GRAPH = "<!-- the graph, on the site -->"
FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)
CELL = re.compile(r"(<t[dh](?P<right> style=\"text-align: right;\")?[^>]*>)(?P<text>.*?)(?=</t[dh]>)", re.S)
COMMANDS = re.compile(r"(?<=<div class=\"language-sh highlight\">).*?</code>", re.S)
NAME = re.compile(r"\b(?:STS-B|SICK-[RE])\b")
NOT_SEARCHED = ("try-it.md", "changelog.md")  # by the page "Try it"
PASSAGES: dict[str, list[try_it.Passage]] = {}  # by the address of a page
FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of docs."""
    for source, page in ROOT_PAGES.items():
        text = FRONT.sub("", (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw the graph where a page asks for it, and turn links to files into links to pages."""
    place = page.file.src_uri
    pieces = FENCE.split(markdown)
    pieces[::2] = [LINK.sub(lambda link: linked(link, place, files), piece) for piece in pieces[::2]]
    text = "".join(pieces)
    return text.replace(GRAPH, picture()) if GRAPH in text else text


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let a table break between figures, and a command between options, and not within one."""
    if page.file.src_uri not in NOT_SEARCHED:
        PASSAGES[page.url] = try_it.passages(html, page.url, str(page.title or config.site_name))
    html = COMMANDS.sub(lambda code: _whole_options(code[0]), html)
    return CELL.sub(_whole_cell, html)


def on_post_build(config: MkDocsConfig) -> None:
    """Write what the page "Try it" needs beside itself."""
    try_it.write(Path(config.site_dir), [passage for url in sorted(PASSAGES) for passage in PASSAGES[url]])


def _whole_options(code: str) -> str:
    """Keep each word with a hyphen whole, in the text of some HTML.

    >>> _whole_options("<code>make --dry-run</code>")
    '<code>make <span class="whole">--dry-run</span></code>'
    """
    return re.sub(r"(?<=>)[^<]+", lambda text: re.sub(r"\S*-\S*", r'<span class="whole">\g<0></span>', text[0]), code)


def _whole_figures(text: str) -> str:
    """Join the parts of pairs, intervals and spreads by spaces that do not break.

    >>> _whole_figures("84.7 / 84.8, 84.5 / 84.6").split(" ")
    ['84.7\\xa0/\\xa084.8,', '84.5\\xa0/\\xa084.6']
    >>> _whole_figures("Pearson / Spearman")
    'Pearson / Spearman'
    """
    text = re.sub(r"(?<=[\d–>]) ([/±]) (?=[\d–−<])", "\xa0\\1\xa0", text)
    return re.sub(r"\[[^\]<]*\]", lambda interval: interval[0].replace(" ", "\xa0"), text)


def _whole_cell(cell: re.Match[str]) -> str:
    """Keep the figures of a cell that is aligned to the right whole, and the names of sets, which have a hyphen."""
    text = _whole_figures(cell["text"]) if cell["right"] else cell["text"]
    return cell[1] + (text if "<code" in text else NAME.sub(r'<span class="whole">\g<0></span>', text))


def linked(link: re.Match[str], place: str, files: Files) -> str:
    """Return a link of the page at `place` as the site needs it."""
    target = link["target"]
    if "://" in target or target.startswith("mailto:"):
        return link[0]
    source = PurePosixPath(FROM_ROOT.get(place, f"docs/{place}"))
    file = posixpath.normpath(str(source.parent / target))
    page = ROOT_PAGES.get(file) or file.removeprefix("docs/")
    if files.get_file_from_path(page) is not None:
        relative = posixpath.relpath(page, posixpath.dirname(place) or ".")
        return f"{link['image']}[{link['text']}]({relative}{link['anchor'] or ''})"
    if not (ROOT / file).exists():
        return link[0]
    return f"`{file}`" if link["text"].strip("`") == file else f"{link['text']} (`{file}`)"
