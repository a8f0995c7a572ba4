"""Stage: FastText vectors of the corpus, trained by gensim: skip-gram over words and their character n-grams."""

import logging

import gensim

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.word_vectors.corpus import SENTENCES, read_sentences
from sentence_distillery.word_vectors.fasttext import FASTTEXT, NGRAMS, train
from sentence_distillery.word_vectors.skipgram import count_words
from stages.stage import stage


def main() -> None:
    with stage("fasttext", unit="words") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        counts, sentences = count_words(read_sentences(SENTENCES, params.fasttext.tokens))
        rare = sum(count < params.fasttext.minimum_count for count in counts.values())
        if rare == len(counts):
            raise InputError(
                f"{SENTENCES} has {len(counts)} words in {sentences} sentences, none of them "
                f"{params.fasttext.minimum_count} times; lower fasttext.minimum_count or bring more text."
            )
        found = train(SENTENCES, params.fasttext, counts, sentences)
        config = params.fasttext.model_dump() | {"gensim": gensim.__version__}
        found.model.save(FASTTEXT, config, {NGRAMS: {"ngrams": found.ngrams}})
        counters.keep(len(found.model.words))
        counters.drop("rare", rare)


if __name__ == "__main__":
    main()
