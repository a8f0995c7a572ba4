"""The README's table of a run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentence_distillery.benchmarks.metrics import Figure
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting.publish import BESIDE, GAINS, keep_cells, keep_gains, keep_matrix, keep_run, table


def rows(system: str, value: Figure, speed: Figure) -> list[Result]:
    figures = [Result(system, "stsb", "test", "mean", metric, value, 1379) for metric in ("pearson", "spearman")]
    return [*figures, Result(system, "corpus", "", "encode", "sentences_per_second", speed, 128)]


def test_a_system_without_figures_has_dashes(tmp_path: Path) -> None:
    """A reference whose weights are not here is listed, with no figure of any kind."""
    absent = Unavailable("weights not available here")
    write_results(tmp_path / "best.csv", [*rows("student", 0.7867, 300_034.4), *rows("BERT", absent, absent)])
    assert table(tmp_path / "best.csv") == [
        "| system | STS-B test Pearson / Spearman | sentences/s |",
        "| --- | ---: | ---: |",
        "| student | 78.7 / 78.7 | 300,034 |",
        "| BERT | – / – | – |",
    ]


def test_other_seeds_are_kept_and_not_mistaken_for_the_run(tmp_path: Path) -> None:
    """The means over seeds follow the run's own figures, which the README shows."""
    own = rows("student", 0.78, 300_034.4)
    results, kept, seeds = (
        tmp_path / "results.csv",
        tmp_path / "best.csv",
        [tmp_path / f"{seed}.csv" for seed in (2, 3)],
    )
    write_results(results, own)
    for path, value in zip(seeds, (0.77, 0.79), strict=True):
        write_results(path, [replace(row, value=value) for row in own[:2]])
    keep_run(results, seeds, kept, "a command", "2026-11-21")
    assert kept.read_text(encoding="utf-8").startswith("# a command; 2026-11-21; ")
    *first, mean, _ = read_results(kept)
    assert first == read_results(results)
    assert (mean["metric"], mean["value"], mean["seeds"], mean["spread"]) == ("pearson", "0.7800", "3", "0.0100")
    assert table(kept)[-1] == "| student | 78.0 / 78.0 | 300,034 |"
    keep_run(results, [], kept, "a command", "2026-11-21")
    assert len(read_results(kept)) == 3
    with pytest.raises(InputError, match=r"/4\.csv cannot be read"):
        keep_run(results, [*seeds, tmp_path / "4.csv"], kept, "a command", "2026-11-21")


def test_a_matrix_keeps_the_cells_of_earlier_runs(tmp_path: Path) -> None:
    """A repeated cell replaces its former figures; a cell without a new run stays; other pairs do not count."""
    no = Unavailable("not run")
    source, runs = tmp_path / "paraphrase.csv", tmp_path / "runs"
    kept = runs / "mrpc.csv"

    def publish(*cells: tuple[str, Figure, int], command: str) -> list[tuple[str, str]]:
        write_results(source, [Result("L3", "mrpc", "test", name, "f1", value, n) for name, value, n in cells])
        assert keep_matrix(source, runs, command, "2026-11-22") == kept
        return [(row["protocol"], row["value"]) for row in read_results(kept)]

    def commands() -> list[str]:
        first = kept.read_text(encoding="utf-8").splitlines()[0]
        return [run.split(";")[0] for run in first.removeprefix("# ").split(BESIDE)]

    assert publish(("cosine", 0.8, 1725), ("pair", no, 0), command="one") == [
        ("cosine", "0.8000"),
        ("pair", "undefined: not run"),
    ]
    both = [("pair", "0.8500"), ("cosine", "0.8000")]
    assert publish(("cosine", no, 0), ("pair", 0.85, 1725), command="two") == both
    assert commands() == ["two", "one"]
    assert publish(("pair", 0.86, 1725), ("triplet", no, 0), command="two") == [
        ("pair", "0.8600"),
        ("triplet", "undefined: not run"),
        ("cosine", "0.8000"),
    ]
    assert commands() == ["two", "one"]
    assert publish(("pair", 0.87, 1700), ("cosine", no, 0), command="three") == [
        ("pair", "0.8700"),
        ("cosine", "undefined: not run"),
    ]
    assert commands() == ["three"]


