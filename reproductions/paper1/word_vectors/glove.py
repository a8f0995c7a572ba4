"""GloVe 6B, 400,000 words of 50 dimensions, out of an installed package (Pennington et al. 2014).

The vectors stay in the file and are mapped into memory, so that only the pages of words that occur are ever read.
"""

import numpy as np

from reproductions.paper1.word_vectors.model import WordVectors
from sentence_distillery.distillation.glove import VECTORS, glove_file, glove_words


def load_glove() -> WordVectors:
    """Load the whole table, (400,000, 50) float32, most frequent word first, every count 1.

    The vectors are a read-only memory map. Raises InputError if the package is missing or altered.
    """
    table = np.load(glove_file(VECTORS), mmap_mode="r")
    return WordVectors(glove_words(), np.ones(len(table), dtype=np.int64), table)
