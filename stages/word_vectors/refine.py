"""Stage: refinement of the skip-gram vectors by Kullback-Leibler divergence (paper 1, section 3.1)."""

import torch

from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.word_vectors.corpus import SENTENCES, read_sentences
from sentence_distillery.word_vectors.model import CONFIG, REFINED, SKIPGRAM, WordVectors
from sentence_distillery.word_vectors.refinement import CURVE, contrast, repel, write_curve
from stages.stage import stage


def main() -> None:
    with stage("refine", unit="sentences") as (params, counters):
        # with small matrices more threads only wait for each other, and the last bits depend on their number
        torch.set_num_threads(1)
        model = WordVectors.load(SKIPGRAM)
        sentences = TokenIds.from_words(read_sentences(SENTENCES, params.skipgram.tokens), model.index)
        if params.refine.objective == "repulsion":
            settings = params.refine.model_dump()
            refined, curve = repel(model, sentences, params.refine, counters)
        else:
            settings = params.contrastive.model_dump() | {"objective": params.refine.objective}
            refined, curve = contrast(model, sentences, params.contrastive, counters)
        refined.save(REFINED, settings | {"skipgram": read_json(SKIPGRAM / CONFIG)})
        write_curve(CURVE, curve)
        counters.details["displacement"] = round(curve[-1].displacement, 6)


if __name__ == "__main__":
    main()
