"""How good is the multilingual encoder by language? `python -m measurements.multilingual SETS ENGLISH --part test`.

Writes reports/multilingual.csv: a line for each encoder and language, on the sets that
`measurements.release.multilingual.evaluation` describes. English is measured on STS-B alone. The speed is that on
Tatoeba's sentences, new to the encoder, by the time of the processor; runs of ours and of model2vec alternate.

model2vec is made as `model2vec.distill` makes it, with the functions and defaults of that package. `distill` itself
wants a transformer, and no package has one of several languages. So the teacher is USE multilingual, as ours, and the
vocabulary is ours.
"""

import argparse
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer

from measurements.command import today, write_rows
from measurements.peers import PEERS
from measurements.release.multilingual.build import COUNTS, Plan, examples, fitted_targets
from measurements.release.multilingual.corpus import Share
from measurements.release.multilingual.evaluation import Encode, Part, Scores, measure, similarity, tatoeba
from measurements.release.multilingual.labels import label
from measurements.release.multilingual.languages import BY_CODE, ENGLISH, LANGUAGES
from measurements.release.sign_rows import tokens_of
from sentence_distillery import load
from sentence_distillery.encoder.persistence.finding import RELEASED
from sentence_distillery.encoder.tokenizer import CONTINUATION
from sentence_distillery.io.artifacts import read_rows
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.use import embed

ROOT: Final = Path(__file__).parents[1]
OURS: Final = "released-multilingual"
MODEL2VEC: Final = "model2vec"
TEACHER: Final = "USE multilingual"
ASKED: Final = ("de", "es", "fr")  # where the limits of the teacher are measured
RUNS: Final = 3
DIMENSIONS: Final = 256  # defaults of model2vec.distill
SIF: Final = 1e-4


def encoders(place: Path) -> Iterator[tuple[str, Encode, frozenset[str]]]:
    """Yield the name of each encoder, its function, and its tokens if they are whole words."""
    for name in (OURS, RELEASED):
        encoder = load(name)
        yield name, encoder.encode, frozenset(encoder.tokenizer.get_vocab())
    yield MODEL2VEC, model2vec(load(OURS).tokenizer, place), frozenset()
    wordllama: Any = PEERS["WordLlama"].load(None)  # type: ignore[arg-type]
    if not isinstance(wordllama, Unavailable):
        yield "WordLlama", lambda texts: np.asarray(wordllama.encode(texts)), frozenset()

    yield TEACHER, kept(place / "labels/measured"), frozenset()


def limits(place: Path) -> Iterator[tuple[str, Encode]]:
    """Yield the teacher in our space, and without the order of words."""
    teacher = kept(place / "labels/measured")
    mapping = fitted_targets(Plan(place, place), load(), embed, examples(place)).mapping
    yield f"{TEACHER}, mapped", lambda texts: teacher(texts) @ mapping
    yield f"{TEACHER}, words sorted", lambda texts: teacher([in_alphabet(text) for text in texts])


def kept(directory: Path) -> Encode:
    """Return the teacher, whose vectors of each list of texts are kept."""

    def encode(texts: list[str]) -> Floats:
        name = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        return label(texts, directory / name, embed).astype(np.float32)

    return encode


def in_alphabet(text: str) -> str:
    """Put the words of a text in alphabetical order."""
    return " ".join(sorted(text.split()))


def model2vec(tokenizer: Tokenizer, place: Path) -> Encode:
    """Make a model2vec model of the teacher's vectors of our tokens, which are kept in the directory of the build."""
    from model2vec import StaticModel
    from model2vec.distill.inference import apply_pca, compute_weights

    chosen = (place / "vocabulary.txt").read_text().split("\n")[:-1]
    taught = label([token.removeprefix(CONTINUATION) for token in chosen], place / "labels/tokens", embed)
    rows = {token: row for row, token in enumerate(chosen)}
    own = taught[[rows[token] for token in tokens_of(tokenizer)]]
    found = apply_pca(own.astype(np.float32), DIMENSIONS)
    weighted = found * compute_weights(len(found), SIF)[:, None]
    encode: Encode = StaticModel(weighted.astype(np.float32), tokenizer, normalize=True).encode
    return encode


def speeds(makers: Mapping[str, Callable[[], Encode]], texts: list[str], before: list[str]) -> dict[str, int]:
    """Measure texts a second of processor time, the fastest of RUNS in turns; encoders are new, since ours remember."""
    seconds: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(RUNS):
        for name, maker in makers.items():
            encode = maker()
            encode(before)
            start = time.process_time()
            encode(texts)
            seconds[name].append(time.process_time() - start)
    return {name: round(len(texts) / min(each)) for name, each in seconds.items()}


def lines(sets: Path, english: Path, part: Part, place: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each encoder and language; ours has what the language was trained on."""
    counted = {row.pop("language"): row for row in read_rows(place / COUNTS, {})}
    found = list(encoders(place))
    second = next(encode for name, encode, _ in found if name == MODEL2VEC)
    makers: dict[str, Callable[[], Encode]] = {OURS: lambda: load(OURS).encode, MODEL2VEC: lambda: second}
    measured = ((language.code, tatoeba(sets, language)) for language in LANGUAGES)
    rates = {code: speeds(makers, *sides) for code, sides in measured if sides}

    def line(name: str, score: Scores) -> dict[str, Any]:
        trained = counted[score.language] if name == OURS else dict.fromkeys(Share._fields)
        rate = rates.get(score.language, {}).get(name)
        return {"encoder": name, "part": part, "texts_per_second": rate} | asdict(score) | trained

    for name, encode, tokens in found:
        yield line(name, Scores(ENGLISH, similarity(encode, english / f"stsb-en-{part}.csv"), None))
        yield from (line(name, score) for score in measure(encode, sets, part, tokens))
    for code in sorted(set(counted) - {ENGLISH} - set(rates)):  # trained on, and not measured
        yield line(OURS, Scores(code, None, None))
    for name, encode in limits(place):
        asked = [BY_CODE[code] for code in ASKED]
        yield from (line(name, score) for score in measure(encode, sets, part, languages=asked))


def main() -> None:
    """Measure all encoders and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, help="directory with stsb and tatoeba")
    parser.add_argument("english", type=Path, help="directory with stsb-en-dev.csv and stsb-en-test.csv")
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    parser.add_argument("--place", type=Path, default=Path("data/multilingual"), help="directory of the build")
    options = parser.parse_args()
    found = list(lines(options.sets, options.english, options.part, options.place))
    rounded = ({key: round(v, 2) if isinstance(v, float) else v for key, v in line.items()} for line in found)
    about = f"python -m measurements.multilingual SETS ENGLISH --part {options.part}; {today()}"
    write_rows(ROOT / "reports/multilingual.csv", rounded, list(found[0]), about)


if __name__ == "__main__":
    main()
