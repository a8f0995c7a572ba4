"""Hooks of MkDocs: pages from other folders of the repository, generated parts of the reference, links.

A page links to files as they lie in the repository, so that it can be read there. On the site, README is the home page,
and a link to a file that has no page becomes its name.
"""

import posixpath
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite.reference import PARTS
from docsite.saved import ROOT
from javascript import try_it

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
PART = re.compile(r"<!-- on the site: (.*?) -->")
FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of docs."""
    for source, page in ROOT_PAGES.items():
        text = FRONT.sub("", (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write the generated part that a page asks for, and turn links to files into links to pages."""
    place = page.file.src_uri
    pieces = FENCE.split(markdown)
    pieces[::2] = [LINK.sub(lambda link: linked(link, place, files), piece) for piece in pieces[::2]]
    return PART.sub(lambda asked: PARTS[asked[1]](), "".join(pieces))


def on_post_build(config: MkDocsConfig) -> None:
    """Write what the page "Try it" needs beside itself."""
    try_it.write(Path(config.site_dir))


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
