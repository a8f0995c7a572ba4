"""Make the encoder for search that ships: `make release-search FROM="<directory> ..."`.

Reads models/released, and from FROM the texts to train on and the benchmark sets. Writes models/released_search and
prints its figures. What is finished stays in data/checkpoints, so that an interrupted call goes on where it stopped.
"""

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sentence_distillery.benchmarks.assembly import collected
from sentence_distillery.benchmarks.download import folders
from sentence_distillery.benchmarks.registry import SUITE
from sentence_distillery.corpus.options import Columns
from sentence_distillery.corpus.readers import read_rows
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.release.pareto import megabytes
from sentence_distillery.release.search import release_search
from stages import paths

WORK = Path("data/checkpoints/released_search")
SETS = tuple(name for names in SUITE.values() for name in names)
TEXTS = (  # folder, file, format, column, how many of them
    ("text", "ohsumed.parquet", "parquet", "text", 3_000),
    ("news", "news.parquet", "parquet", "text", 1_500),
    ("captions", "Flickr8k.token.txt", "lines", "2", 4_000),
)
TRAINED_ON = {
    "Ohsumed, titles and abstracts of MEDLINE": "research use",
    "news articles of several agencies": "mixed, research use",
    "Flickr8k captions": "none stated, cite Hodosh et al. 2013",
}
SEED = 1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the encoder for search that ships.")
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of texts and sets")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        WORK.mkdir(parents=True, exist_ok=True)
        benchmarks = collected(SETS, options.source, WORK / "benchmarks")
        texts = [text for each in TEXTS for text in drawn(options.source, *each)]
        figures = release_search(texts, TRAINED_ON, benchmarks, WORK, paths.RELEASED_SEARCH)
    except InputError as error:
        sys.exit(f"release: {error}")
    print(f"{paths.RELEASED_SEARCH}: {megabytes(paths.RELEASED_SEARCH)} MB")
    for row in figures:
        print(f"{row.dataset:12} {row.metric:12} {row.system:16} {100 * (row.number or 0):6.2f}")


def drawn(sources: Sequence[Path], folder: str, file: str, format: str, column: str, most: int) -> Iterator[str]:
    """Yield some texts of a file, drawn by chance, always the same ones; raises InputError if it is not there."""
    found = [place / file for source in sources for place in folders(source, folder) if (place / file).exists()]
    if not found:
        raise InputError(f"{', '.join(map(str, sources))}: {folder}/{file} is missing; give the directory that has it.")
    texts = [str(row[column] or "") for _, row in read_rows(found[0], format, Columns(text=column))]
    rows = np.random.default_rng(SEED).permutation(len(texts))[:most]
    return (texts[row] for row in np.sort(rows))


if __name__ == "__main__":
    main()
