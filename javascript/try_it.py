"""What the page "Try it" needs beside itself: the encoder in JavaScript, the released model, and the site's passages.

    assets/try-it/sentence-distillery.js    as `make javascript` writes it
    assets/try-it/model/                    the released model, as it lies in the package
    assets/try-it/passages.json             [heading, address, text] of each paragraph, item and row

Passages come from the index that MkDocs' search writes. Without a compiler for WebAssembly the site is built all the
same, and the page says what is missing.
"""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, Final

from javascript import build
from sentence_distillery.encoder.persistence.finding import RELEASED_DIRECTORY
from sentence_distillery.encoder.persistence.names import CONFIG, SETTINGS, TOKENIZER, WEIGHTS

FOLDER: Final = Path("assets") / "try-it"
NOT_SEARCHED: Final = ("try-it.html", "changelog.html")
LONGEST: Final = 400  # characters of a passage, about
SHORTEST: Final = 30
LETTERS: Final = 0.6  # of the characters of a passage, at least
_LEFT_OUT: Final = re.compile(r"<(pre|thead|svg|script|style)\b.*?</\1>", re.S)
_BLOCK: Final = re.compile(r"</?(?:p|li|tr|dt|dd)\b[^>]*>")
_TAG: Final = re.compile(r"<[^>]+>")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])")

Passage = tuple[str, str, str]


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


def passages(entries: list[dict[str, Any]]) -> Iterator[Passage]:
    """Yield the passages of the search index, whose entries have the address, the title and the HTML of a section.

    >>> list(passages([{"location": "x.html", "title": "Page", "text": "<p>A storm closed the old harbour.</p>"}]))
    [('Page', 'x.html', 'A storm closed the old harbour.')]
    """
    page = ""
    for entry in entries:
        address, title = entry["location"], _plain(entry["title"])
        page = page if "#" in address else title
        if address.partition("#")[0] not in NOT_SEARCHED:
            heading = page if title == page else f"{page} › {title}"
            for block in _BLOCK.split(_LEFT_OUT.sub(" ", entry["text"])):
                yield from ((heading, address, part) for part in parts(_plain(block)))


def _plain(html: str) -> str:
    """Return the text of some HTML, a space in the place of each tag of a cell or a line break."""
    return " ".join(unescape(_TAG.sub("", re.sub(r"<(?:td|th|br)\b[^>]*>", " ", html))).split())


def write(site: Path) -> None:
    """Write the files of the page to the built site."""
    folder = site / FOLDER
    (folder / "model").mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, SETTINGS, TOKENIZER, WEIGHTS):
        shutil.copyfile(RELEASED_DIRECTORY / name, folder / "model" / name)
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = list(passages(index["docs"]))
    (folder / "passages.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")

    if not build.is_fresh() and build.compiler() is not None:
        build.build()
    if build.is_fresh():
        shutil.copyfile(build.PACKAGE / build.FILE, folder / build.FILE)
    else:
        print(f'The page "Try it" has no encoder: there is no compiler for WebAssembly. {build.REMEDY}')
