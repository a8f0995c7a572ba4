"""Run a cell of an experiment: build its models, train one with each seed, and score them and their model soup.

An experiment is a builder and a scorer (`Experiment`). The rest of a cell is here: the loop over the seeds, the mean of
their weights (Wortsman et al. 2022, "Model soups"), which model is the best, and what a cell without its encoder says.
Each training keeps a checkpoint of its own, so an interrupted cell resumes at its last epoch, with the same result.
"""

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
from torch import Tensor, nn

from reproductions.grid.axes import Place
from reproductions.grid.cell import SOUP, Cell, Predictions, TrainedRun, table_of
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError

Model = TypeVar("Model", bound=nn.Module)
Notes = list[dict[str, Any]]

log = logging.getLogger(__name__)


class Experiment(Protocol[Model]):
    """How the models of a cell are built, trained and scored."""

    def untrained(self) -> Model | None:
        """Return the model before any training, or None if it is not scored."""

    def trained(self, seed: int) -> tuple[Model, Notes]:
        """Build a model and train it, or resume from its checkpoint; returns it with the notes of each epoch."""

    def scored(self, model: Model, notes: Notes) -> tuple[Predictions, dict[str, float]]:
        """Return the predictions of a model and its figures; `notes` are its epochs."""


@dataclass(frozen=True)
class Outcome(Generic[Model]):
    """A cell that was run, and its best model with its run, the first of the highest quality, if one was asked for."""

    cell: Cell
    best: tuple[Model, TrainedRun] | None = None


def run(
    place: Place,
    build: Callable[[], Experiment[Model] | Unavailable],
    seeds: Sequence[int],
    quality: str = "",
    data: str = "",
    soup: bool = True,
) -> Outcome[Model]:
    """Run a cell: the model before any training, one with each seed, and their model soup if there are several.

    Args:
        place: Which cell it is.
        build: Makes its experiment, or says why it is not available.
        seeds: What each training is run with; none if nothing is trained.
        quality: The figure that says how good a run is, on pairs that are not the test pairs; "" if none is kept.
        data: The SHA-256 of what the cell is made from.
        soup: Whether the mean of the weights is scored, too.

    Raises:
        InputError: If something cannot be read, or a loss is not finite.
    """
    try:
        experiment = build()
    except AbsentModelError as error:
        log.warning("%s is left out: %s", place.name, error)
        experiment = NO_WEIGHTS
    if isinstance(experiment, Unavailable):
        return Outcome(Cell(place, experiment, data=data))
    runs: list[TrainedRun] = []
    tables = []
    best: tuple[Model, TrainedRun] | None = None
    for seed, model, notes in _models(experiment, seeds, soup):
        predictions, figures = experiment.scored(model, notes)
        if seed == SOUP and "seconds" in figures:  # the trainings of all seeds are needed
            figures["seconds"] = round(sum(run.figures["seconds"] for run in runs), 1)
        runs.append(TrainedRun(seed, figures, notes))
        if "seconds" in figures:
            log.info("%s, seed %s: %.1f s", place.name, "of all" if seed == SOUP else seed, figures["seconds"])
        tables.append(table_of(seed, predictions))
        if quality and (best is None or figures[quality] > best[1].figures[quality]):
            best = model, runs[-1]
    return Outcome(Cell(place, runs, pa.concat_tables(tables), data), best)


def _models(
    experiment: Experiment[Model], seeds: Sequence[int], soup: bool
) -> Iterator[tuple[int | None, Model, Notes]]:
    """Yield the seed, the model and the notes of each run."""
    start = experiment.untrained()
    if start is not None:
        yield None, start, []
    sums: dict[str, Tensor] = {}
    for seed in seeds:
        model, notes = experiment.trained(seed)
        yield seed, model, notes
        sums = {name: tensor + sums.get(name, 0) for name, tensor in model.state_dict().items()}
    if soup and len(seeds) > 1:
        model = copy.deepcopy(model)
        model.load_state_dict({name: total / len(seeds) for name, total in sums.items()})
        yield SOUP, model, []
