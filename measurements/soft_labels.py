"""Soft labels a second, compared with sentence-transformers' `encode`: `python -m measurements.soft_labels`.

    own       the stage's embedder: batches of equal length, so many word pieces each
    encode    the same weights and pooling in sentence-transformers, with its defaults: sorted by length, 32 a batch

Both embed the same sentences of the corpus, run by run in turn, with the threads that torch starts. The figure is the
median of the ratios within a run. `least_cosine` is that of the two vectors of a sentence that differ most.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from measurements.encoding import machine
from sentence_distillery.evaluation.present import read_corpus
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.io.ragged import Floats
from sentence_distillery.runtime.stopwatch import in_turns
from sentence_distillery.teachers.embedder import Embedder
from sentence_distillery.teachers.label_store import AT_ONCE
from sentence_distillery.teachers.options import Teacher, transformer
from sentence_distillery.teachers.transformer import find_model, load_encoder
from stages import paths
from stages.params import Params, load_params

SENTENCES = 1_000
RUNS = 5
SEED = 1

Embed = Callable[[list[str]], Floats]  # (sentences, dimension)


def own(params: Params) -> Embed:
    """Embed as the stage `soft_labels` does."""
    encoder = load_encoder(params.teacher)
    embedder = Embedder(
        encoder, params.teacher, encoder.fingerprint, params.soft_labels.batch_tokens, params.soft_labels.precision
    )
    return lambda texts: np.concatenate(
        [embedder(texts[start : start + AT_ONCE]).astype(np.float32) for start in range(0, len(texts), AT_ONCE)]
    )


def encode(teacher: Teacher) -> Embed:
    """Embed by the teacher in sentence-transformers: the mean of its token outputs."""
    directory = find_model(teacher.reference, teacher.revision)
    transformer = Transformer(str(directory), max_seq_length=teacher.maximum_length)
    pooling = Pooling(transformer.get_embedding_dimension())
    model = SentenceTransformer(modules=[transformer, pooling], device=str(load_encoder(teacher).model.device))
    return lambda texts: np.asarray(model.encode(texts, show_progress_bar=False))


def compare(one: Embed, other: Embed, sentences: list[str], runs: int) -> dict[str, float]:
    """Measure sentences a second of both, their ratio, and the least cosine of their vectors."""
    least = float(cosines(one(sentences), other(sentences)).min())
    mine, theirs = in_turns({"own": lambda: one(sentences), "encode": lambda: other(sentences)}, range(runs)).values()
    return {
        "own": round(mine.rate(len(sentences)), 1),
        "encode": round(theirs.rate(len(sentences)), 1),
        "own_is_times_as_fast": round(mine.times_as_fast_as(theirs), 2),
        "least_cosine": round(least, 6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Soft labels a second, compared with sentence-transformers' encode.")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    try:
        params, corpus = load_params(), read_corpus(paths.SENTENCES)
        drawn = np.random.default_rng(SEED).permutation(len(corpus))[: options.sentences]
        found = compare(own(params), encode(transformer(params.teacher)), [corpus[row] for row in drawn], options.runs)
    except InputError as error:
        sys.exit(f"label_bench: {error}")
    about = {"sentences": len(drawn), "runs": options.runs, "batch_tokens": params.soft_labels.batch_tokens}
    write_json(paths.LABEL_BENCH, found | about | {"machine": machine()})
    print(f"own {found['own']:,.0f}, encode {found['encode']:,.0f} sentences/s: {found['own_is_times_as_fast']} times,")
    print(f"least cosine {found['least_cosine']}")


if __name__ == "__main__":
    main()
