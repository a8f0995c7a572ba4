"""Stage `seeds@{seed}`: what trains in minutes, trained again with another seed.

Skip-gram, the refinement, FastText, SimCSE, MyModel over the run's own refined vectors, the student and its variants
from the run's own teachers. reports/seeds/<seed>.csv has the columns of results.csv, with each system's own mean on
every test split of sentence pairs that has scores. The report says how far the figures move.
"""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from stages.artifacts import InputError, read_json
from stages.benchmarks.data import PairSet, available, load_pairs, splits
from stages.benchmarks.similarity import cosines, similarity_figures
from stages.corpus.text import tokenize
from stages.evaluation.results import SEEDS, Result, write_results
from stages.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from stages.params import Params
from stages.progress import track
from stages.ragged import TokenIds
from stages.stage import Counters, stage
from stages.student.deep import deepened
from stages.student.encoder import StaticEncoder
from stages.student.gold import trained
from stages.student.student import train_paper, train_static
from stages.teacher import simcse
from stages.teacher.labels import SOFT_LABELS, TEACHER
from stages.vectors import fasttext, skipgram
from stages.vectors.corpus import SENTENCES, read_sentences
from stages.vectors.refine import contrast, repel

CHECKPOINTS = Path("models/checkpoints/seeds")


def word_vectors(params: Params, seed: int) -> Iterator[System]:
    """Skip-gram, and what the refinement makes of it."""
    settings = params.skipgram.model_copy(update={"seed": seed})
    content = settings.tokens == "content"
    counts, total = skipgram.count_words(read_sentences(SENTENCES, settings.tokens))
    model = skipgram.train(SENTENCES, settings, counts, total)
    yield WordSystem("skip-gram", model, content)
    sentences = TokenIds.from_words(read_sentences(SENTENCES, settings.tokens), model.index)
    counters = Counters("sentences")
    with _one_thread():
        if params.refine.objective == "repulsion":
            refined, _ = repel(model, sentences, params.refine.model_copy(update={"seed": seed}), counters)
        else:
            refined, _ = contrast(model, sentences, params.contrastive.model_copy(update={"seed": seed}), counters)
    yield WordSystem("refined", refined, content)


@contextmanager
def _one_thread() -> Iterator[None]:
    """As in the stages `refine`, `deep` and `gold`."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def subwords(params: Params, seed: int) -> Iterator[System]:
    """FastText."""
    settings = params.fasttext.model_copy(update={"seed": seed})
    counts, total = skipgram.count_words(read_sentences(SENTENCES, settings.tokens))
    texts = (text for pairs in scored_sets() for text in (*pairs.sentences1, *pairs.sentences2))
    words = (word for text in texts for word in tokenize(text))
    vectors = fasttext.train(SENTENCES, settings, counts, total).extended(words)
    yield WordSystem("FastText", vectors, settings.tokens == "content")


def paper_student(params: Params, seed: int) -> Iterator[System]:
    """MyModel."""
    settings, checkpoint = params.my_model.model_copy(update={"seed": seed}), CHECKPOINTS / f"{seed}-paper.safetensors"
    dimension = read_json(SOFT_LABELS / TEACHER)["dimension"]
    encoder, _, _ = train_paper(settings, dimension, Counters("sentences"), checkpoint)
    yield StudentSystem(encoder, "MyModel")
    checkpoint.unlink(missing_ok=True)


def contrasted(params: Params, seed: int) -> Iterator[System]:
    """SimCSE, where the run has it."""
    settings, checkpoint = params.simcse.model_copy(update={"seed": seed}), CHECKPOINTS / f"{seed}-simcse.safetensors"
    found = simcse.tuned(settings, Counters("examples"), checkpoint)
    if not isinstance(found, str):
        yield TeacherSystem(found[0], params.soft_labels.batch_tokens, "SimCSE")
    checkpoint.unlink(missing_ok=True)


def students(params: Params, seed: int) -> Iterator[System]:
    """The student and its variants, on the same soft labels; an interrupted one goes on at its last epoch."""
    settings = params.student.model_copy(update={"seed": seed})
    train = train_static if settings.kind == "static" else train_paper
    checkpoint = CHECKPOINTS / f"{seed}.safetensors"
    encoder, _, _ = train(settings, read_json(SOFT_LABELS / TEACHER)["dimension"], Counters("sentences"), checkpoint)
    yield StudentSystem(encoder)
    layer, layer_file = params.deep.model_copy(update={"seed": seed}), CHECKPOINTS / f"{seed}-deep.safetensors"
    with _one_thread():
        deep = deepened(encoder, layer, Counters("sentences"), layer_file)
    if isinstance(deep, StaticEncoder):
        yield StudentSystem(deep, "student, deep")
    with _one_thread():
        tuning = params.gold.model_copy(update={"seed": seed})
        gold = trained(settings, layer, tuning, Counters("pairs"), CHECKPOINTS / f"{seed}-gold")
    if isinstance(gold, StaticEncoder):
        yield StudentSystem(gold, "student, gold")
    for file in (checkpoint, layer_file):
        file.unlink(missing_ok=True)


def scored_sets() -> list[PairSet]:
    """The test split of every set of sentence pairs that has scores."""
    names = [name for name in available(kind="pairs") if "test" in splits(name)]
    return [pairs for name in names if (pairs := load_pairs(name, "test")).scores is not None]


def measured(system: System, sets: list[PairSet]) -> Iterator[Result]:
    """Pearson, Spearman and MAE of the system's own mean."""
    for pairs in sets:
        assert pairs.scores is not None and pairs.scale is not None
        left, right = (system.pool(system.token_ids(side), [None])[0] for side in (pairs.sentences1, pairs.sentences2))
        for metric, value in similarity_figures(cosines(left, right), pairs.scores, pairs.scale).items():
            yield Result(system.name, pairs.name, "test", "mean", metric, value, len(pairs.sentences1))


def refuse_own_seed(params: Params, seed: int) -> None:
    """Raises InputError where the seed would count twice."""
    for name in ("skipgram", "fasttext", "my_model", "simcse", "student", "deep", "gold"):
        if seed == getattr(params, name).seed:
            raise InputError(f"seeds.values has {seed}, which is {name}.seed: the run's own; give others.")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train again with another seed what trains in minutes.")
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    with stage(f"seeds@{seed}", unit="trainings") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        refuse_own_seed(params, seed)
        sets, results = scored_sets(), list[Result]()
        trainings = (word_vectors, subwords, paper_student, contrasted, students)
        for train in track(trainings, len(trainings), "trainings"):
            for system in train(params, seed):
                results.extend(measured(system, sets))
            counters.keep()
        write_results(SEEDS / f"{seed}.csv", results)


if __name__ == "__main__":
    main()
