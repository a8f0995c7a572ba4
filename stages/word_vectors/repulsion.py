"""Stage `repulsion`: what Algorithm 1 of paper 1 does to word vectors, over learning rates and iterations."""

import torch

from sentence_distillery.benchmarks.metrics import correlations, cosines
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.runtime.progress import track
from sentence_distillery.word_vectors import kld
from sentence_distillery.word_vectors.corpus import SENTENCES, read_sentences
from sentence_distillery.word_vectors.model import SKIPGRAM, WordVectors
from sentence_distillery.word_vectors.refinement import draw
from sentence_distillery.word_vectors.repulsion import CURVE, Point, benchmark, course, sides, write_points
from sentence_distillery.word_vectors.weighting import Weighting, frequencies, token_weights
from stages.stage import stage


def main() -> None:
    with stage("repulsion", unit="points") as (params, counters):
        torch.set_num_threads(1)  # as in refine
        model = WordVectors.load(SKIPGRAM)
        corpus = TokenIds.from_words(read_sentences(SENTENCES, params.skipgram.tokens), model.index)
        weights = token_weights(Weighting.TF_IDF, frequencies(corpus, len(model.words)))
        batches = kld.batches(draw(corpus, params.refine), weights, params.refine.batch_size)
        rates, iterations = params.repulsion.learning_rates, params.repulsion.iterations
        pairs, points = benchmark(), []
        if pairs is not None and pairs.scores is not None:
            counters.details["benchmark"] = f"{pairs.name}/{pairs.split}"
            left, right = sides(pairs, params.skipgram.tokens, model.index)
            for rate in track(rates, len(rates), "learning rates"):
                for iteration, displacement, vectors in course(model, batches, rate, iterations):
                    found = correlations(cosines(left.means(vectors), right.means(vectors)), pairs.scores)["spearman"]
                    if isinstance(found, float):
                        points.append(Point(rate, iteration, displacement, found))
        counters.keep(len(points))
        counters.drop("without a figure", len(rates) * len(set(iterations)) - len(points))
        write_points(CURVE, points)


if __name__ == "__main__":
    main()
