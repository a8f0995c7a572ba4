"""Stage `seeds@{seed}`: what trains in minutes, trained again with another seed.

Skip-gram, the refinement, FastText, SimCSE, MyModel over the run's own refined vectors, the student and its variants
from the run's own teachers. reports/seeds/<seed>.csv has the columns of results.csv, with each system's own mean on
every test split of sentence pairs that has scores. The report says how far the figures move.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from sentence_distillery.benchmarks.data import PairSet, available, load_pairs, splits
from sentence_distillery.benchmarks.metrics import cosines, similarity_figures
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.distillation.fine_tuning import trained
from sentence_distillery.distillation.mlp_head import with_mlp_head
from sentence_distillery.distillation.soft_labels import SOFT_LABELS, TEACHER
from sentence_distillery.distillation.student import train_paper, train_static
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.pairs import simcse
from sentence_distillery.word_vectors import fasttext, skipgram
from sentence_distillery.word_vectors.corpus import SENTENCES, read_sentences
from sentence_distillery.word_vectors.refinement import contrast, repel
from stages.params import Params

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
    """The student of paper 1."""
    settings, checkpoint = (
        params.paper_student.model_copy(update={"seed": seed}),
        CHECKPOINTS / f"{seed}-paper.safetensors",
    )
    dimension = read_json(SOFT_LABELS / TEACHER)["dimension"]
    encoder, _, _ = train_paper(settings, dimension, Counters("sentences"), checkpoint)
    yield StudentSystem(encoder, "paper student")
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
    layer, layer_file = params.mlp_head.model_copy(update={"seed": seed}), CHECKPOINTS / f"{seed}-mlp_head.safetensors"
    with _one_thread():
        deep = with_mlp_head(encoder, layer, Counters("sentences"), layer_file)
    if isinstance(deep, StaticEncoder):
        yield StudentSystem(deep, "student, MLP head")
    with _one_thread():
        tuning = params.fine_tuned_student.model_copy(update={"seed": seed})
        gold = trained(settings, layer, tuning, Counters("pairs"), CHECKPOINTS / f"{seed}-gold")
    if isinstance(gold, StaticEncoder):
        yield StudentSystem(gold, "student, fine-tuned")
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
    for name in ("skipgram", "fasttext", "paper_student", "simcse", "student", "mlp_head", "fine_tuned_student"):
        if seed == getattr(params, name).seed:
            raise InputError(f"seeds.values has {seed}, which is {name}.seed: the run's own; give others.")
