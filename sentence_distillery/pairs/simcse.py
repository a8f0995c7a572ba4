"""Stage: SimCSE, an encoder tuned by contrast (Gao, Yao and Chen 2021); one of the systems that paper 1 compares with.

    loss_i = - log  exp(cos(h_i, h_i+) / t) / ( sum_j exp(cos(h_i, h_j+) / t) + sum_j exp(cos(h_i, h_j-) / t) )

h is the mean of the token outputs, t the temperature, j runs over the batch.

    unsupervised   h_i and h_i+ are the same sentence of the corpus under two draws of dropout; there is no h-
    supervised     h_i+ is what h_i entails, h- are what sentences of the batch contradict, both from SICK train;
                   pairs with a sentence that evaluation scores on are dropped, and counted: where SICK's own test
                   split is among the sets, 30 of 4,500 pairs are left, 9 of them entailments

Worked example: with cosines of 1 to its own positive and 0 to the other one, t = 1, the loss of a sentence is
log(1 + 1/e) = 0.313; with t = 0.05 it is log(1 + e^-20), which is nearly nothing.

The order of the batches and each draw of dropout depend on the seed and the step alone, so a run that goes on from a
checkpoint ends as one that was never interrupted.
"""

import hashlib
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
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentence_distillery.benchmarks.data import available, load_pairs
from sentence_distillery.benchmarks.decontamination import load_evaluation_fingerprints, shared_rows
from sentence_distillery.encoders.pooling import weighted_mean
from sentence_distillery.encoders.transformer import AbsentModelError, Encoder, load_encoder
from sentence_distillery.io.artifacts import (
    InputError,
    atomic_file,
    read_table,
    table_parts,
)
from sentence_distillery.io.counters import Counters
from sentence_distillery.pairs.options import Simcse
from sentence_distillery.runtime.progress import track

SIMCSE = Path("models/simcse")
CONFIG = "simcse.json"
CHECKPOINT = Path("models/checkpoints/simcse.safetensors")
SENTENCES = Path("data/corpus/sentences")
SAVE_EVERY = 500  # steps
LOG_EVERY = 50

log = logging.getLogger("stages")


@dataclass(frozen=True)
class Example:
    """A sentence, what is to be near it, and what is to be far from it, if anything."""

    anchor: str
    positive: str
    negative: str | None = None


def info_nce(anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """The mean loss of a batch: anchors and positives (batch, dimension), negatives (any number, dimension)."""
    others = F.normalize(torch.cat([positives, negatives]), dim=1)
    logits = F.normalize(anchors, dim=1) @ others.T / temperature
    return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))


def draw(texts: Sequence[str], count: int, seed: int) -> list[Example]:
    """At most `count` sentences in random order, each its own positive."""
    order = np.random.default_rng(seed).permutation(len(texts))[:count]
    return [Example(texts[row], texts[row]) for row in order.tolist()]


def entailments(
    pairs: Sequence[tuple[str, str, str]], evaluated: NDArray[np.uint64], counters: Counters
) -> list[Example]:
    """Examples of (premise, hypothesis, label); those with a sentence of `evaluated` fingerprints are dropped."""
    shared = shared_rows([[pair[side] for pair in pairs] for side in (0, 1)], evaluated)
    clean = [pair for pair, out in zip(pairs, shared, strict=True) if not out]
    counters.drop("sentence in an evaluation set", len(pairs) - len(clean))
    contradicted: dict[str, str] = {}
    for one, other, label in clean:
        if label == "CONTRADICTION":
            contradicted |= {one: other, other: one}
    found = [Example(one, other, contradicted.get(one)) for one, other, label in clean if label == "ENTAILMENT"]
    counters.drop("no entailment", len(clean) - len(found))
    return found


def embed(encoder: Encoder, texts: list[str]) -> Tensor:
    """(texts, dimension) means of the token outputs, with dropout where the model is training."""
    padded = encoder.tokenizer(
        texts, padding=True, truncation=True, max_length=encoder.maximum_length, return_tensors="pt"
    ).to(encoder.model.device)
    hidden = encoder.model(input_ids=padded["input_ids"], attention_mask=padded["attention_mask"]).last_hidden_state
    return weighted_mean(hidden, padded["attention_mask"].to(hidden.dtype))


def batches(examples: list[Example], params: Simcse) -> Iterator[list[Example]]:
    """Every epoch in an order of its own; a last batch of one example, which has no other beside it, is left out."""
    for epoch in range(params.epochs):
        order = np.random.default_rng((params.seed, epoch)).permutation(len(examples))
        for start in range(0, len(order), params.batch_size):
            batch = [examples[row] for row in order[start : start + params.batch_size].tolist()]
            if len(batch) > 1:
                yield batch


