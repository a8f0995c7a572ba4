"""Make the student that ships: `make release FROM="<directory> ..."`, after a run of the profile `best`.

Reads models/student and the words of its corpus; and from FROM the benchmark sets, and the texts whose document
frequencies its lexical channel has. Writes models/released and prints its figures; refuses a student that is worse than
the current release on a kind of task.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from measurements import command
from measurements.release.gate import KINDS
from measurements.release.student import CARD_SETS, Source, release
from measurements.release.tradeoff import megabytes
from measurements.sets import collected, file_of
from sentence_distillery.corpus.tables.formats import read_rows
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.checksums import ledger
from sentence_distillery.io.contents import StudentConfig
from stages import paths
from stages.params import load_params
from stages.stage import written_before

WORK = Path("data/checkpoints/released")
SETS = tuple(dict.fromkeys([*(name for sets in KINDS.values() for name, _ in sets), *CARD_SETS]))
TEXTS = (  # folder, file, format, column, how many of them
    ("text", "ohsumed.parquet", "parquet", "text", 3_000),
    ("news", "news.parquet", "parquet", "text", 1_500),
    ("captions", "Flickr8k.token.txt", "lines", "2", 4_000),
)
COUNTED_IN = {
    "Ohsumed, titles and abstracts of MEDLINE": "research use",
    "news articles of several agencies": "mixed, research use",
    "Flickr8k captions": "none stated, cite Hodosh et al. 2013",
}
SEED = 1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Make the student that ships.", "directories of the sets and the texts")
    options = command.parsed(parser, arguments, "%(message)s")
    with command.refusals("release"):
        params = load_params()
        corpus = [source.path for source in params.crawl.inputs]
        texts = [text for each in TEXTS for text in drawn(options.source, *each)]
        student = (paths.STUDENT, paths.SOFT_LABELS / WORDS, params.name, corpus, params.soft_labels.precision)
        source = Source(*student, texts, COUNTED_IN)
        sets = collected(SETS, options.source, WORK)
        with ledger(written_before()):
            figures = release(source, sets, paths.RELEASED)
    dimension = read_json(paths.RELEASED / CONFIG, StudentConfig)["dimension"]
    print(f"{paths.RELEASED}: {megabytes(paths.RELEASED)} MB, {dimension} dimensions")
    for name, value in figures.items():
        print(f"{name:24} {100 * value:6.2f}")


def drawn(sources: Sequence[Path], folder: str, file: str, format: str, column: str, most: int) -> Iterator[str]:
    """Yield some texts of a file, drawn by chance, always the same ones; raises InputError if it is not there."""
    texts = [str(row[column] or "") for _, row in read_rows(file_of(sources, folder, file), format, {column})]
    rows = np.random.default_rng(SEED).permutation(len(texts))[:most]
    return (texts[row] for row in np.sort(rows))


if __name__ == "__main__":
    main()
