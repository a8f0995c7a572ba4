"""The stage `fasttext`: train FastText vectors of the corpus, words and their character n-grams.

Reads data/corpus/sentences, writes models/fasttext. Drops and counts words rarer than `fasttext.minimum_count`.
"""

import logging

import gensim

from reproductions.paper1.word_vectors.fasttext import NGRAMS, train
from reproductions.paper1.word_vectors.skipgram import count_corpus
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("fasttext", unit="words") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        counts = count_corpus(paths.SENTENCES, params.fasttext)
        vectors = train(paths.SENTENCES, params.fasttext, counts)
        config = params.fasttext.model_dump() | {"gensim": gensim.__version__}
        vectors.model.save(paths.FASTTEXT, config, {NGRAMS: {"ngrams": vectors.ngrams}})
        counters.keep(len(vectors.model.words))
        counters.drop("rare", counts.rare(params.fasttext.minimum_count))


if __name__ == "__main__":
    main()
