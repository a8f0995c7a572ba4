"""SimCSE: its loss by hand, its training data, and an interrupted run that ends like an undisturbed one."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from reproductions.paper2.pairs import simcse
from reproductions.paper2.pairs.simcse import CONFIG, Example, draw, embed, entailments, info_nce, train
from sentence_distillery.corpus.fingerprints import fingerprint, fingerprints
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, PAIRS, PROVENANCE
from sentence_distillery.io.artifacts import write_json, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.teachers.transformer import TransformerEncoder, load_encoder
from stages.paper1 import simcse as simcse_stage
from stages.paper1.simcse import CHECKPOINT
from stages.params import Params
from stages.paths import BENCHMARKS, SIMCSE
from tests.reproductions.paper1.conftest import write_corpus
from tests.reproductions.paper2.small import reference
from tests.sentence_distillery.teachers.conftest import on_the_processor as on_the_processor
from tests.tiny_bert import write_tiny_bert
from tests.workspace import demo_params, write_params

SUBJECTS = ("the storm", "the dog", "a woman", "the police")
TEXTS = [
    f"{one} {two} {three}" for one in SUBJECTS for two in ("hears", "sees") for three in ("water", "a guitar", "people")
]
PARAMS = Params(**demo_params()).simcse.model_copy(
    update={"enabled": True, "batch_size": 6, "epochs": 3, "learning_rate": 1e-3, "sentences": 24}
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of a few sentences, a small encoder, and SICK train with one pair of an evaluation set."""
    monkeypatch.chdir(tmp_path)
    write_tiny_bert(Path("tiny"))
    write_corpus([". ".join(TEXTS)])
    rows = [
        ("train", "A dog runs.", "A dog moves.", 4.0, "ENTAILMENT"),
        ("train", "A woman sings.", "A woman makes music.", 4.0, "ENTAILMENT"),
        ("train", "A dog runs.", "No dog runs.", 3.0, "CONTRADICTION"),
        ("train", "Water boils.", "Water is hot.", 4.5, "ENTAILMENT"),
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    write_table(BENCHMARKS / "sick.parquet", pa.table(columns, schema=PAIRS))
    evaluated = pa.array([fingerprint("water is hot")], pa.uint64())
    write_table(BENCHMARKS / "evaluation_fingerprints.parquet", pa.table([evaluated], schema=EVALUATION_FINGERPRINTS))
    entry = {"kind": "pairs", "rows": {"train": 4}, "scale": [1, 5]}
    write_json(BENCHMARKS / PROVENANCE, {"sets": {"sick": entry}, "absent": {}, "pair_sets": []})
    return tmp_path


def configure(**changes: object) -> None:
    quick = {"enabled": True, "reference": "tiny", "sha256": None, "maximum_length": 32}
    write_params(simcse=quick | {"batch_size": 2, "sentences": 24} | changes)


def encoder(directory: Path) -> TransformerEncoder:
    write_tiny_bert(directory)
    return load_encoder(reference(directory))


def weights(found: TransformerEncoder) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in found.model.state_dict().values()])


def test_loss_against_loops() -> None:
    anchors, positives, negatives = (torch.randn(n, 5, generator=torch.Generator().manual_seed(n)) for n in (4, 4, 3))
    unit = [rows.numpy() / np.linalg.norm(rows.numpy(), axis=1)[:, None] for rows in (anchors, positives, negatives)]
    total = 0.0
    for i in range(4):
        near = [np.exp(unit[0][i] @ other / 0.1) for other in unit[1]]
        far = [np.exp(unit[0][i] @ other / 0.1) for other in unit[2]]
        total -= np.log(near[i] / (sum(near) + sum(far))) / 4
    assert info_nce(anchors, positives, negatives, 0.1).item() == pytest.approx(total, abs=1e-4)


def test_dropout_makes_the_two_views(tmp_path: Path) -> None:
    """In training two passes differ; in inference they are equal, and equal to the encoder's own mean."""
    found = encoder(tmp_path)
    found.model.train()
    assert not torch.allclose(embed(found, TEXTS), embed(found, TEXTS))
    found.model.train(False)
    with torch.inference_mode():
        vectors = embed(found, TEXTS).cpu().numpy()
    np.testing.assert_allclose(vectors, found.embed(found.token_ids(TEXTS), 1_000)[0], atol=1e-5)


