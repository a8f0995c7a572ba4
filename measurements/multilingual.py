"""How good is the multilingual encoder in each language? `python -m measurements.multilingual SETS --part test`.

Writes reports/multilingual.csv: a line for each encoder and language, on the sets that
`measurements.release.multilingual.evaluation` describes. English is measured on STS-B alone. The speed is that of one
process on Tatoeba's sentences, repeated; the fastest of three runs.
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from measurements.peers import PEERS
from measurements.release.multilingual.evaluation import Encode, Part, Scores, measure, similarity
from measurements.release.multilingual.languages import ENGLISH, LANGUAGES
from sentence_distillery import load
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.use import embed

ROOT: Final = Path(__file__).parents[1]
REPEATED: Final = 20  # times that Tatoeba's sentences are encoded
RUNS: Final = 3


def encoders() -> Iterator[tuple[str, Encode, frozenset[str]]]:
    """Yield the name of each encoder, its function, and its tokens if they are whole words."""
    for name in ("released-multilingual", "released"):
        encoder = load(name)
        yield name, encoder.encode, frozenset(encoder.tokenizer.get_vocab())
    yield "USE multilingual", embed, frozenset()
    wordllama: Any = PEERS["WordLlama"].load(None)  # type: ignore[arg-type]
    if not isinstance(wordllama, Unavailable):
        yield "WordLlama", lambda texts: np.asarray(wordllama.encode(texts)), frozenset()


def speed(encode: Callable[[list[str]], Any], texts: list[str]) -> float:
    """Measure texts a second: the fastest of three runs."""
    many = texts * REPEATED
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        encode(many)
        seconds.append(time.perf_counter() - start)
    return len(many) / min(seconds)


def lines(sets: Path, english: Path, part: Part) -> Iterator[dict[str, Any]]:
    """Yield a line for each encoder and language."""
    names = {language.code: language.dictionary for language in LANGUAGES}
    for name, encode, tokens in encoders():
        scores = [Scores(ENGLISH, similarity(encode, english / f"stsb-en-{part}.csv"), None)]
        for score in (*scores, *measure(encode, sets, part, tokens)):
            rate = None
            file = sets / f"tatoeba/tatoeba.{names.get(score.language)}-eng.{names.get(score.language)}"
            if name == "released-multilingual" and file.exists():
                rate = round(speed(encode, file.read_text().splitlines()))
            yield {"encoder": name, "part": part, "texts_per_second": rate} | asdict(score)


def main() -> None:
    """Measure all encoders and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, help="directory with stsb and tatoeba")
    parser.add_argument("english", type=Path, help="directory with stsb-en-dev.csv and stsb-en-test.csv")
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    options = parser.parse_args()
    found = list(lines(options.sets, options.english, options.part))
    with atomic_file(ROOT / "reports/multilingual.csv") as partial, partial.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(found[0]), lineterminator="\n")
        writer.writeheader()
        for line in found:
            writer.writerow(
                {key: round(value, 2) if isinstance(value, float) else value for key, value in line.items()}
            )


if __name__ == "__main__":
    main()
