"""The stage `skipgram`: train skip-gram word vectors of the corpus (paper 1, section 3.1).

Reads data/corpus/sentences, writes models/skipgram. Drops and counts words rarer than `skipgram.minimum_count`.
"""

import logging

import gensim

from reproductions.paper1.word_vectors.skipgram import count_corpus, train
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("skipgram", unit="words") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        counts = count_corpus(paths.SENTENCES, params.skipgram)
        model = train(paths.SENTENCES, params.skipgram, counts)
        corpus = {"sentences": counts.sentences, "corpus_tokens": counts.words.total()}
        model.save(paths.SKIPGRAM, params.skipgram.model_dump() | corpus | {"gensim": gensim.__version__})
        counters.keep(len(model.words))
        counters.drop("rare", counts.rare(params.skipgram.minimum_count))
        counters.details.update(corpus)


if __name__ == "__main__":
    main()
