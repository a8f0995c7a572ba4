"""Collect text of other kinds than news: `python -m measurements.release.texts FROM...`.

    tweets       TweetEval's training texts, without labels              FROM/texts/tweets.parquet
    abstracts    titles and abstracts of MEDLINE                         FROM/text/ohsumed.parquet
    reviews      IMDB's unlabelled film reviews                          FROM/imdb/imdb_unsup.parquet
    manuals      pages of sections 1, 2, 3, 5, 7, 8 of this machine      /usr/share/man
    changes      entries of changelogs of its Debian packages            /usr/share/doc
    docstrings   of Python's own library and of installed packages       this environment

Each is written to data/external/kinds as a Parquet file with the columns source and text; a part of each is drawn by
chance, always the same one. The licence of each is in LICENCES. Texts of evaluation sets are taken out later, when the
corpus is cleaned.
"""

import ast
import gzip
import inspect
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from measurements import command
from measurements.sets import file_of
from sentence_distillery.corpus.tables.formats import read_rows
from sentence_distillery.io.artifacts import write_table

TARGET = Path("data/external/kinds")
LICENCES = {
    "tweets": "research use, Twitter's terms",
    "abstracts": "research use",
    "reviews": "research use, cite Maas et al. 2011",
    "manuals": "free licences of the packages, in /usr/share/doc/PACKAGE/copyright",
    "changes": "free licences of the packages, in /usr/share/doc/PACKAGE/copyright",
    "docstrings": "PSF-2.0 and the permissive licences of the packages",
}
SCHEMA = pa.schema([("source", pa.string()), ("text", pa.string())])
SEED = 1
PAGE = 4_000  # characters of a manual page, since long ones repeat themselves
ALIKE = 60  # pages whose names begin alike: gcloud has 16,000
ENTRIES = 40  # of a changelog, the newest ones
FEWEST = 40  # characters of a text
PACKAGES = ("numpy", "scipy", "sklearn", "pandas", "torch", "matplotlib", "sqlalchemy", "celery", "boto3", "aiohttp")

# Macros of roff within a paragraph, and those that begin and end what is no text.
WITHIN = (".B", ".I", ".BR", ".IR", ".RB", ".RI", ".BI", ".IB", ".Nm", ".Fl", ".Ar", ".Pa", ".Xr")
SHOWN = {".nf": False, ".Bd": False, ".EX": False, ".fi": True, ".Ed": True, ".EE": True}

Texts = Iterable[tuple[str, str]]  # a source and a text


