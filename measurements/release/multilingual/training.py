"""Train the token vectors of all languages in the space of the English encoder.

    target(text) = unit(english(translation) + unit(W teacher(text)))

english(translation) is what the English encoder says of the translation (Reimers and Gurevych 2020,
https://arxiv.org/abs/2004.09813); teacher(text) is what the multilingual teacher says of the text itself. W, a ridge
regression on English texts, maps the teacher's space on the English encoder's. Texts that lack one of the two have the
other alone.

English texts are in the training with their own vectors as targets. They hold tokens in place that are English and
something else, such as "die" and "man"; other English tokens do not move. A new token starts as the mean of the
targets of its texts, weighted by length^-1.5, since a short text says more about its words. Then all are trained
with the loss of `distillation/static_student.py`.

The training is then repeated for a few epochs: texts that the teacher has not labelled now have the student's vector of
their translation as target. The first targets of English texts are a compromise of both teachers, and translations
should follow it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sentence_distillery.distillation.static_student import StaticLoss, StaticStudent
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.training.batches import Batches
from sentence_distillery.training.schedules import linear
from sentence_distillery.training.trainer import Saving, Trainer

RIDGE: Final = 3.0  # of W; the teacher's vectors have unit length
SHORT: Final = 1.5  # power of a text's length by which it counts less for the start of a token
AT_ONCE: Final = 10_000  # texts cut into tokens together


@dataclass(frozen=True)
class Options:
    """How to train."""

    epochs: int = 4  # Passes over the texts, at least 1
    batch_size: int = 1024  # texts of a step, at least 2
    learning_rate: float = 0.003  # of Adam at the start, above 0; it falls to 0. Token vectors have a mean length of 1
    relational_weight: float = 0.3  # of the loss that compares the neighbours within a batch
    temperature: float = 0.05  # of the similarities in it
    seed: int = 1  # of the order of the texts


def mapping(teacher: Floats, english: Floats) -> Floats:
    """Fit the map, (m, n), from the teacher's vectors, (texts, m), to the English encoder's, (texts, n), by ridge.

    >>> mapping(np.eye(2, dtype=np.float32) * 3, np.eye(2, dtype=np.float32)).tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    gram = teacher.T @ teacher + RIDGE * np.eye(teacher.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(gram, teacher.T @ english), dtype=np.float32)


def joined(*vectors: Floats) -> NDArray[np.float16]:
    """Join vectors of the same texts into targets: the mean of their directions; a zero row has no say.

    >>> joined(np.array([[2, 0], [0, 0]], np.float32), np.array([[0, 3], [0, 1]], np.float32)).round(2).tolist()
    [[0.7099609375, 0.7099609375], [0.0, 1.0]]
    """
    total = sum((unit_rows(each) for each in vectors[1:]), unit_rows(vectors[0]))
    return unit_rows(total).astype(np.float16)


def tokens_of(tokenizer: Tokenizer, texts: Sequence[str]) -> TokenIds:
    """Cut texts into known tokens."""
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        encodings = tokenizer.encode_batch_fast(list(texts[start : start + AT_ONCE]))
        parts.append(TokenIds.from_lists([encoding.ids for encoding in encodings]))
    return TokenIds.concatenate(parts).without(UNKNOWN_ID)


def start_table(known: Floats, tokens: TokenIds, targets: NDArray[np.float16]) -> Floats:
    """Give each token a vector to start from: the known ones at a mean length of 1, for others the mean of their texts.

    `known` is (tokens, dimension), with zero rows for new tokens, which stay zero if no text has them.

    >>> texts = TokenIds.from_lists([[0, 1], [1]])
    >>> known = np.array([[2, 0], [0, 0]], np.float32)
    >>> print(start_table(known, texts, np.eye(2, dtype=np.float16)).round(2))
    [[1.   0.  ]
     [0.26 0.74]]
    """
    from scipy.sparse import csr_matrix

    lengths = np.linalg.norm(known, axis=1)
    table = known / max(float(lengths[lengths > 0].mean()), 1e-9) if lengths.any() else known.copy()
    weights = (np.maximum(tokens.lengths, 1).astype(np.float32)) ** -SHORT
    weighted = np.repeat(weights, tokens.lengths), tokens.ids, tokens.offsets
    occurrences = csr_matrix(weighted, shape=(len(tokens), len(known))).T.tocsr()
    sums = occurrences @ targets.astype(np.float32)
    total = np.asarray(occurrences.sum(axis=1), dtype=np.float32)
    new = (lengths == 0) & (total[:, 0] > 0)
    table[new] = sums[new] / total[new]
    return np.ascontiguousarray(table, dtype=np.float32)


def train(start: Floats, tokens: TokenIds, targets: NDArray[np.float16], options: Options, checkpoint: Path) -> Floats:
    """Train the token vectors `start`, (tokens, dimension), in place; an interrupted training goes on.

    `targets` are (texts, dimension) of unit length. Raises InputError if the loss is not finite.
    """
    rows = np.flatnonzero(tokens.lengths > 0)
    model = StaticStudent(start)
    batches = Batches(rows, options.batch_size, options.seed)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=options.learning_rate)
    key = f"{options} {start.shape} {len(tokens)} {len(tokens.ids)}"
    rates, saving = linear(options.epochs, batches.steps), Saving(checkpoint, key)
    remedy = f"Lower learning_rate, which is {options.learning_rate}."
    trainer = Trainer(model, optimizer, batches, options.epochs, rates, saving, remedy=remedy)
    trainer.run(StaticLoss(model, tokens, targets, options.relational_weight, options.temperature))
    return model.table()
