"""The held-out texts of a corpus, and the teacher's vectors of them."""

import numpy as np

from sentence_distillery.distillation.label_files import READ, embedding_array, sentence_ids, soft_label_schema
from sentence_distillery.distillation.soft_labels import HELD_OUT
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.measures import FEWEST, Reference
from sentence_distillery.domain.options import Domain
from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.checksums import is_there
from sentence_distillery.io.unavailable import Unavailable


def reference_of(corpus: LabelledCorpus, share: float, options: Domain) -> Reference | Unavailable:
    """Read the held-out texts of a corpus with their soft labels; `share` is what was to be held out.

    Returns why there are fewer than three; raises InputError if a file is damaged, or the labels belong to other texts.
    """
    sentences, labels = corpus.sentences / HELD_OUT, corpus.soft_labels / HELD_OUT
    table = read_table(sentences, READ) if is_there(sentences) else READ.empty_table()

    # No texts is no error: a run may hold none out.
    if len(table) < FEWEST:
        if share == 0:
            return Unavailable("there are no held-out texts: held_out.share is 0")
        return Unavailable(f"there are {len(table)} held-out texts, but {FEWEST} are needed: add more text")

    # Labels are matched by place, as those of the training text.
    found = read_table(labels, soft_label_schema(corpus.dimension))
    if not sentence_ids(table["document"], table["position"]).equals(found["sentence"]):
        raise InputError(f"{labels} does not belong to {sentences}; label the corpus again.", labels)
    vectors = embedding_array(found["embedding"]).astype(np.float32)
    rows = np.flatnonzero(vectors.any(axis=1))  # the others have no vector: the teacher is a file that lacks them
    if len(rows) < FEWEST:
        return Unavailable(f"{len(rows)} held-out texts have a vector of the teacher, but {FEWEST} are needed")
    return Reference.of(table["text"].take(rows).to_pylist(), vectors[rows], options)
