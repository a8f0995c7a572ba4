"""Train models of a cell of paper 2 at several learning rates (rates.py)."""

import logging
from collections.abc import Callable

import numpy as np

from reproductions.paper2.pairs.cells import PairExperiment
from reproductions.paper2.rates import DIVERGED, Tried
from sentence_distillery.training.trainer import DivergedError

log = logging.getLogger(__name__)


def tried(build: Callable[[float], PairExperiment], rate: float, seed: int) -> Tried:
    """Train a model at a rate, or resume from its checkpoint."""
    experiment = build(rate)
    try:
        model, notes = experiment.trained(seed)
    except DivergedError as error:
        log.warning("%s", error)
        return Tried(rate, DIVERGED, {})
    predictions, figures = experiment.scored(model, notes)
    test = predictions["test"]
    return Tried(rate, figures["validation"], figures, np.asarray(test["predicted"] == test["label"]))
