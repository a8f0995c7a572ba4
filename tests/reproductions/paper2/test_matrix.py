"""The cells of paper 2's matrix, one stage after the other, on the sample pairs and a small encoder."""

import csv
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproductions.encoders.trainable import PairEncoder
from reproductions.grid import cell as grid
from reproductions.grid.results import NOT_RUN
from reproductions.paper2 import cost, rates
from reproductions.paper2.cell import PairCell
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.export import ABOUT
from reproductions.paper2.pairs.intermediate import IntermediateTask
from reproductions.paper2.pairs.options import Intermediate, ThresholdRule
from reproductions.paper2.pairs.prediction import Paraphraser, predict
from reproductions.paper2.pairs.starts import VECTORS, Start
from reproductions.paper2.pairs.thresholds import RULES, Folds, cross_validated
from reproductions.paper2.pairs.training import Examples, Notes, PairModel, Training
from reproductions.saved_matrix import keep_matrix
from sentence_distillery.distillation.export import write_model
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.results import MODEL_SOUP, Result, read_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, atomic_directory, read_json, write_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.benchmarks import benchmarks
from stages.paper2 import (
    combinations,
    cross_encoder,
    pair_cost,
    pair_data,
    pair_embeddings,
    pair_results,
    paraphrase,
    search_rates,
)
from stages.paper2 import predict as predict_stage
from stages.paths import COMBINATIONS, PAIR_COST, PAIRS, PARAPHRASE_REPORT, PARAPHRASER, STARTS
from stages.paths import PARAPHRASE_CELLS as CELLS
from stages.paths import PARAPHRASE_RESULTS as PARAPHRASE
from tests.reproductions.paper2.small import encoder, link_samples, reference, run_stage, write_encoder
from tests.workspace import write_params

QUICK = {"epochs": 2, "iterations": 3, "head_epochs": 1}
STRATEGIES = ("cosine", "siamese", "triplet", "logistic", "cosent", "ranking")


