"""The stage `refine`: refine the skip-gram vectors by Kullback-Leibler divergence (paper 1, section 3.1).

Reads data/corpus/sentences and models/skipgram. The objective is Algorithm 1 as printed (`repulsion`), or contrastive
learning with related and unrelated sentences (`contrastive`). Writes models/refined, and reports/curves/refine.csv with
the figures of each iteration.
"""

import torch

from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from reproductions.paper1.word_vectors.model import CONFIG, Shape, WordVectors
from reproductions.paper1.word_vectors.refinement import contrast, repel, write_curve
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.ragged import TokenIds
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("refine", unit="sentences", largest="contrastive.batch_size") as (params, counters):
        # with small matrices more threads only wait for each other, and the last bits depend on their number
        torch.set_num_threads(1)
        model = WordVectors.load(paths.SKIPGRAM)
        sentences = TokenIds.from_words(read_sentences(paths.SENTENCES, params.skipgram.tokens), model.index)
        if params.refine.objective == "repulsion":
            settings = params.refine.model_dump()
            refined, curve = repel(model, sentences, params.refine, counters)
        else:
            settings = params.contrastive.model_dump() | {"objective": params.refine.objective}
            documents = read_documents(paths.SENTENCES)
            refined, curve = contrast(model, sentences, documents, params.contrastive, counters)
        refined.save(paths.REFINED, settings | {"skipgram": read_json(paths.SKIPGRAM / CONFIG, Shape)})
        write_curve(paths.CURVES / "refine.csv", curve)
        counters.details["displacement"] = round(curve[-1].displacement, 6)


if __name__ == "__main__":
    main()
