"""Stage: skip-gram word vectors of the corpus (paper 1, section 3.1), trained by gensim."""

import logging

import gensim

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.word_vectors.corpus import SENTENCES, read_sentences
from sentence_distillery.word_vectors.model import SKIPGRAM
from sentence_distillery.word_vectors.skipgram import count_words, train
from stages.stage import stage


def main() -> None:
    with stage("skipgram", unit="words") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        counts, sentences = count_words(read_sentences(SENTENCES, params.skipgram.tokens))
        rare = sum(count < params.skipgram.minimum_count for count in counts.values())
        if rare == len(counts):
            raise InputError(
                f"{SENTENCES} has {len(counts)} words in {sentences} sentences, none of them "
                f"{params.skipgram.minimum_count} times; lower skipgram.minimum_count or bring more text."
            )
        model = train(SENTENCES, params.skipgram, counts, sentences)
        corpus = {"sentences": sentences, "corpus_tokens": counts.total()}
        model.save(SKIPGRAM, params.skipgram.model_dump() | corpus | {"gensim": gensim.__version__})
        counters.keep(len(model.words))
        counters.drop("rare", rare)
        counters.details.update(corpus)


if __name__ == "__main__":
    main()
