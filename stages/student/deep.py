"""Stage `deep`: the student with a hidden layer behind its sum, a variant of its own: a deep averaging network.

    s(S) = sum_{w in S} x_w          x_w: the student's token vectors, which stay as they are
    v(S) = s + relu(s A) B           A (dimension, units) drawn by chance, B (units, dimension) from 0

A sum cannot hear which words stand together; a layer behind it can (Iyyer et al. 2015), and costs two small matrix
products a sentence. It has no bias, so the length of s does not matter and a sentence without a known word stays zero.
The loss and the soft labels are the student's own (stages/student/static.py).
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stages.artifacts import atomic_directory, read_json, write_json
from stages.device import device
from stages.params import Deep
from stages.ragged import Floats, unit_rows
from stages.stage import Counters, stage
from stages.student.encoder import CONFIG, DEEP, STUDENT, VARIANT, StaticEncoder
from stages.student.export import write_card, write_model
from stages.student.losses import distillation_loss
from stages.student.static import principal_directions, project
from stages.student.student import PROBE, read_labelled, watching
from stages.student.tokenizer import UNKNOWN_ID
from stages.student.training import Batch, Training, refuse_collapsed
from stages.teacher.labels import SOFT_LABELS, TEACHER

CHECKPOINT = Path("models/checkpoints/deep.safetensors")


class HiddenLayer(nn.Module):
    """v of (sentences, dimension) unit sums."""

    def __init__(self, dimension: int, units: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.scale = dimension**0.5  # of a unit vector's numbers, to about 1
        self.widen = nn.Parameter(torch.randn(dimension, units, generator=generator) / self.scale)
        self.narrow = nn.Parameter(torch.zeros(units, dimension))

    def forward(self, sums: Tensor) -> Tensor:
        return sums + F.relu(self.scale * sums @ self.widen) @ self.narrow

    def layer(self) -> tuple[Floats, Floats]:
        """A and B as `StaticEncoder` wants them."""
        widen, narrow = (values.detach().cpu().numpy() for values in (self.scale * self.widen, self.narrow))
        return widen, narrow


def deepened(
    encoder: StaticEncoder,
    params: Deep,
    counters: Counters,
    checkpoint: Path = CHECKPOINT,
    soft_labels: Path = SOFT_LABELS,
) -> StaticEncoder | str:
    """A static student with a layer behind its sums, or why there is none."""
    if params.units == 0:
        return "not trained in this run: deep.units is 0"
    if encoder.kind == "paper":
        return "the student of this run is of kind paper"
    return deepen(encoder, params, counters, checkpoint, soft_labels)


def deepen(
    encoder: StaticEncoder, params: Deep, counters: Counters, checkpoint: Path, soft_labels: Path
) -> StaticEncoder:
    """The layer is trained on the soft labels that the student was trained on itself."""
    labelled = read_labelled(encoder, read_json(soft_labels / TEACHER)["dimension"], counters, soft_labels)
    sums = unit_rows(labelled.tokens.without(UNKNOWN_ID).sums(encoder.table))
    targets = project(labelled.targets, principal_directions(labelled.targets, encoder.dimension))
    model = HiddenLayer(encoder.dimension, params.units, params.seed).to(device())

    def found() -> StaticEncoder:
        return StaticEncoder(encoder.tokenizer, encoder.table, hidden=model.layer())

    def loss(rows: Batch) -> dict[str, Tensor]:
        teacher = torch.from_numpy(targets[rows].astype(np.float32)).to(model.widen.device)
        vectors = model(torch.from_numpy(sums[rows]).to(teacher.device))
        return distillation_loss(vectors, teacher, params.relational_weight, params.temperature)

    optimizer = torch.optim.Adam(model.parameters(), lr=params.learning_rate)
    training = Training(model, optimizer, checkpoint, labelled.key(params, encoder.table), decay=True)
    training.run(loss, len(sums), params, watching(encoder, lambda tokens: found().embed(tokens)))
    refuse_collapsed(found().embed(labelled.tokens.take(range(min(PROBE, len(sums))))), "deep student")
    return found()


def main() -> None:
    with stage("deep", unit="sentences") as (params, counters), atomic_directory(DEEP) as directory:
        torch.set_num_threads(1)  # on a machine that others use, more of them wait for each other five times as long
        found = deepened(StaticEncoder.load(STUDENT), params.deep, counters)
        if isinstance(found, StaticEncoder):
            config = read_json(STUDENT / CONFIG)
            made_from = {name: config[name] for name in ("profile", "language", "teacher", "sentences")}
            made_from |= {"epochs": params.deep.epochs, "seed": params.deep.seed}
            write_card("model_card.md", write_model(found, made_from, directory) | {"path": DEEP}, directory)
        write_json(directory / VARIANT, {"absent": found if isinstance(found, str) else None})
    CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
