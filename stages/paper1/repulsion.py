"""The stage `repulsion`: measure the effect of paper 1's Algorithm 1 over learning rates and iterations.

Reads data/corpus/sentences, models/skipgram and a benchmark set of rated pairs, writes reports/curves/repulsion.csv.
"""

import torch

from reproductions.paper1.word_vectors.corpus import read_sentences
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.repulsion import Point, development_pairs, sides, sweep, write_points
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.ragged import TokenIds
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("repulsion", unit="points") as (params, counters):
        torch.set_num_threads(1)  # as in refine
        model = WordVectors.load(paths.SKIPGRAM)
        corpus = TokenIds.from_words(read_sentences(paths.SENTENCES, params.skipgram.tokens), model.index)
        pairs = development_pairs(BenchmarkData(paths.BENCHMARKS))
        points = list[Point]()
        if pairs is not None and pairs.scores is not None:
            counters.details["benchmark"] = f"{pairs.name}/{pairs.split}"
            both = sides(pairs, params.skipgram.tokens, model.index)
            points += sweep(model, corpus, both, pairs.scores, params.repulsion, params.refine)
        planned = len(params.repulsion.learning_rates) * len(set(params.repulsion.iterations))
        counters.keep(len(points))
        counters.drop("without a figure", planned - len(points))
        write_points(paths.CURVES / "repulsion.csv", points)


if __name__ == "__main__":
    main()
