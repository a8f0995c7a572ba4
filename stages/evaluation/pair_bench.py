"""A step of Siamese training beside that of sentence-transformers, on the same batches, weights and optimizer.

    python -m stages.evaluation.pair_bench [encoder]

Both compute the vectors of 12 pairs, a contrastive loss with margin 0.5, its gradients and a step of SGD; both get
token ids that were made beforehand. The steps alternate, and the medians are printed.
"""

import copy
import statistics
import sys
import time

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses, modules
from torch import Tensor

from stages.pairs.data import load_material
from stages.pairs.encoder import PairEncoder, Pooling, Tokens, padded
from stages.pairs.losses import margin_loss
from stages.params import load_params
from stages.teacher.encoders import find_model, load_encoder

STEPS = 40
BATCH = 12


def library(directory: str, dimension: int) -> SentenceTransformer:
    """The same weights in sentence-transformers."""
    transformer = modules.Transformer(directory)
    return SentenceTransformer(modules=[transformer, modules.Pooling(dimension, "mean")], device="cpu")


def features(tokens: Tokens) -> dict[str, Tensor]:
    """A column of a batch as sentence-transformers' collator hands it over: padded to its own longest sentence."""
    ids, mask = padded(tokens.ids, 0)
    return {"input_ids": ids, "attention_mask": mask}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "minilm-l3"
    teacher = load_params().encoders[name]
    own = PairEncoder(load_encoder(teacher), Pooling.MEAN).train()
    other = library(str(find_model(teacher.reference, teacher.revision)), own.dimension).train()
    contrastive = losses.ContrastiveLoss(other, margin=0.5)
    optimizers = [torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, fused=True) for model in (own, other)]
    material = load_material()
    train = material.splits["train"]
    tokens = own.tokens(material.sentences)
    order = np.random.default_rng(1).permutation(len(train))
    taken: dict[str, list[float]] = {"ours": [], "sentence-transformers": []}
    for step in range(STEPS):
        batch = order[step * BATCH : (step + 1) * BATCH]
        rows, labels = train.rows[batch], torch.from_numpy(train.labels[batch])
        columns = [features(tokens.take(rows[:, side])) for side in (0, 1)]
        began = time.perf_counter()
        optimizers[0].zero_grad()
        u, v = own(tokens.take(rows.T.ravel())).chunk(2)
        margin_loss(u, v, labels.float(), 0.5).backward()  # type: ignore[no-untyped-call]
        optimizers[0].step()
        between = time.perf_counter()
        optimizers[1].zero_grad()
        contrastive(copy.copy(columns), labels).backward()
        optimizers[1].step()
        taken["ours"].append(between - began)
        taken["sentence-transformers"].append(time.perf_counter() - between)
    medians = {name: statistics.median(values[5:]) for name, values in taken.items()}
    for system, seconds in medians.items():
        print(f"{system}: {seconds * 1000:.0f} ms a step of {BATCH} pairs, median of {STEPS - 5}")
    print(f"ratio {medians['sentence-transformers'] / medians['ours']:.2f}")


if __name__ == "__main__":
    main()
