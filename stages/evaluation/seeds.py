"""Stage `seeds`: how far the figures move with the seed, for everything that trains in minutes.

Skip-gram, the refinement, FastText and the student are trained again with each of `seeds.values`; the run's own models
are one more of the sample. reports/seeds.csv has the columns of results.csv: the mean of the figures under the system's
own mean on every test split of sentence pairs, and their standard deviation, sqrt(sum (x - mean)^2 / (n - 1)).

    figures 0.61, 0.62, 0.63: value 0.62, seeds 3, spread 0.01

What one seed gave is kept in data/checkpoints/seeds, in a file named after all that it depends on but the code, so that
an interrupted run goes on. Remove that directory after a change to how something is trained.
"""

import hashlib
import json
import logging
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from stages.artifacts import InputError, read_json, write_json
from stages.benchmarks.data import BENCHMARKS_DIRECTORY, PairSet, available, load_pairs, splits
from stages.benchmarks.similarity import cosines, similarity_figures
from stages.corpus.text import tokenize
from stages.evaluation.results import SEEDS, Result, write_results
from stages.evaluation.systems import StudentSystem, System, WordSystem
from stages.params import Params
from stages.progress import track
from stages.ragged import TokenIds
from stages.stage import Counters, stage
from stages.student.encoder import STUDENT, StaticEncoder
from stages.student.student import train_paper, train_static
from stages.teacher.soft_labels import SOFT_LABELS, TEACHER
from stages.vectors import fasttext, skipgram
from stages.vectors.corpus import SENTENCES, read_sentences
from stages.vectors.fasttext import SubwordVectors
from stages.vectors.model import REFINED, SKIPGRAM, WordVectors
from stages.vectors.refine import contrast, repel

KEPT = Path("data/checkpoints/seeds")
CHECKPOINT = Path("models/checkpoints/seeds.safetensors")

Figures = dict[str, dict[str, float]]  # by system, then by "<set>/<metric>"


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
    """As in the stage `refine`."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def subwords(params: Params, seed: int) -> Iterator[System]:
    """FastText."""
    settings = params.fasttext.model_copy(update={"seed": seed})
    counts, total = skipgram.count_words(read_sentences(SENTENCES, settings.tokens))
    yield _fasttext(params, fasttext.train(SENTENCES, settings, counts, total))


def _fasttext(params: Params, found: SubwordVectors) -> System:
    texts = (text for pairs in scored_sets() for text in (*pairs.sentences1, *pairs.sentences2))
    words = (word for text in texts for word in tokenize(text))
    return WordSystem("FastText", found.extended(words), params.fasttext.tokens == "content")


def student(params: Params, seed: int) -> Iterator[System]:
    """The student, on the same soft labels."""
    settings = params.student.model_copy(update={"seed": seed})
    train = train_static if settings.kind == "static" else train_paper
    encoder, _, _ = train(settings, read_json(SOFT_LABELS / TEACHER)["dimension"], Counters("sentences"), CHECKPOINT)
    yield StudentSystem(encoder)


def own(params: Params) -> Iterator[System]:
    """The models of the run itself."""
    content = params.skipgram.tokens == "content"
    yield WordSystem("skip-gram", WordVectors.load(SKIPGRAM), content)
    yield WordSystem("refined", WordVectors.load(REFINED), content)
    yield _fasttext(params, SubwordVectors.load())
    yield StudentSystem(StaticEncoder.load(STUDENT))


@dataclass(frozen=True)
class Recipe:
    """How some systems are trained with a seed, and the parameters and data that they depend on."""

    train: Callable[[Params, int], Iterator[System]]
    sections: tuple[str, ...]
    data: tuple[Path, ...]

    def kept(self, params: Params, seed: int) -> Path:
        """Where its figures are kept."""
        settings = params.model_dump(include=set(self.sections))
        digest = hashlib.sha256(json.dumps([self.train.__name__, seed, settings], sort_keys=True).encode())
        for path in self.data:
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
        return KEPT / f"{digest.hexdigest()}.json"


RECIPES = (
    Recipe(word_vectors, ("skipgram", "refine", "contrastive"), (SENTENCES, BENCHMARKS_DIRECTORY)),
    Recipe(subwords, ("fasttext",), (SENTENCES, BENCHMARKS_DIRECTORY)),
    Recipe(student, ("student",), (SENTENCES, BENCHMARKS_DIRECTORY, SOFT_LABELS)),
)


def scored_sets() -> list[PairSet]:
    """The test split of every set of sentence pairs that has scores."""
    names = [name for name in available(kind="pairs") if "test" in splits(name)]
    return [pairs for name in names if (pairs := load_pairs(name, "test")).scores is not None]


def measured(systems: Iterator[System], sets: list[PairSet]) -> Figures:
    """Pearson, Spearman and MAE of each system's own mean; what is undefined is left out."""
    figures: Figures = {}
    for system in systems:
        found = figures.setdefault(system.name, {})
        for pairs in sets:
            assert pairs.scores is not None and pairs.scale is not None
            left, right = (
                system.pool(system.token_ids(side), [None])[0] for side in (pairs.sentences1, pairs.sentences2)
            )
            for metric, value in similarity_figures(cosines(left, right), pairs.scores, pairs.scale).items():
                if isinstance(value, float):
                    found[f"{pairs.name}/{metric}"] = value
    return figures


def retrained(params: Params, recipe: Recipe, seed: int, sets: list[PairSet]) -> Figures:
    """The figures of a recipe with a seed, from an earlier run where that got so far."""
    kept = recipe.kept(params, seed)
    if kept.exists():
        figures: Figures = read_json(kept)
        return figures
    figures = measured(recipe.train(params, seed), sets)
    write_json(kept, figures)
    CHECKPOINT.unlink(missing_ok=True)
    return figures


def summary(samples: list[Figures], sets: list[PairSet]) -> Iterator[Result]:
    """A row for each figure that two samples have at least, by system and set."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for sample in samples:
        for system, figures in sample.items():
            for name, value in figures.items():
                values[system, name].append(value)
    for system in dict.fromkeys(system for system, _ in values):
        for pairs in sets:
            row = Result(system, pairs.name, "test", "mean", "", 0.0, len(pairs.sentences1))
            for metric in ("pearson", "spearman", "mae"):
                found = values[system, f"{pairs.name}/{metric}"]
                if len(found) > 1:
                    mean, spread = statistics.mean(found), statistics.stdev(found)
                    yield replace(row, metric=metric, value=mean, seeds=len(found), spread=spread)


def refuse_own_seed(params: Params) -> None:
    """Raises InputError where a seed would count twice."""
    for name in ("skipgram", "fasttext", "student"):
        seed = getattr(params, name).seed
        if seed in params.seeds.values:
            raise InputError(f"seeds.values has {seed}, which is {name}.seed: the run's own; give others.")
    if len(set(params.seeds.values)) < len(params.seeds.values):
        raise InputError(f"seeds.values = {params.seeds.values} has a seed twice; give each once.")


def main() -> None:
    with stage("seeds", unit="trainings") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        refuse_own_seed(params)
        seeds, sets = params.seeds.values, scored_sets()
        samples = [measured(own(params), sets)] if seeds else []
        runs = [(recipe, seed) for seed in seeds for recipe in RECIPES]
        for recipe, seed in track(runs, len(runs), "trainings"):
            samples.append(retrained(params, recipe, seed, sets))
            counters.keep()
        write_results(SEEDS, summary(samples, sets))


if __name__ == "__main__":
    main()
