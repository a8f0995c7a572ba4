"""The text that a student is distilled from: a list, an iterator or files, turned into clean sentences in a directory.

Every text is a separate article, so that cleaning can identify its language and find repeated texts. Without cleaning,
every text is one sentence, unchanged.
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.corpus.cleaning import clean, refuse_other_content
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.schema import ARTICLES, SENTENCES
from sentence_distillery.corpus.tables.formats import WHOLE
from sentence_distillery.corpus.tables.reading import Reading, check_options, files_to_read, read_texts
from sentence_distillery.encoder.texts import each_of
from sentence_distillery.io.artifacts import InputError, atomic_directory, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import one_line, option
from sentence_distillery.io.places import is_there
from sentence_distillery.io.unicode import whole_surrogates

CLEAN = Clean()
PART_ARTICLES = 5_000
SHOWN = 60  # characters of a refused value
NOTHING = "{} has no text: it is empty or blank. Give sentences or articles."

Texts = str | Path | Iterable[str | Path]
Article = tuple[str, str]  # its source and its text
Item = TypeVar("Item")


def write_sentences(
    texts: Texts,
    reading: Reading,
    options: Clean | None,
    fingerprints: NDArray[np.uint64] | None,
    directory: Path,
    counters: Counters,
    held_out: HeldOut | None = None,
) -> None:
    """Write texts, or files of texts, as sentences, `part-*.parquet`, to a directory, which is replaced.

    `reading` says how to read files, `options` how to clean; None takes each text as one sentence, unchanged. Sentences
    with one of the `fingerprints` are left out. `held_out` says how much goes to `held_out.parquet` in place of the
    parts; it needs cleaning. The counters count sentences that are kept, and those that are dropped, by reason.

    Raises InputError if there is no text, a file cannot be read or the directory holds anything but sentences, and
    TypeError if a text is neither a str nor a Path.
    """
    refuse_other_content(directory)
    if options is None:
        if fingerprints is not None:
            raise InputError("fingerprints need clean=True, since cleaning compares them.")
        if held_out is not None:
            raise InputError(
                f"{option('held_out')} needs cleaning, which removes repeated texts from the training text; leave out "
                f"{option('clean=False', '--no-clean')}."
            )
        _write_as_they_stand(texts, reading, directory, counters)
        return

    # Articles are written first, since cleaning reads them more than once.
    articles = directory.with_name(f".{directory.name}.articles.partial")
    with atomic_directory(articles) as partial:
        found = _write_articles(read_articles(texts, reading), partial, counters)
        if not found:
            raise InputError(NOTHING.format(named(texts)))
    _clean(articles, directory, options, fingerprints, counters, held_out)
    shutil.rmtree(articles)


def _clean(
    articles: Path,
    target: Path,
    options: Clean,
    fingerprints: NDArray[np.uint64] | None,
    counters: Counters,
    held_out: HeldOut | None,
) -> None:
    """Clean articles into sentences, in this process; dropped ones are counted, even if all are dropped."""
    cleaned = Counters(counters.unit)
    try:
        clean(articles, target, options, fingerprints, counters=cleaned, held_out=held_out)
    except InputError:
        if cleaned.kept or cleaned.dropped.total() == 0:
            raise  # else no sentence was kept: `distill` says so in terms of its own arguments

    # The caller's counters may be of several steps, so the counts are added and not passed in.
    counters.keep(cleaned.kept)
    counters.dropped.update(cleaned.dropped)
    counters.details.update({name: count for name, count in cleaned.details.items() if name.endswith("held out")})


def named(texts: Texts) -> str:
    """Return the path of a file or a directory of texts, for a message; "texts" for all else."""
    return str(texts) if isinstance(texts, str | Path) else "texts"


def _write_articles(articles: Iterator[Article], directory: Path, counters: Counters) -> int:
    """Write articles, a part in memory at a time, and return their number; drop and count blank ones."""
    number = 0
    for part, group in enumerate(_groups(articles)):
        rows = [
            {"url": f"{source}#{number + place}", "source": source, "published": None, "title": None, "text": text}
            for place, (source, text) in enumerate(group, start=1)
            if text.strip()
        ]

        # A blank text has a number, too, so that a place in the user's list is a place here.
        counters.drop("blank", len(group) - len(rows))
        number += len(rows)
        write_table(directory / f"part-{part:05d}.parquet", pa.Table.from_pylist(rows, schema=ARTICLES))
    return number


def _groups(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yield the items, a part at a time."""
    while group := list(islice(items, PART_ARTICLES)):
        yield group


def _write_as_they_stand(texts: Texts, reading: Reading, directory: Path, counters: Counters) -> None:
    """Write each text, and each line of a .txt file, as one sentence; drop and count blank ones."""
    names = ("document", "position", "text")
    schema = pa.schema([SENTENCES.field(name) for name in names])
    sentences = (text.strip() for _, text in read_articles(texts, reading, by_line=True))

    # Each text is a document with one sentence, so that the parts have the form of a cleaned corpus.
    with atomic_directory(directory) as partial:
        document = 0
        for part, group in enumerate(_groups(sentences)):
            kept = [text for text in group if text]
            counters.keep(len(kept))
            counters.drop("blank", len(group) - len(kept))
            columns = [np.arange(document, document + len(kept)), np.zeros(len(kept), np.int32), kept]
            document += len(kept)
            write_table(partial / f"part-{part:05d}.parquet", pa.table(columns, schema=schema))
        if document == 0:
            raise InputError(NOTHING.format(named(texts)))


def read_articles(texts: Texts, reading: Reading, by_line: bool = False) -> Iterator[Article]:
    """Yield the source and the text of each article; raises InputError and TypeError as `write_sentences`.

    A file of plain text is one article, or one for each line if `by_line`.
    """
    if isinstance(texts, str):
        if not is_there(Path(texts)):
            raise InputError(f"texts = {_shown(texts)} is not a file or a directory; give a path, or texts in a list.")
        texts = Path(texts)
    if isinstance(texts, Path):
        texts = [texts]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"texts is {_shown(texts)}; give texts, or paths of files that hold them.")

    # Known paths are checked at once; those of a generator when they come.
    known: dict[Path, list[tuple[Path, str]]] = {}
    if isinstance(texts, list | tuple):
        known = {text: files_to_read([text], reading) for text in texts if isinstance(text, Path)}
        check_options(reading, {format for files in known.values() for _, format in files})
    for index, text in enumerate(_given(texts)):
        if isinstance(text, Path):
            for file, format in known.get(text) or files_to_read([text], reading):
                source = whole_surrogates(file.parent.name if format in WHOLE else file.stem)
                yield from ((source, text) for text, _ in read_texts(file, format, reading, by_line))
        elif isinstance(text, str):
            yield "texts", whole_surrogates(text)
        else:
            raise TypeError(f"texts[{index}] is {_shown(text)}, neither a str nor a Path; leave it out.")


def _given(texts: Texts) -> Iterator[object]:
    """Yield what a caller gives; what fails there is no fault of the file that is being written."""
    try:
        yield from each_of(texts)
    except OSError as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(f"texts: what gives them fails with {reason}; correct it, then run again.") from error


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:SHOWN]}{'...' if len(text) > SHOWN else ''} ({type(value).__name__})"
