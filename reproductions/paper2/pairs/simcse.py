"""SimCSE, an encoder fine-tuned by contrastive learning (Gao, Yao and Chen 2021), a baseline of paper 1.

    loss_i = - log  exp(cos(h_i, h_i+) / t) / ( sum_j exp(cos(h_i, h_j+) / t) + sum_j exp(cos(h_i, h_j-) / t) )

h is the mean of the token outputs, t the temperature, j runs over the batch.

    unsupervised   h_i and h_i+ are the same sentence of the corpus under two draws of dropout; there is no h-
    supervised     h_i entails h_i+, and h- contradict sentences of the batch, both from SICK train;
                   pairs with an evaluation sentence are dropped and counted: if SICK's own test
                   split is among the sets, 30 of 4,500 pairs are left, 9 of them entailments

Worked example: with cosines of 1 to its own positive and 0 to the other one, t = 1, the loss of a sentence is
log(1 + 1/e) = 0.313; with t = 0.05 it is log(1 + e^-20), which is nearly nothing.

The order of the batches and each draw of dropout depend on the seed and the step alone. So a run that resumes from a
checkpoint ends like one that was never interrupted.
"""

import hashlib
import itertools
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from reproductions.paper2.pairs.options import Simcse
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.decontamination import shared_rows
from sentence_distillery.io.artifacts import InputError, read_table, table_parts
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.pooling import weighted_mean
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError, TransformerEncoder, load_encoder
from sentence_distillery.training.batches import Batches
from sentence_distillery.training.schedules import linear
from sentence_distillery.training.trainer import Curve, Hooks, Saving, Trainer

CONFIG = "simcse.json"
ROUND = 50  # steps

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """A sentence, a positive sentence that should be near it, and perhaps a negative one that should be far."""

    anchor: str
    positive: str
    negative: str | None = None


def info_nce(anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """Compute the mean loss of a batch: anchors and positives (batch, dimension), negatives (any number, dimension)."""
    others = F.normalize(torch.cat([positives, negatives]), dim=1)
    logits = F.normalize(anchors, dim=1) @ others.T / temperature
    return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))


def draw(texts: Sequence[str], count: int, seed: int) -> list[Example]:
    """Draw at most `count` sentences in random order, each its own positive."""
    order = np.random.default_rng(seed).permutation(len(texts))[:count]
    return [Example(texts[row], texts[row]) for row in order.tolist()]


def entailments(
    pairs: Sequence[tuple[str, str, str]], evaluated: NDArray[np.uint64], counters: Counters
) -> list[Example]:
    """Make examples of (premise, hypothesis, label); drop and count those with an `evaluated` sentence."""
    shared = shared_rows([[pair[side] for pair in pairs] for side in (0, 1)], evaluated)
    clean = [pair for pair, out in zip(pairs, shared, strict=True) if not out]
    counters.drop("sentence in an evaluation set", len(pairs) - len(clean))
    contradicted: dict[str, str] = {}
    for one, other, label in clean:
        if label == "CONTRADICTION":
            contradicted |= {one: other, other: one}
    examples = [Example(one, other, contradicted.get(one)) for one, other, label in clean if label == "ENTAILMENT"]
    counters.drop("no entailment", len(clean) - len(examples))
    return examples


def embed(encoder: TransformerEncoder, texts: list[str]) -> Tensor:
    """Compute (texts, dimension) means of the token outputs, with dropout if the model is training."""
    padded = encoder.tokenizer(
        texts, padding=True, truncation=True, max_length=encoder.maximum_length, return_tensors="pt"
    ).to(encoder.model.device)
    hidden = encoder.model(input_ids=padded["input_ids"], attention_mask=padded["attention_mask"]).last_hidden_state
    return weighted_mean(hidden, padded["attention_mask"].to(hidden.dtype))