def train(encoder: Encoder, examples: list[Example], params: Simcse, checkpoint: Path = CHECKPOINT) -> list[float]:
    """Tune the encoder in place, and return the loss of each step; raises InputError where it is not finite."""
    planned = list(batches(examples, params))
    if not planned:
        raise InputError(f"simcse has {len(examples)} examples, which make no batch; raise simcse.sentences.")
    optimizer = torch.optim.AdamW(encoder.model.parameters(), lr=params.learning_rate, weight_decay=0.0)
    content = json.dumps([encoder.fingerprint, params.model_dump(), [vars(example) for example in examples]])
    run = _Run(encoder, optimizer, checkpoint, hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest())
    losses = run.resume()
    encoder.model.train()
    with torch.random.fork_rng():
        for step in track(range(len(losses), len(planned)), len(planned), "steps", done=len(losses)):
            torch.manual_seed(params.seed * 1_000_003 + step)  # dropout of this step
            for group in optimizer.param_groups:
                group["lr"] = params.learning_rate * (1 - step / len(planned))
            losses.append(_step(encoder, optimizer, planned[step], params.temperature, step))
            if len(losses) % SAVE_EVERY == 0:
                run.save(losses)
    encoder.model.train(False)
    return losses


def _step(
    encoder: Encoder, optimizer: torch.optim.Optimizer, batch: list[Example], temperature: float, step: int
) -> float:
    optimizer.zero_grad()
    sides = [[example.anchor for example in batch], [example.positive for example in batch]]
    negatives = [example.negative for example in batch if example.negative is not None]
    anchors, positives = (embed(encoder, side) for side in sides)
    far = embed(encoder, negatives) if negatives else positives[:0]
    loss = info_nce(anchors, positives, far, temperature)
    if not torch.isfinite(loss):
        raise InputError(f"The loss of SimCSE is {loss.item()} at step {step + 1}; lower simcse.learning_rate.")
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


@dataclass(frozen=True)
class _Run:
    """The state of a training on disk; a file made from other weights, data or parameters has another `key`."""

    encoder: Encoder
    optimizer: torch.optim.Optimizer
    checkpoint: Path
    key: str

    def save(self, losses: list[float]) -> None:
        tensors = {f"model.{name}": tensor for name, tensor in self.encoder.model.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
        tensors = {name: tensor.detach().clone().contiguous().cpu() for name, tensor in tensors.items()}
        with atomic_file(self.checkpoint) as partial:
            save_file(tensors, partial, metadata={"key": self.key, "losses": json.dumps(losses)})

    def resume(self) -> list[float]:
        """Restore the state and return the losses so far; without a checkpoint of this key change nothing."""
        try:
            with safe_open(self.checkpoint, framework="pt") as file:
                metadata = file.metadata() or {}
                if metadata.get("key") != self.key:
                    return []  # made from something else
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        except (OSError, SafetensorError):
            return []  # there is none
        self.encoder.model.load_state_dict({name[6:]: t for name, t in tensors.items() if name.startswith("model.")})
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, field = name.split(".", 2)
                state.setdefault(int(index), {})[field] = tensor
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        losses: list[float] = json.loads(metadata["losses"])
        log.info("resumed after step %d", len(losses))
        return losses


def read_examples(params: Simcse, counters: Counters) -> list[Example]:
    """Sentences of the corpus, or entailments of SICK train; raises InputError where that is absent."""
    if params.objective == "unsupervised":
        schema = pa.schema([("text", pa.string())])
        texts = [text for part in table_parts(SENTENCES) for text in read_table(part, schema)["text"].to_pylist()]
        found = draw(texts, params.sentences, params.seed)
        counters.drop("not drawn", len(texts) - len(found))
        return found
    if "sick" not in available():
        raise InputError(
            "simcse.objective = supervised needs the pairs of SICK; bring them with `make benchmarks FROM=...`, name "
            "sick in benchmarks.sets, or set simcse.objective to unsupervised."
        )
    pairs = load_pairs("sick", "train")
    rows = list(zip(pairs.sentences1, pairs.sentences2, pairs.labels or [], strict=True))
    found = entailments(rows, load_evaluation_fingerprints(), counters)
    counters.drop("not drawn", max(len(found) - params.sentences, 0))
    return found[: params.sentences]


def tuned(params: Simcse, counters: Counters, checkpoint: Path = CHECKPOINT) -> tuple[Encoder, list[float]] | str:
    """The tuned encoder and the loss of each step, or why there is none."""
    if params.sentences == 0:
        return "not trained in this run: simcse.sentences is 0"
    try:
        encoder = load_encoder(params)
    except AbsentModelError as error:
        log.warning("SimCSE is left out: %s", error)
        return "weights not available here"
    examples = read_examples(params, counters)
    counters.keep(len(examples))
    return encoder, train(encoder, examples, params, checkpoint)


def train_into(directory: Path, params: Simcse, counters: Counters, config: dict[str, object]) -> str | None:
    """Why there is no model, or None where one was written to `directory`."""
    found = tuned(params, counters)
    if isinstance(found, str):
        return found
    encoder, losses = found
    encoder.model.save_pretrained(directory)
    encoder.tokenizer.save_pretrained(directory)
    means = [sum(part) / len(part) for part in (losses[at : at + LOG_EVERY] for at in range(0, len(losses), LOG_EVERY))]
    config |= {"examples": counters.kept, "steps": len(losses), f"loss_every_{LOG_EVERY}_steps": means}
    return None
