"""A saved matrix keeps the cells of earlier runs."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reproductions.paper2.cell import PairCell
from reproductions.saved_matrix import BESIDE, keep_curves, keep_matrix
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.artifacts import read_json, write_json
from sentence_distillery.io.unavailable import Figure, Unavailable


def test_a_matrix_keeps_the_cells_of_earlier_runs(tmp_path: Path) -> None:
    """A repeated cell replaces its former figures; a cell without a new run stays; other pairs do not count."""
    no = Unavailable("not run")
    source, runs = tmp_path / "paraphrase.csv", tmp_path / "runs"
    kept = runs / "mrpc.csv"

    def publish(*cells: tuple[str, Figure, int], command: str) -> list[tuple[str, Figure]]:
        write_results(source, [Result("L3", "mrpc", "test", name, "f1", value, n) for name, value, n in cells])
        assert keep_matrix(source, ["mrpc"], runs, command, "2026-11-22") == kept
        return [(row.protocol, row.value) for row in read_results(kept)]

    def commands() -> list[str]:
        first = kept.read_text(encoding="utf-8").splitlines()[0]
        return [run.split(";")[0] for run in first.removeprefix("# ").split(BESIDE)]

    assert publish(("cosine", 0.8, 1725), ("pair", no, 0), command="one") == [
        ("cosine", 0.8),
        ("pair", no),
    ]
    both = [("pair", 0.85), ("cosine", 0.8)]
    assert publish(("cosine", no, 0), ("pair", 0.85, 1725), command="two") == both
    assert commands() == ["two", "one"]
    assert publish(("pair", 0.86, 1725), ("triplet", no, 0), command="two") == [
        ("pair", 0.86),
        ("triplet", no),
        ("cosine", 0.8),
    ]
    assert commands() == ["two", "one"]
    assert publish(("pair", 0.87, 1700), ("cosine", no, 0), command="three") == [
        ("pair", 0.87),
        ("cosine", no),
    ]
    assert commands() == ["three"]


def test_other_splits_do_not_say_that_the_test_pairs_differ(tmp_path: Path) -> None:
    """A cell has a figure on validation pairs, too, whose number depends on what it was trained on."""
    source, runs = tmp_path / "paraphrase.csv", tmp_path / "runs"

    def publish(strategy: str, validation: int) -> set[tuple[str, str, int]]:
        cell = Result("L3", "mrpc", "test", strategy, "accuracy", 0.8, 1725)
        write_results(source, [cell, replace(cell, split="validation", n=validation)])
        kept = keep_matrix(source, ["mrpc"], runs, "a command", "2026-11-26")
        return {(row.protocol, row.split, row.n) for row in read_results(kept)}

    first = publish("siamese", 394)
    assert publish("cosine", 3935) == first | {("cosine", "test", 1725), ("cosine", "validation", 3935)}


def test_a_matrix_of_fewer_sets_goes_to_the_file_that_has_them(tmp_path: Path) -> None:
    """The figures of earlier runs on the other sets stay."""

    def publish(*cells: tuple[str, float, int]) -> list[tuple[str, Figure]]:
        source, runs = tmp_path / "component_focus.csv", tmp_path / "runs"
        write_results(source, [Result("L3", name, "test", "focus", "pearson", value, n) for name, value, n in cells])
        kept = keep_matrix(source, [name for name, *_ in cells], runs, "a command", "2026-11-22")
        assert kept == runs / "sick-stsb.csv"
        return [(row.dataset, row.value) for row in read_results(kept)]

    publish(("stsb", 0.85, 1379), ("sick", 0.88, 4927))
    assert publish(("sick", 0.89, 4927)) == [("sick", 0.89), ("stsb", 0.85)]
    assert publish(("stsb", 0.86, 1379)) == [("stsb", 0.86), ("sick", 0.89)]


def test_figures_of_more_seeds_stay(tmp_path: Path) -> None:
    """A repeat with one seed does not replace three seeds; a repeat with three does."""

    def publish(value: float, seeds: int) -> list[Figure]:
        source = tmp_path / "paraphrase.csv"
        write_results(source, [Result("L3", "mrpc", "test", "pair", "f1", value, 1725, seeds=seeds)])
        return [
            row.value
            for row in read_results(keep_matrix(source, ["mrpc"], tmp_path / "runs", "a command", "2026-11-22"))
        ]

    found = [publish(value, seeds) for value, seeds in ((0.8, 1), (0.81, 3), (0.82, 1), (0.83, 3))]
    assert found == [[0.8], [0.81], [0.81], [0.83]]


def test_curves_stand_beside_those_of_earlier_runs(tmp_path: Path) -> None:
    """Curves and orders: of the same test pairs only, and none of fewer seeds in place of more."""
    source, target = tmp_path / "paraphrase.json", tmp_path / "mrpc.json"

    def cell(encoder: str, strategy: str) -> dict[str, Any]:
        return asdict(PairCell(encoder, "mean", "", strategy))

    def publish(pairs: int, *cells: tuple[str, str, int], orders: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        drawn: dict[str, Any] = {"threshold": [0.1, 0.9], "accuracy": [0.6, 0.7], "f1": [0.7, 0.8]}
        curves = [drawn | {"cell": cell(one, name), "seeds": seeds} for one, name, seeds in cells]
        behind = {"second": cell("L3", "triplet"), "difference": 0.01, "share": 0.9}
        ahead = [behind | {"first": cell(one, name)} for one, name in orders]
        about = {"dataset": "mrpc", "pairs": {"test": pairs}, "removed": {}, "winner": None}
        write_json(source, about | {"curves": curves, "orders": ahead})
        keep_curves(source, target)
        kept = read_json(target, dict[str, Any])
        return {
            "curves": [(each["cell"]["encoder"], each["cell"]["strategy"], each["seeds"]) for each in kept["curves"]],
            "orders": [(order["first"]["encoder"], order["first"]["strategy"]) for order in kept["orders"]],
        }

    first = publish(9, ("L3", "pair", 3), ("L3", "cosine", 1), orders=[("L3", "pair")])
    assert first == {"curves": [("L3", "cosine", 1), ("L3", "pair", 3)], "orders": [("L3", "pair")]}
    second = publish(9, ("L3", "pair", 1), ("L6", "pair", 1), orders=[("L6", "pair")])
    assert second["curves"] == [("L3", "cosine", 1), ("L3", "pair", 3), ("L6", "pair", 1)]
    assert second["orders"] == [("L6", "pair"), ("L3", "pair")]
    third = publish(9, ("L6", "pair", 1), orders=[("L6", "cosine"), ("L6", "pair")])
    assert third["orders"] == [("L6", "cosine"), ("L6", "pair"), ("L3", "pair")]
    assert publish(9, ("L6", "pair", 1), orders=[("L6", "siamese")])["orders"] == third["orders"]
    assert publish(8, ("L3", "pair", 1)) == {"curves": [("L3", "pair", 1)], "orders": []}


def test_gains_stand_beside_those_of_earlier_runs(tmp_path: Path) -> None:
    """A new gain replaces the former one, unless that has more seeds; gains on other pairs are removed."""
    source = tmp_path / "component_focus.csv"

    def publish(*gains: tuple[str, float, float, int, int]) -> list[tuple[object, ...]]:
        found = [
            Result("L3", task, "test", "focus", "pearson gain", gain, n, seeds=seeds, weight=0.2, low=low, high=0.9)
            for task, gain, low, n, seeds in gains
        ]
        write_results(source, found)
        kept = keep_matrix(source, ["sick", "stsb"], tmp_path / "runs", "a command", "2026-11-26")
        return sorted((row.dataset, row.value, row.low, row.weight) for row in read_results(kept))

    first = publish(("sick", 0.1, 0.05, 4927, 1), ("stsb", 0.3, 0.25, 1379, 3))
    assert first == [("sick", 0.1, 0.05, 0.2), ("stsb", 0.3, 0.25, 0.2)]
    second = publish(("sick", 0.5, 0.45, 4927, 1), ("stsb", 0.4, 0.35, 1379, 1))
    assert second == [("sick", 0.5, 0.45, 0.2), ("stsb", 0.3, 0.25, 0.2)]
    assert publish(("sick", 0.7, 0.65, 100, 1)) == [("sick", 0.7, 0.65, 0.2), ("stsb", 0.3, 0.25, 0.2)]