def test_a_matrix_of_fewer_sets_goes_to_the_file_that_has_them(tmp_path: Path) -> None:
    """The figures of earlier runs on the other sets stay."""

    def publish(*cells: tuple[str, float, int]) -> list[tuple[str, str]]:
        source, runs = tmp_path / "component_focus.csv", tmp_path / "runs"
        write_results(source, [Result("L3", name, "test", "focus", "pearson", value, n) for name, value, n in cells])
        kept = keep_matrix(source, runs, "a command", "2026-11-22")
        assert kept == runs / "sick-stsb.csv"
        return [(row["dataset"], row["value"]) for row in read_results(kept)]

    publish(("stsb", 0.85, 1379), ("sick", 0.88, 4927))
    assert publish(("sick", 0.89, 4927)) == [("sick", "0.8900"), ("stsb", "0.8500")]
    assert publish(("stsb", 0.86, 1379)) == [("stsb", "0.8600"), ("sick", "0.8900")]


def test_figures_of_more_seeds_stay(tmp_path: Path) -> None:
    """A repeat with one seed does not replace three seeds; a repeat with three does."""

    def publish(value: float, seeds: int) -> list[str]:
        source = tmp_path / "paraphrase.csv"
        write_results(source, [Result("L3", "mrpc", "test", "pair", "f1", value, 1725, seeds=seeds)])
        return [row["value"] for row in read_results(keep_matrix(source, tmp_path / "runs", "a command", "2026-11-22"))]

    found = [publish(value, seeds) for value, seeds in ((0.8, 1), (0.81, 3), (0.82, 1), (0.83, 3))]
    assert found == [["0.8000"], ["0.8100"], ["0.8100"], ["0.8300"]]