def configure(**changes: object) -> None:
    grid = {
        "encoders": ["tiny", "absent"],
        "poolings": ["mean", "cls"],
        "recipes": ["combined", "modern", "intermediate"],
        "starts": ["mean", "cls", "mean-combined"],
        "strategies": [*STRATEGIES],
    }
    pairs = {"seeds": [1, 2], "validation_share": 0.3}
    teacher = reference(Path("tiny")).model_dump()
    encoders = {"tiny": teacher, "absent": teacher | {"reference": "./nowhere"}}
    modern = {"epochs": 1, "batch_size": 32, "pair_learning_rate": 0.001}
    sections: dict[str, Any] = {"encoders": encoders, "pairs": pairs, "pair_grid": grid, "metric_learning": QUICK}
    sections["combinations"] = {"hidden_layers": [0, 1]}
    sections["intermediate"] = {"set": "samples", "epochs": 1, "learning_rate": 0.001}
    write_params(**sections | {"modern_learning": modern} | changes)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Everything that a small matrix leaves."""
    directory = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        link_samples()
        write_encoder(Path("tiny"), "bert")
        configure(benchmarks={"sets": ["samples"]})
        benchmarks.main()
        run_stage(pair_data)
        for name in ("tiny", "absent"):
            run_stage(pair_embeddings, name, "mean")
            run_stage(paraphrase, name, "mean", "cosine")
            run_stage(cross_encoder, name, "mean", "combined")
            run_stage(combinations, name, "mean")
        for strategy in STRATEGIES[1:]:
            run_stage(paraphrase, "tiny", "mean", strategy)
        run_stage(paraphrase, "tiny", "mean-combined", "siamese")
        run_stage(cross_encoder, "tiny", "mean", "modern")
        run_stage(cross_encoder, "tiny", "mean", "intermediate")
        run_stage(pair_results)
        yield directory


@pytest.fixture
def workspace(matrix: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(matrix)
    return matrix


@pytest.fixture
def changeable(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy, for cells that are run with other parameters."""
    shutil.copytree(workspace, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")


def result(cell: str, directory: Path = CELLS) -> grid.Cell:
    return grid.read_cell(directory / cell)


def scores(cell: grid.Cell, run: grid.TrainedRun) -> list[float]:
    found: list[float] = cell.of([run.seed]).column("score")[0].tolist()
    return found


def best_of(cell: grid.Cell) -> grid.TrainedRun:
    """The run of the model that a cell leaves: the first of the highest validation accuracy."""
    return max(cell.there, key=lambda run: run.figures["validation"])


def accuracies() -> dict[PairCell, Result]:
    """The row of each cell of the matrix that says how accurate it is on test pairs."""
    rows = [row for row in read_results(PARAPHRASE) if (row.metric, row.split, row.table) == ("accuracy", "test", "")]
    return {
        PairCell(row.encoder, row.pooling, row.start, row.strategy, MODEL_SOUP if row.seed else None): row
        for row in rows
    }


def report() -> dict[str, Any]:
    found: dict[str, Any] = read_json(PARAPHRASE_REPORT, dict[str, Any])
    return found


def about(model: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(model / ABOUT, dict[str, Any])
    return found


def sides_of(split: str) -> list[list[str]]:
    """Both sentences of each pair."""
    material = load_pair_data(PAIRS)
    return [[material.sentences[row] for row in column] for column in material.splits[split].rows.T]


def test_the_model_that_a_cell_leaves(workspace: Path) -> None:
    """The mean of the seeds' weights is scored, too; the best on validation is saved, the first of equal ones."""
    cell = result("tiny-mean-siamese")
    assert cell.seeds == [1, 2, grid.SOUP] and cell.there[2].notes == []
    assert not any("seconds" in run.figures for run in cell.there)  # equal cells are equal files
    assert about(CELLS / "tiny-mean-siamese")["threshold"] == best_of(cell).figures["threshold"]


def test_every_strategy_leaves_its_figures(workspace: Path) -> None:
    """For each seed, except for the cosine, which has none; with epochs if something was trained."""
    for strategy in STRATEGIES:
        cell = result(f"tiny-mean-{strategy}")
        assert cell.seeds == ([None] if strategy == "cosine" else [1, 2, grid.SOUP])
        for run in cell.there:
            assert len(scores(cell, run)) == 64 and np.isfinite(scores(cell, run)).all()
            assert 0 <= run.figures["accuracy"] <= 1 and 0 <= run.figures["f1"] <= 1
            assert ("cosine accuracy" in run.figures) == (strategy == "logistic")
        epochs = {"cosine": 0, "cosent": 1, "ranking": 1}.get(strategy, 2)
        assert {len(run.notes) for run in cell.there if run.seed != grid.SOUP} == {epochs}


def test_a_tuned_start_is_not_judged_on_what_it_learnt_from(workspace: Path) -> None:
    teacher = reference(Path("tiny"))
    assert Start(STARTS / "tiny-mean", teacher).unseen_splits() == ["train", "validation"]
    assert Start(STARTS / "tiny-mean-combined", teacher).unseen_splits() == ["validation"]


def test_accuracy_and_f1_follow_from_the_scores(workspace: Path) -> None:
    """As a loop over the test pairs has them."""
    labels = load_pair_data(PAIRS).splits["test"].labels
    cell = result("tiny-mean-siamese")
    run = cell.there[0]
    said = [int(score >= run.figures["threshold"]) for score in scores(cell, run)]
    hits = sum(a == b == 1 for a, b in zip(said, labels, strict=True))
    right = [a == b for a, b in zip(said, labels, strict=True)]
    assert run.figures["accuracy"] == pytest.approx(np.mean(right), abs=0.02)
    assert run.figures["f1"] == pytest.approx(2 * hits / (sum(said) + int(labels.sum())), abs=0.02)
    assert cell.of([run.seed]).right[0].tolist() == right


@pytest.mark.parametrize(
    ("cell", "rule"), [(CELLS / "tiny-mean-logistic", "accuracy"), (CELLS / "tiny-mean-cosent", "logistic")]
)
def test_the_rule_of_a_threshold_is_that_of_the_section(workspace: Path, cell: Path, rule: ThresholdRule) -> None:
    """`metric_learning` or `modern_learning`; the model that a cell leaves is its best one."""
    labels = load_pair_data(PAIRS).splits["validation"].labels
    found_scores = Paraphraser.load(cell).scores(*sides_of("validation"))
    found = {name: cross_validated(found_scores, labels, Folds(5, 1, name)).value for name in RULES}
    assert best_of(result(cell.name, cell.parent)).figures["threshold"] == pytest.approx(found[rule], abs=1e-4)
    assert abs(found["accuracy"] - found["logistic"]) > 1e-3


@pytest.mark.parametrize(("recipe", "both_orders"), [("modern", True), ("combined", False)])
def test_a_cross_encoder_scores_both_orders(workspace: Path, recipe: str, both_orders: bool) -> None:
    """With `both_orders` its score is the mean logit's, in the stage and in `predict`."""
    sides = sides_of("test")
    found = Paraphraser.load(STARTS / f"tiny-mean-{recipe}")
    one_way = replace(found, both_orders=False)
    there, back = (one_way.scores(*each).astype(float) for each in (sides, sides[::-1]))
    mean = (np.log(there / (1 - there)) + np.log(back / (1 - back))) / 2 if both_orders else np.log(there / (1 - there))
    np.testing.assert_allclose(found.scores(*sides), 1 / (1 + np.exp(-mean)), atol=1e-5)
    cell = result(f"tiny-mean-{recipe}", STARTS)
    np.testing.assert_allclose(scores(cell, best_of(cell)), found.scores(*sides), atol=2e-5)
    assert np.allclose(found.scores(*sides), found.scores(*sides[::-1]), atol=1e-6) is both_orders


def intermediate_task(name: str) -> IntermediateTask:
    options = Intermediate(set=name, epochs=1, learning_rate=0.001)
    return IntermediateTask(options, BenchmarkData(paths.BENCHMARKS))


@pytest.mark.fault(18)
def test_an_intermediate_task_learns_scores_first(workspace: Path) -> None:
    """No pair of validation or test is in it; and it makes a difference."""
    material, counters = load_pair_data(PAIRS), Counters("pairs")
    model = PairModel(encoder(Path("tiny")), None)
    examples = intermediate_task("samples").examples(material, model, counters)
    scored = [*material.splits["validation"].rows, *material.splits["test"].rows]
    seen = [model.encoder.tokens(*([material.sentences[row]] for row in pair)).ids[0] for pair in scored]
    assert len(examples.tokens.ids) and not any(ids in seen for ids in examples.tokens.ids)
    assert counters.details["samples train, pair of validation pairs"] == len(material.splits["validation"].rows)
    assert 0 <= examples.labels.min() < examples.labels.max() <= 1
    assert len(set(examples.labels.tolist())) > 2
    first, after = (result(f"tiny-mean-{recipe}", STARTS) for recipe in ("modern", "intermediate"))
    assert scores(first, first.there[0]) != scores(after, after.there[0])
    assert [note.get("task") for note in after.there[0].notes] == ["samples", None]


@pytest.mark.parametrize(
    ("name", "problem"), [("samples_paraphrase", "has no scores"), ("nothing", "has no set 'nothing'")]
)
def test_an_intermediate_task_without_scores(workspace: Path, name: str, problem: str) -> None:
    model = PairModel(encoder(Path("tiny")), None)
    with pytest.raises(InputError, match=rf"^intermediate\.set: .*{problem}"):
        intermediate_task(name).examples(load_pair_data(PAIRS), model, Counters("pairs"))


def test_a_head_that_learns_alone(changeable: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the test pairs of a cross-encoder, and the encoder as the intermediate task left it."""
    alone = {"epochs": 1, "batch_size": 32, "pair_learning_rate": 0.001, "head_epochs": 1}
    configure(metric_learning=QUICK | {"head_epochs": QUICK["epochs"]}, modern_learning=alone)
    run_stage(cross_encoder, "tiny", "mean", "combined")
    cell = result("tiny-mean-combined", STARTS)
    assert len(set(scores(cell, cell.there[0]))) > 1
    learn, seen = Training.run, []

    def checked(self: Training, examples: Examples) -> Notes:
        if self.learning.head_epochs:
            places = np.unique(examples.rows)
            vectors = self.model.encoder.embed(examples.tokens.take(places))
            assert examples.frozen is not None
            np.testing.assert_allclose(examples.frozen[places], vectors, atol=1e-6)
            seen.append(self.seed)
        return learn(self, examples)

    monkeypatch.setattr(Training, "run", checked)
    run_stage(cross_encoder, "tiny", "mean", "intermediate")
    assert seen == [1, 2]


def test_an_intermediate_task_that_is_absent(changeable: None) -> None:
    configure(intermediate={"set": "stsb", "epochs": 1, "learning_rate": 0.001})
    run_stage(cross_encoder, "tiny", "mean", "intermediate")
    assert result("tiny-mean-intermediate", STARTS).unavailable == Unavailable("the set stsb is absent")


@pytest.mark.fault(27)
def test_a_cell_that_was_run_again_is_the_same(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is trained a second time: its checkpoint has every epoch."""
    before, forward = result("tiny-mean-triplet"), PairEncoder.forward

    def untrained(self: PairEncoder, tokens: Any) -> Any:
        assert not self.training, "a finished cell is trained again"
        return forward(self, tokens)

    monkeypatch.setattr(PairEncoder, "forward", untrained)
    run_stage(paraphrase, "tiny", "mean", "triplet")
    assert result("tiny-mean-triplet") == before


def test_weights_that_are_not_here(workspace: Path) -> None:
    """The cell exists, and says why it is empty."""
    for found in (result("absent-mean-cosine"), result("absent-mean-combined", STARTS)):
        assert found.unavailable == Unavailable("weights not available here") and found.there == []
    assert not (STARTS / "absent-mean" / VECTORS).exists()
    assert result("1", COMBINATIONS / "absent-mean").unavailable == Unavailable("weights not available here")


def test_the_report_has_every_cell_of_the_matrix(workspace: Path) -> None:
    """2 encoders x 3 starts x 6 strategies, and cross-encoders of 2 poolings in 3 ways; cells that did not run say so.

    Each of the nine cells with two seeds also has the mean of their weights.
    """
    cells = accuracies()
    assert len(cells) == 2 * 3 * 6 + 2 * 2 * 3 + 9
    mean = cells[PairCell("tiny", "mean", "modern", "pair", MODEL_SOUP)]
    assert mean.seeds == 1 and mean.spread is None and mean.protocol == "modern-pair, model soup"
    assert cells[PairCell("tiny", "mean", "combined", "siamese")].number is not None
    joined = cells[PairCell("tiny", "mean", "combined", "pair")]
    assert joined.seeds == 2 and joined.spread is not None and joined.protocol == "pair"
    assert cells[PairCell("tiny", "cls", "", "siamese")].value == NOT_RUN
    assert cells[PairCell("absent", "mean", "combined", "pair")].value == Unavailable("weights not available here")
    siamese = cells[PairCell("tiny", "mean", "", "siamese")]
    assert siamese.low is not None and siamese.high is not None and siamese.number is not None
    assert siamese.low < siamese.number < siamese.high


def test_the_order_of_the_strategies(workspace: Path) -> None:
    """From the best to the worst, each with the next; a difference of 0 is in no draw a difference."""
    orders = report()["orders"]
    known = {cell: row.number for cell, row in accuracies().items() if row.number is not None}
    ranked = [PairCell(**orders[0]["first"]), *(PairCell(**order["second"]) for order in orders)]
    assert set(ranked) == set(known) and [known[cell] for cell in ranked] == sorted(known.values(), reverse=True)
    for order in orders:
        lead = known[PairCell(**order["first"])] - known[PairCell(**order["second"])]
        assert order["difference"] == pytest.approx(lead, abs=2e-4)
        assert 0 <= order["share"] <= 1


def test_the_winner_is_chosen_on_validation_pairs(workspace: Path) -> None:
    """Among encoders of single sentences; its copy decides as the cell does."""
    known = {path.name: result(path.name) for path in CELLS.iterdir()}
    best = {name: best_of(cell) for name, cell in known.items() if cell.there}
    winning = report()["winner"]
    assert best[winning].figures["validation"] == max(one.figures["validation"] for one in best.values())
    assert read_json(PARAPHRASER / "winner.json", dict[str, Any]) == {"winner": winning}
    winner = Paraphraser.load(PARAPHRASER)
    np.testing.assert_allclose(winner.scores(*sides_of("test")), scores(known[winning], best[winning]), atol=1e-4)
    assert winner.threshold == best[winning].figures["threshold"]


def test_figures_as_rows(workspace: Path) -> None:
    """As written by the stage, and as `publish --matrix` keeps them."""
    kept = keep_matrix(PARAPHRASE, ["samples_paraphrase"], Path("reports/runs/paraphrase"), "dvc repro", "2026-11-21")
    assert kept == Path("reports/runs/paraphrase/samples_paraphrase.csv") and read_results(kept) == read_results(
        PARAPHRASE
    )
    tested = [row for row in read_results(PARAPHRASE) if (row.dataset, row.split) == ("samples_paraphrase", "test")]
    rows = {(row.system, row.protocol, row.metric): row for row in tested}
    assert rows["tiny mean", "siamese", "accuracy"].seeds == 2
    assert rows["absent mean", "cosine", "f1"].value == Unavailable("weights not available here")
    fourth = [row for row in rows.values() if row.table == "4" and row.system == "tiny mean"]
    assert len(fourth) == 7 * 2 * 6 and {row.seeds for row in fourth} == {2}
    assert {row.start for row in fourth} == {"the heads alone", "the heads alone, one hidden layer"}
    assert not any(row.metric == "seconds" for row in tested)  # they are in no output
    one = rows["tiny mean", "u,v, the heads alone", "accuracy"]
    cell = result("2", COMBINATIONS / "tiny-mean")
    assert (cell.place["strategy"], cell.seeds) == ("u,v", [1, 2])
    assert one.value == pytest.approx(np.mean([run.figures["accuracy"] for run in cell.there]), abs=1e-4)


@pytest.mark.parametrize("model", [STARTS / "tiny-mean-combined", CELLS / "tiny-mean-logistic", PARAPHRASER])
def test_predict(workspace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, model: Path) -> None:
    """Of two sentences, and of a file; a cross-encoder, a head, and a cosine."""
    pairs = [("The dog hears the police.", "The storm."), ("A woman.", "A woman.")]
    predict_stage.main([*pairs[0], "--model", str(model)])
    first = capsys.readouterr().out
    assert "paraphrases: score " in first and ", threshold " in first
    source, target = tmp_path / "pairs.csv", tmp_path / "decided.csv"
    source.write_text("sentence1,sentence2\n" + "".join(f"{one},{other}\n" for one, other in pairs))
    predict_stage.main(["--file", str(source), "--output", str(target), "--model", str(model)])
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert f"score {rows[0]['score']}" in first
    decided = predict(model, pairs)
    assert [f"{score:.4f}" for score in decided.scores] == [row["score"] for row in rows]
    assert [str(int(each)) for each in decided.paraphrase] == [row["paraphrase"] for row in rows]
    assert decided.paraphrase.tolist() == (decided.scores >= decided.threshold).tolist()


@pytest.mark.parametrize(("threshold", "warned"), [(1.49, True), (-1.5, True), (0.5, False)])
def test_predict_says_when_it_decides_all_alike(
    workspace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, threshold: float, warned: bool
) -> None:
    model = shutil.copytree(PARAPHRASER, tmp_path / "model")
    write_json(model / ABOUT, about(model) | {"threshold": threshold})
    predict_stage.main(["The storm.", "The storm.", "--model", str(model)])
    assert ("all pairs get the same decision" in capsys.readouterr().err) is warned


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", " "], "predict: One of the sentences is empty"),
        (["a", "b", "--model", "nowhere"], r"nowhere has no pairs\.json"),
        (["--file", "none.csv", "--output", "x.csv"], r"none\.csv cannot be read"),
    ],
)
def test_predict_says_what_is_wrong(workspace: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        predict_stage.main(arguments)


@pytest.mark.parametrize("arguments", [["a"], [], ["--file", "x.csv"], ["a", "b", "--output", "x.csv"]])
def test_predict_wants_two_sentences_or_a_file(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        predict_stage.main(arguments)
    assert "give two sentences, or --file and --output" in capsys.readouterr().err


@pytest.mark.parametrize("encoder", ["tiny", "absent"])
def test_what_comparing_sentences_costs(workspace: Path, monkeypatch: pytest.MonkeyPatch, encoder: str) -> None:
    """n (n - 1) / 2 runs of a cross-encoder against n; an encoder that is not here is left out, the student is not."""
    monkeypatch.setattr(cost, "CORPUS", 100)
    configure(pair_cost={"encoder": encoder, "sentences": 4})
    table = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    table[0] = 0  # the unknown token has no vector
    with atomic_directory(paths.STUDENT) as directory:
        write_model(StaticEncoder(static_tokenizer([UNKNOWN, "the", "a", "dog"]), table), {}, directory)
    pair_cost.main()
    found = read_json(PAIR_COST, dict[str, Any])
    systems = {entry["system"]: entry for entry in found["systems"]}
    assert {name: entry["runs"] for name, entry in systems.items()} == (
        {"joined": 4950, "alone": 100, "student": 100} if encoder == "tiny" else {"student": 100}
    )
    assert (found["absent"] is None) == (encoder == "tiny")
    timed = read_json(paths.PAIR_SECONDS, dict[str, Any])["systems"]
    assert [entry["system"] for entry in timed] == list(systems)
    for entry in timed:
        assert entry["seconds"] == pytest.approx(entry["runs"] / entry["per_second"] + entry["comparison"])


# Learning rates


@pytest.fixture(scope="module")
def searched(matrix: Path) -> list[Result]:
    """Rates of a cross-encoder, 0.005 among them, which is that of the matrix; then those of a bi-encoder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(matrix)
        run_stage(search_rates, "tiny", "mean", "pair", "0.005", "1e30", "0.1")
        run_stage(search_rates, "tiny", "mean", "siamese", "0.002")
        (file,) = (paths.PARAPHRASE_RUNS / "rates").glob("*.csv")
        command = file.read_text(encoding="utf-8").splitlines()[0]
        assert command.count("stages.paper2.search_rates tiny mean") == 2
        return read_results(file)


def rate_rows(rows: list[Result], strategy: str, split: str) -> dict[str, Result]:
    found = [row for row in rows if (row.strategy, row.split, row.metric) == (strategy, split, "accuracy")]
    return {row.protocol.removeprefix("learning rate "): row for row in found}


def test_each_rate_is_judged_on_validation_pairs(searched: list[Result], workspace: Path) -> None:
    """The matrix' own rate comes to what its cell comes to; a rate far too high has a reason and is not chosen."""
    tried, cell = rate_rows(searched, "pair", "validation"), result("tiny-mean-combined", STARTS)
    assert list(tried) == ["0.005", "0.1", "1e+30"]
    assert tried["0.005"].number == pytest.approx(cell.there[0].figures["validation"], abs=1e-4)
    assert tried["1e+30"].value == rates.DIVERGED
    ((rate, chosen),) = rate_rows(searched, "pair", "test").items()
    assert tried[rate].number == max(row.number or 0 for row in tried.values())
    assert chosen.low is not None and chosen.number is not None and chosen.low <= chosen.number


def test_a_search_leaves_those_of_other_strategies(searched: list[Result]) -> None:
    assert [len(rate_rows(searched, name, "validation")) for name in ("pair", "siamese")] == [3, 1]
    again = rates.merged(searched, [row for row in searched if row.strategy == "siamese"])
    assert len(again) == len(searched)


def test_of_equal_rates_the_lowest_is_chosen() -> None:
    tried = [rates.Tried(rate, accuracy, {}) for rate, accuracy in ((0.01, 0.7), (0.001, 0.7), (0.1, 0.6))]
    assert rates.best(tried) == tried[1]
    assert rates.best([rates.Tried(1.0, rates.DIVERGED, {})]) is None