def from_file(sources: Sequence[Path], folder: str, file: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a Parquet file in one of the directories; raises InputError if none has it."""
    rows = read_rows(file_of(sources, folder, file), "parquet", {"text"})
    return ((folder, str(row["text"] or "")) for _, row in rows)


def manuals(place: Path) -> Iterator[tuple[str, str]]:
    """Yield the text of each manual page, as paragraphs with a blank line between them."""
    seen = Counter[str]()
    for path in sorted(path for section in "123578" for path in place.glob(f"man{section}/*.gz")):
        seen[path.name[:4]] += 1
        if seen[path.name[:4]] <= ALIKE and (text := plain(unpacked(path))):
            yield path.name.removesuffix(".gz"), text[:PAGE].rpartition(".")[0] + "."


def unpacked(path: Path) -> str:
    """Read a gzip file; "" if it is a link to nothing."""
    if not path.exists():
        return ""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        return file.read()


def plain(page: str) -> str:
    """Return the paragraphs of a manual page in roff, without its macros, headings and examples.

    >>> plain(".SH NAME\n.PP\nShow \\fBall\\fR\n.I files\nof it.\n.PP\nSort them.")
    'Show all files of it.\n\nSort them.'
    """
    paragraphs, shown = [list[str]()], True
    for line in page.splitlines():
        macro, _, rest = line.partition(" ")
        if not macro.startswith((".", "'")) or macro in WITHIN:
            text = rest.replace('"', "") if macro in WITHIN else line
            paragraphs[-1] += [text] if shown else []
        else:
            shown = SHOWN.get(macro, shown)
            paragraphs.append([])
    cleaned = (re.sub(r"\s+", " ", without_escapes(" ".join(lines))).strip() for lines in paragraphs)
    return "\n\n".join(paragraph for paragraph in cleaned if " " in paragraph)


def without_escapes(text: str) -> str:
    """Remove the escapes of roff.

    >>> without_escapes("\\fIgit\\fR \\-\\-all \\(bu it\\(aqs")
    "git --all  it's"
    """
    text = re.sub(r"\\f(?:\[\w*\]|\(\w\w|\w)|\\[&/,:|^%]|\\s[-+]?\d|\\\"[^\n]*", "", text)
    text = re.sub(r"\\\((?:aq|cq|oq)|\\\[(?:aq|cq|oq)\]", "'", text)
    text = re.sub(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]", '"', text)
    text = re.sub(r"\\\(\w\w|\\\[\w+\]|\\\*\(?\w\w?", "", text)
    return text.replace(r"\-", "-").replace(r"\e", "\\").replace("\\ ", " ").replace("\\", "")


def changes(place: Path) -> Iterator[tuple[str, str]]:
    """Yield the newest entries of each package's changelog, each as a text."""
    for path in sorted(place.glob("*/changelog.Debian.gz")):
        entries = re.split(r"\n\s+[*+-]\s+", "" if path.is_symlink() else unpacked(path))[1:]
        for entry in entries[:ENTRIES]:
            yield path.parent.name, re.sub(r"\s+", " ", entry.split("\n\n")[0]).strip()


def docstrings(library: Path, packages: Path) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of Python's own library and of PACKAGES, without their examples and tables."""
    own = [path for path in sorted(library.rglob("*.py")) if not {"site-packages", "test", "tests"} & set(path.parts)]
    for path in own + [path for name in PACKAGES for path in sorted((packages / name).rglob("*.py"))]:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                paragraphs = [p for p in inspect.cleandoc(text).split("\n\n") if not re.search(r"^\s{4}|>>>|---", p)]
                yield path.stem, "\n\n".join(" ".join(p.split()) for p in paragraphs)


def drawn(texts: Texts, most: int) -> list[tuple[str, str]]:
    """Draw some distinct texts by chance, in their order."""
    found = list({text: (source, text) for source, text in texts if len(text) >= FEWEST}.values())
    rows = np.random.default_rng(SEED).permutation(len(found))[:most]
    return [found[row] for row in np.sort(rows)]


def collect(sources: Sequence[Path]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each kind with its texts."""
    library, packages = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    kinds: dict[str, tuple[Callable[[], Texts], int]] = {
        "tweets": (lambda: from_file(sources, "texts", "tweets.parquet"), 70_000),
        "abstracts": (lambda: from_file(sources, "text", "ohsumed.parquet"), 3_500),
        "reviews": (lambda: from_file(sources, "imdb", "imdb_unsup.parquet"), 1_500),
        "manuals": (lambda: manuals(Path("/usr/share/man")), 2_500),
        "changes": (lambda: changes(Path("/usr/share/doc")), 8_000),
        "docstrings": (lambda: docstrings(library, packages), 15_000),
    }
    for name, (read, most) in kinds.items():
        yield name, drawn(read(), most)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Collect text of other kinds than news.", "directories that have the texts")
    options = parser.parse_args(arguments)
    with command.refusals("texts"):
        for name, texts in collect(options.source):
            table = pa.table(list(map(list, zip(*texts, strict=True))), schema=SCHEMA)
            write_table(TARGET / f"{name}.parquet", table)
            print(f"{name:12} {len(texts):7,} texts {sum(len(text) for _, text in texts):12,} characters")


if __name__ == "__main__":
    main()