def test_training_lowers_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves the encoder out of training mode."""
    monkeypatch.setattr(simcse, "ROUND", 3)
    found = encoder(tmp_path / "tiny")
    curve = train(found, draw(TEXTS, 24, seed=1), PARAMS, tmp_path / "checkpoint")
    assert len(curve) == 4
    assert curve[-1]["loss"] < 0.8 * curve[0]["loss"]
    assert not found.model.training


@pytest.mark.fault(1, 27)
def test_an_interrupted_run_ends_as_an_undisturbed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after step 7, it resumes from the checkpoint of step 5, to the same weights."""
    monkeypatch.setattr(simcse, "ROUND", 5)
    examples = draw(TEXTS, 24, seed=1)
    whole = encoder(tmp_path / "whole")
    expected = train(whole, examples, PARAMS, tmp_path / "one")
    loss, calls = simcse.loss, []

    def killed(encoder: TransformerEncoder, batch: list[Example], temperature: float) -> torch.Tensor:
        calls.append(batch)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return loss(encoder, batch, temperature)

    monkeypatch.setattr(simcse, "loss", killed)
    with pytest.raises(KeyboardInterrupt):
        train(encoder(tmp_path / "half"), examples, PARAMS, tmp_path / "two")
    again = encoder(tmp_path / "again")
    assert train(again, examples, PARAMS, tmp_path / "two") == expected
    assert len(calls) == 8 + 7
    assert calls[8:10] == calls[5:7]  # the sixth and the seventh step again
    torch.testing.assert_close(weights(again), weights(whole), rtol=0, atol=0)
    other = PARAMS.model_copy(update={"temperature": 0.1})  # its checkpoint is another's
    assert train(encoder(tmp_path / "other"), examples, other, tmp_path / "two")[0] != expected[0]


@pytest.mark.fault(18)
def test_entailments_without_what_is_scored() -> None:
    """A pair whose sentence evaluation scores on is dropped, and counted, whatever its case."""
    pairs = [
        ("A dog runs.", "A dog moves.", "ENTAILMENT"),
        ("No dog runs.", "A dog runs.", "CONTRADICTION"),
        ("A DOG RUNS", "A cat sleeps.", "NEUTRAL"),
        ("Water boils.", "Water is hot.", "ENTAILMENT"),
    ]
    counters = Counters("examples")
    found = entailments(pairs, fingerprints(["water is hot!"]), counters)
    assert found == [Example("A dog runs.", "A dog moves.", "No dog runs.")]
    assert counters.dropped == {"sentence in an evaluation set": 1, "no entailment": 2}


@pytest.mark.parametrize("objective", ["unsupervised", "supervised"])
def test_the_stage_writes_an_encoder(workspace: Path, objective: str) -> None:
    configure(objective=objective)
    simcse_stage.main()
    config = json.loads((SIMCSE / CONFIG).read_text())
    count = {"unsupervised": 24, "supervised": 2}[objective]
    assert (config["absent"], config["objective"], config["examples"]) == (None, objective, count)
    tuned, base = (load_encoder(reference(directory)) for directory in (SIMCSE, Path("tiny")))
    assert not torch.equal(weights(tuned), weights(base))
    assert tuned.token_ids(TEXTS) == base.token_ids(TEXTS)
    summary = json.loads(Path("reports/counters/simcse.json").read_text())
    assert summary["kept"] == count
    assert summary["dropped"].get("sentence in an evaluation set", 0) == (objective == "supervised")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"enabled": False}, "switched off in this run: simcse.enabled is false"),
        ({"reference": "no/x/y"}, "weights not available here"),
    ],
)
def test_no_model_says_why(workspace: Path, changes: dict[str, object], reason: str) -> None:
    """Without weights, or if it is switched off, there is no model, and never another one instead."""
    configure(**changes)
    simcse_stage.main()
    assert json.loads((SIMCSE / CONFIG).read_text())["absent"] == reason
    assert [path.name for path in SIMCSE.iterdir()] == [CONFIG]
    assert not CHECKPOINT.exists()


def test_too_few_examples(workspace: Path) -> None:
    configure(sentences=1)
    with pytest.raises(SystemExit, match=r"1 examples, too few for a batch; raise sentences"):
        simcse_stage.main()


def test_supervised_without_sick(workspace: Path) -> None:
    write_json(BENCHMARKS / PROVENANCE, {"sets": {}, "absent": {"sick": "bring it"}, "pair_sets": []})
    configure(objective="supervised")
    with pytest.raises(SystemExit, match=r"supervised needs the pairs of SICK, which are absent; add the set"):
        simcse_stage.main()
