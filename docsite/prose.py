"""Measure the English of the pages: `make lint`.

    every page            sentences have at most 25 words on average
    README, how-tos       no paragraph has more than 120 words
    every page            none of the turns that docsite/messages.py names, but on the style page itself
    every page            links lead to files that are there, and to headings that the page has

Code, tables and headings are not counted. An item of a list is a paragraph, and a colon ends a sentence as a full stop
does, since what follows it is read anew.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from docsite.kept import ROOT
from docsite.messages import turns

MEAN_WORDS = 25
PARAGRAPH_WORDS = 120
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.S | re.M)
REFERENCE = re.compile(r"<!-- reference: .*?<!-- end of reference -->", re.S)  # docsite.messages reads docstrings
COMMENT = re.compile(r"<!--.*?-->", re.S)
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.M)
SENTENCE = re.compile(r"(?<=[.!?:])[\s\"”)*_]+(?=[A-Z`\"“(*])")
SHORT = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|no|fig)\.", re.IGNORECASE)


def pages() -> list[Path]:
    """Return every page of the documentation."""
    names = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
    names += ["models/released/README.md"]
    names += [f"sentence_distillery/papers/paper{number}/README.md" for number in (1, 2, 3)]
    return [ROOT / name for name in names] + sorted((ROOT / "docs").rglob("*.md"))


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and items of a page, without code, tables and headings.

    >>> list(paragraphs("# A\\n\\nOne `x`.\\n\\n- two\\n- three\\n\\n| a |\\n| - |\\n"))
    ['One `x`.', 'two', 'three']
    """
    text = IMAGE.sub("", COMMENT.sub("", FENCE.sub("", REFERENCE.sub("", text))))
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not line.lstrip().startswith(("|", "#", ">", "---"))]
        for piece in ITEM.split("\n".join(lines)):
            if words := " ".join(piece.split()):
                yield LINK.sub(r"\1", words)


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph into sentences.

    >>> sentences("One is here. Two, et al. 2017, is `there`: Three.")
    ['One is here.', 'Two, et al 2017, is `there`:', 'Three.']
    """
    plain = SHORT.sub(lambda found: found[0].rstrip("."), paragraph)
    return [piece for piece in SENTENCE.split(plain) if piece.strip()]


def mean_words(text: str) -> float:
    """Return the mean number of words of a page's sentences, 0 for a page without any."""
    lengths = [len(sentence.split()) for part in paragraphs(text) for sentence in sentences(part)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def slug(heading: str) -> str:
    """Return the anchor of a heading, as the site and GitHub make it.

    >>> slug("Who can use it?"), slug("`seed`s & more")
    ('who-can-use-it', 'seeds-more')
    """
    plain = re.sub(r"[^\w\s-]", "", LINK.sub(r"\1", heading).lower())
    return re.sub(r"[\s-]+", "-", plain).strip("-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings."""
    return {slug(heading) for heading in re.findall(r"^#+\s+(.+?)\s*$", FENCE.sub("", text), re.M)}


def dead_links(path: Path) -> Iterator[str]:
    """Yield each link of a page that leads nowhere: a file, or a heading of a page."""
    for _, target in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (path.parent / place).resolve() if place else path
        if not file.exists():
            yield f"{target} is not there"
        elif anchor and file.suffix == ".md":
            text = file.read_text(encoding="utf-8")
            if "<!-- generated:" not in text and anchor not in anchors(text):
                yield f"{target}: the page has no such heading"


def problems(path: Path) -> Iterator[str]:
    """Yield the faults of a page."""
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    if (mean := mean_words(text)) > MEAN_WORDS:
        yield f"{name}: {mean:.1f} words in a sentence on average, at most {MEAN_WORDS}; cut the long ones"
    if name == "README.md" or name.startswith("docs/how-to/") or name == "docs/tutorial.md":
        for part in paragraphs(text):
            if (words := len(part.split())) > PARAGRAPH_WORDS:
                yield f"{name}: {words} words in the paragraph '{part[:50]}…', at most {PARAGRAPH_WORDS}; split it"
    for part in paragraphs(text) if name != "docs/style.md" else ():
        yield from (f"{name}: {turn}: '{part[:50]}…'" for turn in turns(part))
    yield from (f"{name}: {link}" for link in dead_links(path))


def main() -> None:
    found = [problem for path in pages() for problem in problems(path)]
    if found:
        sys.exit("\n".join(found))
    print(f"prose: {len(pages())} pages")


if __name__ == "__main__":
    main()
