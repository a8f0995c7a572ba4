"""The stage `seeds@{seed}`: repeat the quick trainings with another seed, and score the models.

Runs the stages that train word vectors, SimCSE and the students in a workspace of their own: params.yaml has the other
seed, the data is this run's, and paper 1's student has this run's refined vectors. Each system's own mean is scored on
every test split of rated pairs, and the students also on the held-out texts. Writes reports/seeds/<seed>.csv, a table
of figures.

An interrupted run resumes in the workspace, models/checkpoints/seeds/<seed>, where each training has its checkpoint.
"""

import argparse
import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import yaml

from reproductions.systems.registration import SystemInputs, SystemOptions
from reproductions.systems.registry import SYSTEMS
from reproductions.systems.seeds import measured
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.domain.held_out import reference_of
from sentence_distillery.domain.measures import scored
from sentence_distillery.evaluation.present import pair_sets
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.progress import track
from stages import paths
from stages.ablations import fine_tuned_student, mlp_head
from stages.ablations.all_systems import students
from stages.distillation import student
from stages.evaluation.domain import CORPUS
from stages.paper1 import fasttext, paper_student, refine, simcse, skipgram
from stages.params import PARAMS, Params, load_params, read_params
from stages.stage import stage

# The students first: they have the refined vectors of the run, which `refine` then replaces in the workspace.
TRAININGS = (paper_student, student, mlp_head, fine_tuned_student, simcse, fasttext, skipgram, refine)
OWN = {PARAMS, paths.REPORTS, paths.MODEL_CHECKPOINTS, *paths.MODELS.values()} - {paths.REFINED}  # of a workspace


def seeded(params: Params, seed: int) -> dict[str, Any]:
    """Return params.yaml with another seed; raises InputError if a system of the run itself has that one."""
    sections = {
        "skipgram": params.skipgram,
        "fasttext": params.fasttext,
        "refine": params.refine,
        "contrastive": params.contrastive,
        "paper_student": params.paper_student,
        "simcse": params.simcse,
        "student": params.student,
        "mlp_head": params.mlp_head,
        "fine_tuned_student": params.fine_tuned_student,
    }
    if taken := [name for name, section in sections.items() if section.model_dump()["seed"] == seed]:
        raise InputError(f"the seed {seed} is {taken[0]}.seed, the seed of the run itself; give other seeds.")
    content = read_params()
    same = {"size": params.size.model_dump()}  # which has no seed, but makes another student
    return content | same | {name: content[name] | {"seed": seed} for name in sections}


def make_workspace(directory: Path, content: dict[str, Any]) -> None:
    """Make a workspace of the stages, or reuse one; files that they do not write are links to this run's."""
    (directory / paths.REFINED.parent).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(directory / paths.REPORTS, ignore_errors=True)  # checksums of files that are linked again
    (directory / PARAMS).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    for path in (*Path().iterdir(), *paths.REFINED.parent.iterdir()):
        if path not in OWN and path != paths.REFINED.parent and not path.name.startswith("."):
            link = directory / path
            if link.is_dir() and not link.is_symlink():  # refined vectors of an interrupted run
                shutil.rmtree(link)
            link.unlink(missing_ok=True)
            link.symlink_to(path.absolute())


def train() -> None:
    """Run the stages in the current directory."""
    threads = torch.get_num_threads()
    for training in track(TRAININGS, len(TRAININGS), "trainings"):
        training.main()
        torch.set_num_threads(threads)


def figures(params: Params, seed: int) -> Iterator[Result]:
    """Score the systems of the current directory that a run trains, as far as they are there."""
    sets = pair_sets(BenchmarkData(paths.BENCHMARKS), "pairs", ("test",))
    texts = [text for pairs in sets for side in (pairs.sentences1, pairs.sentences2) for text in side]
    options = SystemOptions(
        params.soft_labels.batch_tokens, skipgram=params.skipgram, fasttext=params.fasttext, simcse=params.simcse
    )
    run = SystemInputs(paths.MODELS, options, lambda: (word for text in texts for word in tokenize(text)))
    for system in SYSTEMS:
        if system.trained and not isinstance(loaded := system.load(run), Unavailable):
            yield from measured(loaded, sets, seed)


def held_out_figures(params: Params, seed: int) -> Iterator[Result]:
    """Score the students of the current directory on held-out texts, as `domain` and `all_systems` do."""
    reference = reference_of(CORPUS, params.held_out.share, params.domain)
    if isinstance(reference, Unavailable):
        return
    for name, load in students():
        if not isinstance(encoder := load(), Unavailable):
            yield from (replace(result, seed=seed) for result in scored(name, encoder, reference))


def main() -> None:
    parser = argparse.ArgumentParser(description="Repeat the quick trainings with another seed.")
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    with stage(f"seeds@{seed}", unit="trainings") as (params, counters):
        workspace = paths.MODEL_CHECKPOINTS / "seeds" / str(seed)
        make_workspace(workspace, seeded(params, seed))
        with contextlib.chdir(workspace):
            train()
            results = [*figures(load_params(), seed), *held_out_figures(params, seed)]
        write_results(paths.SEEDS / f"{seed}.csv", results)
        counters.keep(len(TRAININGS))
        shutil.rmtree(workspace)


if __name__ == "__main__":
    main()
