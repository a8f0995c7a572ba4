"""All systems that a run compares, found in the modules of `registered`."""

import logging
from collections.abc import Callable
from functools import partial

from reproductions.systems import registered
from reproductions.systems.options import Reference
from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import System, TeacherSystem
from sentence_distillery.io.plugins import entries
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError, load_encoder

Loader = Callable[[], System | Unavailable]

log = logging.getLogger(__name__)


SYSTEMS: list[Registered] = sorted(entries(registered, "SYSTEM"), key=lambda system: system.cost)


def loaders(run: Run, paper: str | None = None) -> list[tuple[str, Loader]]:
    """Return a loader for each system of the main job, or of a paper, so that one system at a time is in memory.

    Returns:
        The name of each system, and a function without arguments that returns it, or why there is none. The cheapest
        come first; the transformers of `evaluate.references` are the last of the main job.
    """
    references = run.options.evaluate.references if run.options.evaluate and paper is None else []
    return [
        *((system.name, partial(system.load, run)) for system in SYSTEMS if system.paper == paper),
        *((each.name, partial(load_reference, each, run.options.batch_tokens)) for each in references),
    ]


def load_reference(reference: Reference, batch_tokens: int) -> System | Unavailable:
    """Load a transformer to compare with.

    Raises:
        InputError: If its weights are here, but are not those that the pinned SHA-256 names.
    """
    try:
        return TeacherSystem(load_encoder(reference), batch_tokens, reference.name)
    except AbsentModelError as error:
        log.warning("%s is left out: %s", reference.name, error)
        return NO_WEIGHTS
