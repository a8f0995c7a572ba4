"""Time a step of Siamese training against sentence-transformers, with the same batches, weights and optimizer.

    python -m measurements.siamese_step [encoder]

Both compute the vectors of 12 pairs from token ids that were made beforehand, a contrastive loss with margin 0.5, its
gradients and a step of SGD. The steps alternate. We print the medians; x is relative to sentence-transformers' speed.
Ours is timed in bfloat16 as well if the processor multiplies it. The pairs are those of data/pairs.
"""

import copy
import sys
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses, modules
from torch import Tensor, nn

from reproductions.encoders.trainable import PairEncoder, Pooling, Tokens, padded
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.losses import margin_loss
from sentence_distillery.runtime.device import multiplies_bfloat16
from sentence_distillery.runtime.stopwatch import Work, in_turns
from sentence_distillery.teachers.transformer import find_model, load_encoder
from stages import paths
from stages.params import load_params

Loss = Callable[[NDArray[np.int64], Tensor], Tensor]

STEPS, WARM_UP = 40, 5
BATCH = 12


def library(directory: str, dimension: int) -> SentenceTransformer:
    """Load the same weights in sentence-transformers."""
    transformer = modules.Transformer(directory)
    return SentenceTransformer(modules=[transformer, modules.Pooling(dimension, "mean")], device="cpu")


def features(tokens: Tokens) -> dict[str, Tensor]:
    """Pad a column of a batch to its own longest sentence, as sentence-transformers' collator does."""
    ids, mask = padded(tokens.ids, 0)
    return {"input_ids": ids, "attention_mask": mask}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "minilm-l3"
    teacher = load_params().encoders[name]
    own = PairEncoder(load_encoder(teacher), Pooling.MEAN).train()
    other = library(str(find_model(teacher.reference, teacher.revision)), own.dimension).train()
    contrastive = losses.ContrastiveLoss(other, margin=0.5)
    data = load_pair_data(paths.PAIRS)
    train = data.splits["train"]
    tokens = own.tokens(data.sentences)

    def ours(model: PairEncoder) -> Loss:
        def loss(rows: NDArray[np.int64], labels: Tensor) -> Tensor:
            u, v = model(tokens.take(rows.T.ravel())).chunk(2)
            return margin_loss(u, v, labels.float(), 0.5)

        return loss

    def theirs(rows: NDArray[np.int64], labels: Tensor) -> Tensor:
        loss: Tensor = contrastive([features(tokens.take(rows[:, side])) for side in (0, 1)], labels)
        return loss

    systems: dict[str, tuple[nn.Module, Loss]] = {
        "ours": (own, ours(own)),
        "sentence-transformers": (other, theirs),
    }
    if multiplies_bfloat16("cpu"):
        mixed = copy.deepcopy(own)
        mixed.precision = "bfloat16"
        systems["ours, bfloat16"] = (mixed, ours(mixed))
    optimizers = {
        system: torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, fused=True)
        for system, (model, _) in systems.items()
    }
    order = np.random.default_rng(1).permutation(len(train))

    def stepping(system: str) -> Work:
        batches = iter(order[: STEPS * BATCH].reshape(STEPS, BATCH))
        _, loss = systems[system]

        def step() -> None:
            batch = next(batches)
            optimizers[system].zero_grad()
            loss(train.rows[batch], torch.from_numpy(train.labels[batch])).backward()  # type: ignore[no-untyped-call]
            optimizers[system].step()

        return step

    steps = {system: stepping(system) for system in systems}
    in_turns(steps, range(WARM_UP))
    timings = in_turns(steps, range(STEPS - WARM_UP))
    for system, timing in timings.items():
        times = timing.times_as_fast_as(timings["sentence-transformers"])
        step = f"{timing.median * 1000:.0f} ms a step of {BATCH} pairs, median of {STEPS - WARM_UP}"
        print(f"{system}: {step}; {times:.2f} x")


if __name__ == "__main__":
    main()
