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

NO = Unavailable("not run")


def row(protocol: str, value: Figure = 0.8, n: int = 1725, **more: Any) -> Result:
    return replace(Result("L3", "mrpc", "test", protocol, "f1", value, n), **more)


def publish(directory: Path, *rows: Result, command: str = "a command") -> list[Result]:
    """Keep these cells with those of earlier runs, and return all that are kept."""
    sets = {each.dataset for each in rows}
    write_results(directory / "matrix.csv", rows)
    return read_results(keep_matrix(directory / "matrix.csv", sets, directory / "runs", command, "2026-11-22"))


def test_a_matrix_keeps_the_cells_of_earlier_runs(tmp_path: Path) -> None:
    """A repeated cell replaces its former figures; a cell without a new run stays; other pairs do not count."""

    def shown(command: str, *rows: Result) -> tuple[list[str], dict[str, Figure]]:
        found = publish(tmp_path, *rows, command=command)
        first = (tmp_path / "runs/mrpc.csv").read_text(encoding="utf-8").splitlines()[0]
        commands = [run.split(";")[0] for run in first.removeprefix("# ").split(BESIDE)]
        return commands, {each.protocol: each.value for each in found}

    assert shown("one", row("cosine"), row("pair", NO, 0)) == (["one"], {"cosine": 0.8, "pair": NO})
    both = {"pair": 0.85, "cosine": 0.8}
    assert shown("two", row("cosine", NO, 0), row("pair", 0.85)) == (["two", "one"], both)
    third = shown("two", row("pair", 0.86), row("triplet", NO, 0))
    assert third == (["two", "one"], {"pair": 0.86, "triplet": NO, "cosine": 0.8})
    fourth = shown("three", row("pair", 0.87, 1700), row("cosine", NO, 0))
    assert fourth == (["three"], {"pair": 0.87, "cosine": NO})


def test_other_splits_do_not_say_that_the_test_pairs_differ(tmp_path: Path) -> None:
    """A cell has a figure on validation pairs, too, whose number depends on what it was trained on."""
    first = publish(tmp_path, row("siamese"), row("siamese", n=394, split="validation"))
    new = [row("cosine"), row("cosine", n=3935, split="validation")]
    assert publish(tmp_path, *new) == [*new, *first]


def test_a_matrix_of_fewer_sets_goes_to_the_file_that_has_them(tmp_path: Path) -> None:
    """The figures of earlier runs on the other sets stay."""
    sick, stsb = row("focus", 0.88, 4927, dataset="sick"), row("focus", 0.85, 1379, dataset="stsb")
    publish(tmp_path, stsb, sick)
    again = [replace(each, value=0.89) for each in (sick, stsb)]
    assert publish(tmp_path, again[0]) == [again[0], stsb]
    assert publish(tmp_path, again[1]) == again[::-1]
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["sick-stsb.csv"]


def test_figures_of_more_seeds_stay(tmp_path: Path) -> None:
    """A repeat with one seed does not replace three seeds; a repeat with three does. So do gains with intervals."""
    runs = [row("pair", value, seeds=seeds, low=0.1) for value, seeds in ((0.8, 1), (0.81, 3), (0.82, 1), (0.83, 3))]
    assert [publish(tmp_path, each) for each in runs] == [[runs[0]], [runs[1]], [runs[1]], [runs[3]]]


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
