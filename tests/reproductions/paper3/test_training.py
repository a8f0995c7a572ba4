"""Paper 3's encoder on a BERT of a few thousand weights: its results, resuming, and the outputs of a cell."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoModel

from reproductions.encoders.trainable import PairEncoder, Pooling, Tokens
from reproductions.grid.cell import SOUP, read_cell
from reproductions.paper3.component_focus import training as component_focus
from reproductions.paper3.component_focus.cells import (
    LEARNT,
    SPLITS,
    Inputs,
    benchmarks_of,
    components_of,
    entailment,
    task_pairs,
)
from reproductions.paper3.component_focus.frozen_weights import embed_with, learn_all
from reproductions.paper3.component_focus.options import ComponentTraining
from reproductions.paper3.component_focus.training import (
    NONE,
    LabelLoss,
    TokenizedTask,
    Training,
    embed,
    focused,
    tokenize_task,
)
from reproductions.paper3.component_focus.weights import RATE, Weight, Weights, weight_of
from reproductions.paper3.syntax.trees import Tree, to_table
from sentence_distillery.evaluation.sets.data import PAIRS as BENCHMARK_SCHEMA
from sentence_distillery.evaluation.sets.data import PROVENANCE, BenchmarkData, PairSet
from sentence_distillery.io.artifacts import InputError, read_json, read_table, write_json, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.benchmarks.benchmarks import main as make_benchmarks
from stages.paper3 import component_focus as component_focus_stage
from stages.paper3 import component_weights
from stages.params import load_params
from tests.halting import halted, halting_before_file
from tests.reproductions.paper2.small import reference, run_stage
from tests.reproductions.paper3.conftest import DOG, TEXT
from tests.sentence_distillery.distillation.conftest import files
from tests.workspace import write_params

INPUTS = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
PARAMS = ComponentTraining(batch_size=2, learning_rate=1e-3)


@pytest.fixture
def data(encoder: PairEncoder) -> TokenizedTask:
    """Four training pairs, two of them with the parsed sentence, and its component."""
    return laid_out(encoder, 0.2)


def laid_out(encoder: PairEncoder, weight: Weight) -> TokenizedTask:
    left = [TEXT, "a storm", TEXT, "people"]
    right = ["the police", "the government", "a woman", "a guitar"]
    scores = np.array([1, 2, 4, 5], dtype=np.float32)
    pairs = PairSet("made", "train", left, right, scores, None, (1, 5))
    sets = dict.fromkeys(SPLITS, pairs)
    return tokenize_task(sets, {TEXT: DOG}, encoder, Weights(weight, encoder.dimension), Counters("pairs"))


def test_a_text_is_tokenised_once_and_its_parts_behind(encoder: PairEncoder) -> None:
    """The dog is there twice, and it alone is parsed; a component is the text itself without a tree, a role is not."""
    whole, roles = laid_out(encoder, 0.2), laid_out(encoder, "roles")
    assert whole.tokens.ids[7:] == encoder.tokens(["dog drinks water"]).ids
    assert whole.parts.tolist() == [[7], [1], [2], [3], [4], [5], [6]]
    assert roles.tokens.ids[7:] == encoder.tokens(["dog", "drinks", "water"]).ids
    assert roles.parts.tolist() == [[7, 8, 9], *[[NONE] * 3] * 6]


def test_the_words_of_a_part_of_speech_are_a_part_of_their_own(encoder: PairEncoder) -> None:
    """As a loop over the parts adds them, with weights that differ."""
    found, weights = laid_out(encoder, "tags"), Weights("tags", encoder.dimension, "after_pooling")
    there = {name: place for name, place in zip(weights.names, found.parts[0].tolist(), strict=True) if place != NONE}
    assert there == {"ADJ": 7, "NOUN": 8, "VERB": 9, "DET": 10}
    assert found.tokens.ids[7:] == encoder.tokens(["cold", "dog water", "drinks", "the the"]).ids
    encoder.eval()
    assert weights.values is not None
    with torch.inference_mode():
        weights.values.copy_(torch.arange(len(weights.names)) / 100)
        vectors = encoder(found.tokens.take(np.array([0, *there.values()])))
        by_hand = vectors[0] + sum(
            weights.learnt()[name] * vector for name, vector in zip(there, vectors[1:], strict=True)
        )
        assert torch.allclose(focused(encoder, found, np.array([0]), weights)[0], by_hand, atol=1e-5)


@pytest.mark.parametrize("pooling", Pooling)
def test_equation_1(data: TokenizedTask, encoder: PairEncoder, tiny: Path, pooling: Pooling) -> None:
    """emb_S = emb_basic + W_cf emb_cf, each part encoded alone; token by token before pooling, as a loop has it."""
    encoder.eval()
    encoder.pooling = pooling
    model = AutoModel.from_pretrained(tiny).eval()
    rows, weights = np.array([0, 1]), Weights(0.2, encoder.dimension, "after_pooling")

    def reduced(outputs: torch.Tensor) -> torch.Tensor:
        return {"mean": outputs.mean(0), "max": outputs.max(0).values, "cls": outputs[0]}[pooling]

    with torch.inference_mode():
        after = focused(encoder, data, rows, weights)
        before = focused(encoder, data, rows, Weights(0.2, encoder.dimension))
        for row, (text, part) in enumerate([(TEXT, "dog drinks water"), ("a storm", "a storm")]):
            ids = (torch.tensor(encoder.tokens([each]).ids) for each in (text, part))
            whole, short = (model(input_ids=each).last_hidden_state[0] for each in ids)
            assert torch.allclose(after[row], reduced(whole) + 0.2 * reduced(short), atol=1e-6)
            added = whole.clone()
            added[: len(short)] += 0.2 * short
            assert torch.allclose(before[row], reduced(added), atol=1e-6)


def test_a_learnt_weight_of_a_maximum_before_pooling() -> None:
    options = PARAMS.model_copy(update={"pooling": "max"})
    component_focus.refuse_maximum(0.2, options)
    component_focus.refuse_maximum("one", options.model_copy(update={"order": "after_pooling"}))
    with pytest.raises(
        InputError, match=r"one cannot be learnt with pooling max before_pooling; set .*order to after_"
    ):
        component_focus.refuse_maximum("one", options)


def test_weights_that_are_learnt(encoder: PairEncoder) -> None:
    """Weights start at zero and are separate; a gate depends on the sentence; missing components count as zero."""
    encoder.eval()
    with torch.inference_mode():
        basic, *roles = (encoder(encoder.tokens([text]))[0] for text in (TEXT, "dog", "drinks", "water"))
        learnt = Weights("roles", encoder.dimension, "after_pooling")
        assert learnt.values is not None
        both = np.array([0, 1])
        alone = focused(encoder, laid_out(encoder, 0.0), both, Weights(0.0, encoder.dimension))
        assert torch.equal(focused(encoder, laid_out(encoder, "roles"), both, learnt), alone)
        learnt.values.copy_(torch.tensor([0.1, -0.2, 0.3]) / RATE)
        found = focused(encoder, laid_out(encoder, "roles"), both, learnt)
        expected = basic + 0.1 * roles[0] - 0.2 * roles[1] + 0.3 * roles[2]
        assert torch.allclose(found[0], expected, atol=1e-6)
        assert torch.equal(found[1], alone[1])
        assert learnt.learnt() == pytest.approx({"subject": 0.1, "predicate": -0.2, "object": 0.3})
        gate = Weights("gate", encoder.dimension, "after_pooling")
        assert gate.gate is not None
        gate.gate.copy_(basic / basic.norm() / RATE)  # as strong as a sentence is like this one
        part = encoder(encoder.tokens(["dog drinks water"]))[0]
        found = focused(encoder, laid_out(encoder, "gate"), np.array([0]), gate)[0]
        assert torch.allclose(found, basic + part, atol=1e-5)


def test_a_weight_on_the_command_line() -> None:
    assert [weight_of(text) for text in ("0.2", "10", "one", "gate")] == [0.2, 10.0, "one", "gate"]
    with pytest.raises(ValueError, match="more"):
        weight_of("more")


def test_without_a_component_it_is_its_own(data: TokenizedTask, encoder: PairEncoder) -> None:
    """An empty part: a sentence without a tree keeps its direction under every weight."""
    plain, heavy = (embed(encoder, data, Weights(weight, encoder.dimension), "test")[1] for weight in (0.0, 3.0))
    assert np.allclose(heavy, 4 * plain, rtol=1e-5)


def test_a_batch_encodes_each_text_once(
    data: TokenizedTask, encoder: PairEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    forward = encoder.forward

    def counted(tokens: Tokens) -> torch.Tensor:
        seen.append(len(tokens))
        return forward(tokens)

    monkeypatch.setattr(encoder, "forward", counted)
    for weight in (0.2, 0.0):
        focused(encoder, data, np.array([0, 1, 0, 2]), Weights(weight, encoder.dimension))
    assert seen == [4, 3]  # the dog, its component, and two that are their own


def test_components_are_counted() -> None:
    counters = Counters("pairs")
    shout = Tree(["Really", "beautiful"], ["really", "beautiful"], ["ADV", "ADJ"], ["RB", "JJ"], [2, 0], ["x", "root"])
    trees = {TEXT: DOG, "Really beautiful": shout}
    assert components_of([TEXT, "Really beautiful", "?"], trees, counters) == [
        "dog drinks water",
        "Really beautiful",
        "?",
    ]
    assert counters.details == {"components by relations": 1, "components by whole": 1, "sentences without a tree": 1}


def test_a_task_with_labels_is_of_the_same_set(tmp_path: Path) -> None:
    """The sets to score before training are listed once each, also with `sick+labels` alone."""
    write_json(
        tmp_path / PROVENANCE,
        {"sets": {name: {"kind": "pairs", "rows": {}} for name in ("sick", "stsb")}, "absent": {}, "pair_sets": []},
    )
    assert benchmarks_of(["sick+labels", "sick", "lee", "stsb"], BenchmarkData(tmp_path)) == ["sick", "stsb"]


@pytest.mark.parametrize(
    ("weight", "precision"), [(0.2, "float32"), (0.2, "bfloat16"), ("roles", "float32"), ("gate", "float32")]
)
def test_training_lowers_the_loss_and_keeps_the_best(
    encoder: PairEncoder, tmp_path: Path, weight: Weight, precision: str
) -> None:
    """Scores after training are float32, whatever the precision of the training."""
    data = laid_out(encoder, weight)
    params = PARAMS.model_copy(update={"precision": precision})
    weights = Weights(weight, encoder.dimension)
    cell = Training(encoder, params, weights, 1, tmp_path / "cell.safetensors")
    notes = cell.run(data, "key")
    assert notes[-1]["loss"] < notes[0]["loss"]
    best = max(notes, key=lambda note: note["dev"])
    assert weights.learnt() == {name: best[name] for name in best if name not in ("loss", "dev")}
    assert all(weights.learnt().values())  # they have moved
    assert encoder.precision == "float32"
    assert cell.judge(data) == pytest.approx(
        max(note["dev"] for note in notes), abs=0 if precision == "float32" else 0.1
    )


def test_ten_folds_find_labels_that_the_difference_shows() -> None:
    vectors = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    rows = np.array([[row, (row + 20 * (row % 2)) % 40] for row in range(40)])
    labels = ["same" if row % 2 == 0 else "other" for row in range(40)]
    assert entailment(vectors, rows, labels) == labels
    assert entailment(vectors, rows, None) is None


def test_the_training_folds_choose_the_penalty() -> None:
    """Forty dimensions of noise and one with a weak signal: a weak penalty overfits to the noise."""
    made = np.random.default_rng(0)
    labels = ["yes" if row % 2 else "no" for row in range(120)]
    signal = np.array([row % 2 for row in range(120)]) + made.normal(0, 0.8, 120)
    difference = np.concatenate([np.abs(signal)[:, None], np.abs(made.normal(0, 1, (120, 40)))], axis=1)
    vectors = np.concatenate([difference, np.zeros_like(difference)]).astype(np.float32)
    rows = np.stack([np.arange(120), np.arange(120, 240)], axis=1)

    def right(strengths: tuple[float, ...]) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("reproductions.paper3.component_focus.cells.STRENGTHS", strengths)
            found = entailment(vectors, rows, labels)
        return sum(one == other for one, other in zip(found or [], labels, strict=True))

    weak, strong = 1e6, 1.0
    assert right((strong,)) > right((weak,))
    assert right((weak, strong)) > right((weak,))
    assert entailment(vectors, rows, labels) == entailment(7 * vectors, rows, labels)


def test_the_loss_of_the_labels() -> None:
    """From zero the loss is log 3 for any vectors; then it learns which dimension separates the labels."""
    loss = LabelLoss(3, ["NEUTRAL", "ENTAILMENT", "CONTRADICTION", "NEUTRAL"], 0.5)
    u, v = torch.eye(3)[[2, 1, 0]], torch.zeros(3, 3)
    pairs = np.array([3, 1, 2])  # places of the alphabet: 2, 1, 0
    assert loss(u, v, pairs).item() == pytest.approx(0.5 * np.log(3))
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for _ in range(100):
        optimizer.zero_grad()
        loss(u, v, pairs).backward()
        optimizer.step()
    assert loss(u, v, pairs).item() < 0.05
    assert loss(v, u, pairs).item() == loss(u, v, pairs).item()  # |u - v|


def configure(**training: object) -> None:
    encoders = {"tiny": reference(Path("tiny")).model_dump()}
    encoders["away"] = encoders["tiny"] | {"reference": "./nowhere"}
    write_params(encoders=encoders, benchmarks={"sets": ["samples"]}, component_training=training)


@pytest.fixture
def workspace(samples: None, tiny: Path) -> None:
    """Prepare a demo run up to the cells, with the tiny encoder; one sentence has a tree."""
    Path("tiny").symlink_to(tiny)
    configure()
    make_benchmarks()
    write_table(paths.TREES / "part-00000.parquet", to_table([TEXT], [DOG]))


def run_cell(*arguments: str) -> Path:
    run_stage(component_focus_stage, *arguments)
    return paths.COMPONENT_FOCUS / "-".join(arguments)


def test_a_cell_of_the_demo(workspace: None) -> None:
    about = read_cell(run_cell("tiny", "samples", "0.2"))
    table = about.table
    assert table["split"].to_pylist() == 2 * [*["dev"] * 62, *["test"] * 84]
    assert table["seed"].to_pylist() == [*[None] * 146, *[1] * 146]
    untrained, trained = table.slice(62, 84), table.slice(208)
    assert untrained["score"] != trained["score"]
    assert trained["predicted"].null_count == 0
    assert set(trained["predicted"].to_pylist()) <= {"ENTAILMENT", "NEUTRAL", "CONTRADICTION"}
    assert np.isfinite(table["score"].to_numpy()).all()
    assert about.unavailable is None
    assert [len(run.notes) for run in about.there] == [0, 1]  # epochs
    counted = read_json(paths.COUNTERS / "component_focus@tiny-samples-0.2.json", dict[str, Any])
    assert counted["kept"] == 125


def test_a_cell_that_is_not_trained(workspace: None) -> None:
    """It has the predictions before training; a weight that only training gives is not available."""
    configure(enabled=False)
    cell = read_cell(run_cell("tiny", "samples", "0.2"))
    assert (cell.table["seed"].to_pylist(), cell.seeds) == ([None] * 146, [None])
    learnt = read_cell(run_cell("tiny", "samples", "one"))
    assert learnt.table.num_rows == 0
    assert learnt.unavailable == Unavailable("switched off in this run: component_training.enabled is false")


def test_the_mean_of_the_seeds_weights(workspace: None, encoder: PairEncoder) -> None:
    """One more encoder is saved after those of the seeds; with one seed there is none."""
    configure(seeds=[1, 2, 3], learning_rate=1e-2)
    cell = read_cell(run_cell("tiny", "samples", "0.2"))
    assert cell.seeds == [None, 1, 2, 3, SOUP]
    best = [load_file(paths.COMPONENT_CHECKPOINTS / f"tiny-samples-0.2-{seed}.best") for seed in (1, 2, 3)]
    mean = {name: torch.stack([each[name] for each in best]).mean(dim=0) for name in best[0]}
    weights = Weights(0.2, encoder.dimension)
    pairs = task_pairs("samples", INPUTS, Counters("pairs"))
    data = tokenize_task(pairs, {TEXT: DOG}, encoder, weights, Counters("pairs"))
    encoder.keep_only(data.tokens)
    torch.nn.ModuleList([encoder, weights]).load_state_dict(mean)
    found = component_focus.pair_cosines(embed(encoder, data, weights, "dev", "test"), data, "test")
    cosines = cell.column("score")
    assert cosines[4] == pytest.approx(found, abs=1e-5)
    assert all(np.abs(cosines[4] - other).max() > 1e-3 for other in cosines[:4])


def test_a_cell_that_trains_on_labels_too(workspace: None) -> None:
    """The same pairs, another loss: at first the labels add their initial loss, and the result differs."""
    cells = [run_cell("tiny", task, "0.0") for task in ("samples", "samples+labels")]
    alone, both = (read_cell(cell).table for cell in cells)
    losses = [read_cell(cell).there[1].notes[0]["loss"] for cell in cells]
    weight = load_params().component_training.label_weight
    assert losses[1] - losses[0] == pytest.approx(weight * np.log(3), abs=0.05 * weight)
    assert alone.slice(0, 146) == both.slice(0, 146)  # as it was before
    assert alone["score"] != both["score"]


@pytest.mark.fault(18)
def test_what_is_scored_on_is_not_trained_on(workspace: None) -> None:
    """Train also has a pair of dev and one of test, swapped and in capitals."""
    path = paths.BENCHMARKS / "samples.parquet"
    table = read_table(path, BENCHMARK_SCHEMA)
    copies = [table.filter(pc.equal(table["split"], split)).slice(3, 1).to_pylist()[0] for split in ("dev", "test")]
    swapped = [
        row | {"split": "train", "sentence1": row["sentence2"].upper(), "sentence2": row["sentence1"]} for row in copies
    ]
    write_table(path, pa.concat_tables([table, pa.Table.from_pylist(swapped, BENCHMARK_SCHEMA)]))
    counters = Counters("pairs")
    assert len(task_pairs("samples+labels", INPUTS, counters)["train"].sentences1) == 125
    assert counters.dropped == {"pair of samples dev": 1, "pair of samples test": 1}


@pytest.mark.parametrize("name", ["tiny", "away"])
def test_weights_for_a_frozen_encoder(workspace: None, encoder: PairEncoder, name: str) -> None:
    """The stage writes what the library learns for each task, or why there is nothing to learn from."""
    run_stage(component_weights, name)
    written = read_json(paths.COMPONENT_FOCUS / f"{name}-learnt" / LEARNT, dict[str, Any])
    counted = read_json(paths.COUNTERS / f"component_weights@{name}.json", dict[str, Any])
    if name == "away":
        assert (written["learnt"], counted["kept"]) == ({}, 0) and "weights not available here" in str(written)
        return
    expected = learn_all("samples", partial(embed_with, encoder), {TEXT: DOG}, INPUTS, Counters("weights"))
    assert written["learnt"] == {"samples": [asdict(each) for each in expected]}
    assert counted["kept"] == len(expected) == 4


def test_labels_that_are_not_there(data: TokenizedTask, encoder: PairEncoder) -> None:
    with pytest.raises(InputError, match=r"have no labels; remove \+labels from"):
        component_focus.label_loss(encoder, data, 1.0)


@pytest.mark.fault(1, 2)
def test_a_cell_after_sigkill(workspace: None, tmp_path: Path) -> None:
    """The final path is empty, and the resumed cell has the bytes of an undisturbed one."""
    configure(epochs=4)
    arguments = ["tiny", "samples", "0.2"]
    checkpoint = paths.COMPONENT_CHECKPOINTS / "tiny-samples-0.2-1.safetensors"
    threads = str(torch.get_num_threads())  # another number of them, other last bits
    process = subprocess.Popen(
        [sys.executable, "-m", "stages.paper3.component_focus", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": threads} | halting_before_file(tmp_path / "halting", checkpoint.name, 2),
        stderr=subprocess.PIPE,
    )
    assert halted(tmp_path / "halting", process) == process.pid
    process.kill()
    _, stderr = process.communicate()
    assert process.returncode == -9, stderr.decode()
    assert not paths.COMPONENT_FOCUS.exists() or not [
        path for path in paths.COMPONENT_FOCUS.iterdir() if not path.name.startswith(".")
    ]
    with safe_open(checkpoint, framework="pt") as file:
        assert len(json.loads(file.metadata()["notes"])) == 1
    resumed = files(run_cell(*arguments))
    shutil.rmtree(paths.COMPONENT_CHECKPOINTS)
    assert files(run_cell(*arguments)) == resumed


@pytest.mark.parametrize(
    ("name", "task", "reason"),
    [
        ("tiny", "stsb", "the set stsb is absent"),
        ("tiny", "sick+labels", "the set sick is absent"),
        ("away", "samples", "weights not available here"),
    ],
)
@pytest.mark.fault(24)
def test_what_is_absent_is_said(workspace: None, name: str, task: str, reason: str) -> None:
    """A cell without its set or its weights says so, and the others go on."""
    cell = read_cell(run_cell(name, task, "0.0"))
    assert (cell.unavailable, cell.table.num_rows) == (Unavailable(reason), 0)
