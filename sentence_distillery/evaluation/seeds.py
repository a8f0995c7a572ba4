"""Repeat the quick trainings with another seed.

Skip-gram, the refinement, FastText, SimCSE, paper 1's student over the run's own refined vectors, the student and its
variants from the run's own teachers. Each system's own mean is scored on every test split of sentence pairs that has
human ratings; the report shows the spread of the figures.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

import torch

from sentence_distillery.benchmarks.data import BenchmarkData, PairSet
from sentence_distillery.benchmarks.metrics import cosines, similarity_figures
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.distillation.fine_tuning import FineTuning, train_fine_tuned
from sentence_distillery.distillation.mlp_head import train_mlp_head, why_unavailable
from sentence_distillery.distillation.options import FineTunedStudent, MlpHead, PaperStudentOptions, Student
from sentence_distillery.distillation.student import (
    LabelledCorpus,
    TrainedStudent,
    development_pairs,
    train_paper,
    train_static,
)
from sentence_distillery.encoder.static_encoder import VARIANT
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.pairs import simcse
from sentence_distillery.pairs.options import Simcse
from sentence_distillery.word_vectors import fasttext, skipgram
from sentence_distillery.word_vectors.corpus import read_documents, read_sentences
from sentence_distillery.word_vectors.model import WordVectors
from sentence_distillery.word_vectors.options import Contrastive, Fasttext, Refine, Skipgram
from sentence_distillery.word_vectors.refinement import contrast, repel


@dataclass(frozen=True)
class SeedOptions:
    """The training options of each system, and the tokens in a batch of a transformer."""

    skipgram: Skipgram
    fasttext: Fasttext
    refine: Refine
    contrastive: Contrastive
    paper_student: PaperStudentOptions
    simcse: Simcse
    student: Student
    mlp_head: MlpHead
    fine_tuned_student: FineTunedStudent
    batch_tokens: int

    def with_seed(self, seed: int) -> Self:
        """Return the same options with another seed; raises InputError if a system of the run itself has that one."""
        for name in ("skipgram", "fasttext", "paper_student", "simcse", "student", "mlp_head", "fine_tuned_student"):
            if seed == getattr(self, name).seed:
                raise InputError(f"the seed {seed} is {name}.seed, the run's own; give others.")
        sections = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "batch_tokens"}
        return replace(self, **{name: each.model_copy(update={"seed": seed}) for name, each in sections.items()})


@dataclass(frozen=True)
class SeedInputs:
    """The inputs of trainings: directories of the corpus and its labels, the run's refined vectors, the benchmark sets.

    An interrupted training is kept in a file of `checkpoints` whose name begins with `seed`.
    """

    sentences: Path
    soft_labels: Path
    fine_tuned_labels: Path
    refined: Path
    benchmarks: BenchmarkData
    checkpoints: Path
    seed: int

    @property
    def labelled(self) -> LabelledCorpus:
        return LabelledCorpus(self.sentences, self.soft_labels)

    def checkpoint(self, name: str) -> Path:
        """Return the file of a training."""
        return self.checkpoints / f"{self.seed}-{name}.safetensors"


def word_vectors(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    """Train skip-gram, and refine it."""
    content = options.skipgram.tokens == "content"
    counts = skipgram.count_words(read_sentences(inputs.sentences, options.skipgram.tokens))
    model = skipgram.train(inputs.sentences, options.skipgram, counts)
    yield WordSystem("skip-gram", model, content)
    sentences = TokenIds.from_words(read_sentences(inputs.sentences, options.skipgram.tokens), model.index)
    counters = Counters("sentences")
    with _one_thread():
        if options.refine.objective == "repulsion":
            refined, _ = repel(model, sentences, options.refine, counters)
        else:
            documents = read_documents(inputs.sentences)
            refined, _ = contrast(model, sentences, documents, options.contrastive, counters)
    yield WordSystem("refined", refined, content)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread, as the stages `refine`, `mlp_head` and `fine_tuned_student` do."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def subwords(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    """Train FastText."""
    settings = options.fasttext
    counts = skipgram.count_words(read_sentences(inputs.sentences, settings.tokens))
    texts = (text for pairs in rated_sets(inputs.benchmarks) for text in (*pairs.sentences1, *pairs.sentences2))
    words = (word for text in texts for word in tokenize(text))
    vectors = fasttext.train(inputs.sentences, settings, counts).extended(words)
    yield WordSystem("FastText", vectors, settings.tokens == "content")


def paper_student(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    """Train the student of paper 1."""
    checkpoint = inputs.checkpoint("paper")
    yield StudentSystem(_paper(options.paper_student, inputs, checkpoint).encoder, "paper student")
    checkpoint.unlink(missing_ok=True)


def _paper(settings: PaperStudentOptions | Student, inputs: SeedInputs, checkpoint: Path) -> TrainedStudent:
    refined, development = WordVectors.load(inputs.refined), development_pairs(inputs.benchmarks)
    return train_paper(settings, refined, inputs.labelled, Counters("sentences"), checkpoint, development)


def contrasted(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    """Train SimCSE, if the run has it."""
    checkpoint = inputs.checkpoint("simcse")
    sources = simcse.Sources(inputs.sentences, inputs.benchmarks)
    result = simcse.tuned(options.simcse, sources, checkpoint, Counters("examples"))
    if not isinstance(result, Unavailable):
        yield TeacherSystem(result[0], options.batch_tokens, "SimCSE")
    checkpoint.unlink(missing_ok=True)


def students(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    """Train the student and its variants, on the same soft labels; an interrupted one resumes at its last epoch."""
    development = development_pairs(inputs.benchmarks)
    checkpoint, head_checkpoint = inputs.checkpoint("student"), inputs.checkpoint("mlp_head")
    if options.student.kind == "static":
        counters = Counters("sentences")
        encoder = train_static(options.student, inputs.labelled, counters, checkpoint, development).encoder
    else:
        encoder = _paper(options.student, inputs, checkpoint).encoder
    yield StudentSystem(encoder)
    if why_unavailable(encoder, options.mlp_head) is None:
        with _one_thread():
            counters = Counters("sentences")
            head = train_mlp_head(encoder, options.mlp_head, inputs.labelled, counters, head_checkpoint, development)
        yield StudentSystem(head, "student, MLP head")
    yield from _fine_tuned(options, inputs)
    for file in (checkpoint, head_checkpoint):
        file.unlink(missing_ok=True)


def _fine_tuned(options: SeedOptions, inputs: SeedInputs) -> Iterator[System]:
    if read_unavailable(inputs.fine_tuned_labels / VARIANT):
        return
    corpus = LabelledCorpus(inputs.sentences, inputs.fine_tuned_labels)
    settings = FineTuning(options.student, options.mlp_head, options.fine_tuned_student)
    checkpoints = inputs.checkpoints / f"{inputs.seed}-fine_tuned"
    with _one_thread():
        encoder = train_fine_tuned(settings, corpus, inputs.benchmarks, checkpoints, Counters("pairs"))
    yield StudentSystem(encoder, "student, fine-tuned")


def rated_sets(data: BenchmarkData) -> list[PairSet]:
    """Read the test split of every set of sentence pairs that has human ratings."""
    names = [name for name in data.available("pairs") if "test" in data.splits(name)]
    return [pairs for name in names if (pairs := data.pairs(name, "test")).scores is not None]


def measured(system: System, sets: list[PairSet], seed: int) -> Iterator[Result]:
    """Measure the system's own mean: Pearson, Spearman and MAE on each set."""
    for pairs in sets:
        assert pairs.scores is not None and pairs.scale is not None
        left, right = (system.pool(system.token_ids(side), [None])[0] for side in (pairs.sentences1, pairs.sentences2))
        for metric, value in similarity_figures(cosines(left, right), pairs.scores, pairs.scale).items():
            yield Result(system.name, pairs.name, "test", "mean", metric, value, len(pairs.sentences1), seed=seed)


TRAININGS = (word_vectors, subwords, paper_student, contrasted, students)
