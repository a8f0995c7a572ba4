"""What the page "Try it" needs beside itself: the encoder in JavaScript, the released model, and the site's passages.

    assets/try-it/sentence-distillery.js    as `make javascript` writes it
    assets/try-it/model/                    the released model, as it lies in the package
    assets/try-it/passages.json             [heading, address, text] of each paragraph, item and row

Without a compiler for WebAssembly the site is built all the same, and the page says what is missing.
"""

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from javascript import build
from sentence_distillery.encoder.files import CONFIG, SETTINGS, TOKENIZER, WEIGHTS
from sentence_distillery.encoder.reading import RELEASED_DIRECTORY

FOLDER: Final = Path("assets") / "try-it"
LONGEST: Final = 400  # characters of a passage, about
SHORTEST: Final = 30
LETTERS: Final = 0.6  # of the characters of a passage, at least
_HEADINGS: Final = ("h1", "h2", "h3", "h4")
_BLOCKS: Final = ("p", "li", "tr", "dt", "dd")
_LEFT_OUT: Final = ("svg", "script", "style", "pre", "thead", "form")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])")

Passage = tuple[str, str, str]


class Blocks(HTMLParser):
    """Collects the text of each block of a page, with the heading above it.

    Args:
        location: The address of the page, from the root of the site.
        title: Its title.
    """

    def __init__(self, location: str, title: str) -> None:
        super().__init__()
        self.found: list[Passage] = []
        self._location, self._page, self._section = location, title, title
        self._anchor = ""
        self._pieces: list[str] = []
        self._outside = 0  # elements around that are left out
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a heading or an element that is left out."""
        if tag in _LEFT_OUT:
            self._outside += 1
        elif tag in _HEADINGS:
            self._end()
            self._heading, self._anchor = True, dict(attrs).get("id") or ""
        elif tag in _BLOCKS:
            self._end()
        elif tag in ("td", "br"):
            self._pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """End a block, a heading or an element that is left out."""
        if tag in _LEFT_OUT:
            self._outside -= 1
        elif tag in _HEADINGS:
            name = " ".join("".join(self._pieces).replace("¶", "").split())
            self._section = self._page if tag == "h1" else f"{self._page} › {name}"
            self._pieces, self._heading = [], False
        elif tag in _BLOCKS:
            self._end()

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._outside:
            self._pieces.append(data)

    def close(self) -> None:
        """End the last block."""
        super().close()
        self._end()

    def _end(self) -> None:
        text, self._pieces = " ".join("".join(self._pieces).split()), []
        address = f"{self._location}#{self._anchor}" if self._anchor else self._location
        self.found += [(self._section, address, part) for part in parts(text)]


def parts(text: str) -> Iterator[str]:
    """Cut a long text after sentences; one that is too short to be found is left out, and so is a row of figures.

    >>> list(parts("Short."))
    []
    >>> [len(part) for part in parts("A sentence of thirty letters, or so. " * 20)]
    [406, 332]
    """
    held = ""
    for sentence in _END.split(text):
        held = f"{held} {sentence}".strip()
        if len(held) >= LONGEST - SHORTEST:
            yield held
            held = ""
    if len(held) >= SHORTEST and sum(map(str.isalpha, held)) > LETTERS * len(held):
        yield held


def passages(html: str, location: str, title: str) -> list[Passage]:
    """List the passages of a page.

    >>> passages('<h2 id="a">One<a>¶</a></h2><p>The storm closed the port for days.</p>', "x.html", "Page")
    [('Page › One', 'x.html#a', 'The storm closed the port for days.')]
    """
    blocks = Blocks(location, title)
    blocks.feed(html)
    blocks.close()
    return blocks.found


def write(site: Path, found: list[Passage]) -> None:
    """Write the files of the page to the built site."""
    folder = site / FOLDER
    (folder / "model").mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, SETTINGS, TOKENIZER, WEIGHTS):
        shutil.copyfile(RELEASED_DIRECTORY / name, folder / "model" / name)
    (folder / "passages.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    if not build.is_fresh() and build.compiler() is not None:
        build.build()
    if build.is_fresh():
        shutil.copyfile(build.PACKAGE / build.FILE, folder / build.FILE)
    else:
        print(f'The page "Try it" has no encoder: there is no compiler for WebAssembly. {build.REMEDY}')