def test_cells_stand_beside_those_of_earlier_runs(tmp_path: Path) -> None:
    """Intervals, curves and orders: of the same test pairs only, and none of fewer seeds in place of more."""
    source, target = tmp_path / "paraphrase.json", tmp_path / "mrpc.json"

    def publish(pairs: int, *cells: tuple[str, str, int], orders: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        place = {"pooling": "mean", "absent": None}
        found = [place | {"encoder": one, "strategy": name, "seeds": seeds} for one, name, seeds in cells]
        ahead = [{"encoder": one, "pooling": "mean", "first": name} for one, name in orders]
        write_json(source, {"pairs": {"test": pairs}, "cells": found, "orders": ahead})
        keep_cells(source, target)
        kept = read_json(target)
        return {
            "cells": [(cell["encoder"], cell["strategy"], cell["seeds"]) for cell in kept["cells"]],
            "orders": [(order["encoder"], order["first"]) for order in kept["orders"]],
        }

    first = publish(9, ("L3", "pair", 3), ("L3", "cosine", 1), orders=[("L3", "pair")])
    assert first == {"cells": [("L3", "cosine", 1), ("L3", "pair", 3)], "orders": [("L3", "pair")]}
    second = publish(9, ("L3", "pair", 1), ("L6", "pair", 1), orders=[("L6", "pair")])
    assert second["cells"] == [("L3", "cosine", 1), ("L3", "pair", 3), ("L6", "pair", 1)]
    assert second["orders"] == [("L6", "pair"), ("L3", "pair")]
    third = publish(9, ("L6", "pair", 1), orders=[("L6", "cosine"), ("L6", "pair")])
    assert third["orders"] == [("L6", "cosine"), ("L6", "pair"), ("L3", "pair")]
    assert publish(9, ("L6", "pair", 1), orders=[("L6", "siamese")])["orders"] == third["orders"]
    assert publish(8, ("L3", "pair", 1)) == {"cells": [("L3", "pair", 1)], "orders": []}


def test_gains_stand_beside_those_of_earlier_runs(tmp_path: Path) -> None:
    """A new gain replaces the former one; gains on other pairs are removed."""

    def publish(*gains: tuple[str, str, float | str, float, int]) -> list[tuple[object, ...]]:
        names = ("encoder", "task", "weight", "gain", "pairs")
        found = [dict(zip(names, gain, strict=True)) | {"metric": "pearson", "seeds": 1} for gain in gains]
        write_json(tmp_path / "component_focus.json", {"gains": found})
        keep_gains(tmp_path / "component_focus.json", tmp_path / GAINS)
        return [(gain["encoder"], gain["task"], gain["weight"], gain["gain"]) for gain in read_json(tmp_path / GAINS)]

    assert publish(
        ("L3", "sick", "gate", 0.2, 4927), ("L3", "sick", 0.2, 0.1, 4927), ("L3", "stsb", 0.2, 0.3, 1379)
    ) == [
        ("L3", "sick", 0.2, 0.1),
        ("L3", "sick", "gate", 0.2),
        ("L3", "stsb", 0.2, 0.3),
    ]
    assert publish(("L3", "sick", 0.2, 0.5, 4927), ("A", "sick", 0.2, 0.6, 4927)) == [
        ("A", "sick", 0.2, 0.6),
        ("L3", "sick", 0.2, 0.5),
        ("L3", "sick", "gate", 0.2),
        ("L3", "stsb", 0.2, 0.3),
    ]
    assert publish(("A", "sick", 0.2, 0.7, 100)) == [("A", "sick", 0.2, 0.7), ("L3", "stsb", 0.2, 0.3)]


def test_gains_stand_by_the_size_of_the_weight(tmp_path: Path) -> None:
    weights = ["one", 10.0, 2.0, "gate", 0.5]
    gain = {"encoder": "L3", "task": "sick", "metric": "pearson", "gain": 0.1, "pairs": 10, "seeds": 1}
    write_json(tmp_path / "component_focus.json", {"gains": [gain | {"weight": weight} for weight in weights]})
    keep_gains(tmp_path / "component_focus.json", tmp_path / GAINS)
    assert [gain["weight"] for gain in read_json(tmp_path / GAINS)] == [0.5, 2.0, 10.0, "gate", "one"]


def test_a_gain_of_more_seeds_stays(tmp_path: Path) -> None:
    place = {"encoder": "L3", "task": "sick", "metric": "pearson", "weight": 0.2, "pairs": 4927}

    def publish(gain: float, seeds: int) -> float:
        write_json(tmp_path / "component_focus.json", {"gains": [place | {"gain": gain, "seeds": seeds}]})
        keep_gains(tmp_path / "component_focus.json", tmp_path / GAINS)
        (kept,) = read_json(tmp_path / GAINS)
        return float(kept["gain"])

    assert [publish(*each) for each in ((0.1, 1), (0.2, 3), (0.3, 1), (0.4, 3))] == [0.1, 0.2, 0.2, 0.4]


def test_a_kept_file_of_former_names_is_gone_on_with(tmp_path: Path) -> None:
    """stsb+silver.csv gets the cells of stsb+augmented; its former `mean weights` are the model soup's."""
    source, runs = tmp_path / "component_focus.csv", tmp_path / "runs"
    former = Result("L6, mean weights, W_cf = 0", "stsb+silver", "test", "focus", "pearson", 0.8, 1379, seeds=2)
    write_results(runs / "stsb+silver.csv", [former])
    new = replace(former, system="L3, W_cf = 0", dataset="stsb+augmented")
    write_results(source, [new])
    kept = keep_matrix(source, runs, "a command", "2026-11-26")
    assert kept == runs / "stsb+silver.csv"
    assert [(row["system"], row["dataset"]) for row in read_results(kept)] == [
        ("L3, W_cf = 0", "stsb+augmented"),
        ("L6, model soup, W_cf = 0", "stsb+augmented"),
    ]


def test_cells_of_former_names_are_not_doubled(tmp_path: Path) -> None:
    """A cell that has its former strategy in the kept file is the same cell, and is replaced."""
    source, target = tmp_path / "paraphrase.json", tmp_path / "mrpc.json"
    cell = {"encoder": "L6", "pooling": "mean", "absent": None, "seeds": 3}
    write_json(
        target, {"pairs": 9, "cells": [cell | {"strategy": "pair, mean weights", "held_out": 0.7}], "orders": []}
    )
    new = cell | {"strategy": "pair, model soup", "validation": 0.8}
    write_json(source, {"pairs": {"test": 9}, "cells": [new], "orders": []})
    keep_cells(source, target)
    assert read_json(target)["cells"] == [new]