@dataclass(frozen=True)
class Rounds:
    """Batches of several passes over the examples, in rounds of ROUND steps, after each of which the state is saved."""

    planned: list[list[Example]]

    @classmethod
    def of(cls, examples: list[Example], params: Simcse) -> "Rounds":
        """Plan the batches of all epochs."""
        batches = Batches(np.arange(len(examples)), params.batch_size, params.seed)
        passes = (batches(epoch) for epoch in range(params.epochs))
        return cls([[examples[row] for row in rows.tolist()] for rows in itertools.chain.from_iterable(passes)])

    @property
    def steps(self) -> int:
        """Steps in a round."""
        return ROUND

    @property
    def count(self) -> int:
        """The number of rounds."""
        return -(-len(self.planned) // ROUND)

    def __call__(self, epoch: int) -> Iterator[list[Example]]:
        """Yield the batches of a round, by its number."""
        return iter(self.planned[epoch * ROUND : (epoch + 1) * ROUND])


def train(encoder: TransformerEncoder, examples: list[Example], params: Simcse, checkpoint: Path) -> Curve:
    """Tune an encoder in place.

    Args:
        encoder: the encoder.
        examples: the training examples.
        params: how to train.
        checkpoint: the file from which an interrupted training of the same data and options goes on.

    Returns:
        For each round of ROUND steps the mean loss.

    Raises:
        InputError: the examples make no batch, or a loss is not finite.
    """
    rounds = Rounds.of(examples, params)
    if not rounds.planned:
        raise InputError(f"SimCSE has {len(examples)} examples, too few for a batch; raise sentences.")
    content = json.dumps([encoder.fingerprint, params.model_dump(), [vars(example) for example in examples]])
    key = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    trainer = Trainer(
        encoder.model,
        torch.optim.AdamW(encoder.model.parameters(), lr=params.learning_rate, weight_decay=0.0),
        rounds,
        rounds.count,
        linear(epochs=len(rounds.planned), steps=1),
        Saving(checkpoint, key),
        dropout_seed=params.seed,
        hooks=Hooks(before=lambda number: encoder.model.train()),
        remedy=f"Lower learning_rate, which is {params.learning_rate}.",
        unit="rounds",
    )
    curve = trainer.run(lambda batch: {"loss": loss(encoder, batch, params.temperature)})
    encoder.model.train(False)
    return curve


def loss(encoder: TransformerEncoder, batch: list[Example], temperature: float) -> Tensor:
    """Return the loss of a batch."""
    sides = [[example.anchor for example in batch], [example.positive for example in batch]]
    negatives = [example.negative for example in batch if example.negative is not None]
    anchors, positives = (embed(encoder, side) for side in sides)
    far = embed(encoder, negatives) if negatives else positives[:0]
    return info_nce(anchors, positives, far, temperature)


@dataclass(frozen=True)
class Sources:
    """The sources of examples: a corpus, `part-*.parquet` in `sentences`, and the benchmark sets."""

    sentences: Path
    benchmarks: BenchmarkData


def read_examples(params: Simcse, sources: Sources, counters: Counters) -> list[Example]:
    """Read sentences of the corpus, or entailments of SICK train; raises InputError if that is absent."""
    if params.objective == "unsupervised":
        schema = pa.schema([("text", pa.string())])
        parts = table_parts(sources.sentences)
        texts = [text for part in parts for text in read_table(part, schema)["text"].to_pylist()]
        drawn = draw(texts, params.sentences, params.seed)
        counters.drop("not drawn", len(texts) - len(drawn))
        return drawn
    if "sick" not in sources.benchmarks.available():
        raise InputError(
            "The objective supervised needs the pairs of SICK, which are absent; add the set, or use the objective "
            "unsupervised."
        )
    pairs = sources.benchmarks.pairs("sick", "train")
    rows = list(zip(pairs.sentences1, pairs.sentences2, pairs.labels or [], strict=True))
    examples = entailments(rows, sources.benchmarks.fingerprints(), counters)
    counters.drop("not drawn", max(len(examples) - params.sentences, 0))
    return examples[: params.sentences]


def tuned(
    params: Simcse, sources: Sources, checkpoint: Path, counters: Counters
) -> tuple[TransformerEncoder, Curve] | Unavailable:
    """Tune an encoder by contrastive learning.

    Args:
        params: the encoder to start from, the objective, and how to train.
        sources: where examples come from.
        checkpoint: the file from which an interrupted training of the same data and options goes on.
        counters: counts the examples.

    Returns:
        The tuned encoder and the mean loss of each round, or why there is none.

    Raises:
        InputError: the encoder or the examples cannot be read, or training diverges.
    """
    if switched_off := params.switched_off():
        return switched_off
    try:
        encoder = load_encoder(params)
    except AbsentModelError as error:
        log.warning("SimCSE is left out: %s", error)
        return NO_WEIGHTS
    examples = read_examples(params, sources, counters)
    counters.keep(len(examples))
    return encoder, train(encoder, examples, params, checkpoint)


def summary(curve: Curve) -> dict[str, object]:
    """Return the number of rounds and the mean loss of each."""
    return {"rounds": len(curve), f"loss_every_{ROUND}_steps": [note["loss"] for note in curve]}
