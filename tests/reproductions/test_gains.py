"""Differences of paper 1's systems on STS-B test, the ablation's, and kept runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from reproductions.paper1 import ablation
from reproductions.paper1.claims import BOTH, KLD, NEITHER
from reproductions.paper1.gains import Cosines, between, read_gains
from reproductions.paper1.published import TABLE_1
from reproductions.paper1.saved_runs import ABLATION, keep, read_saved
from reproductions.paper1.section import PaperStudentRun, ablation_table, shown
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.artifacts import InputError, write_json

SIZE = 120
SCORES = np.random.default_rng(3).uniform(0, 5, SIZE).astype(np.float32)
PAIRS = PairSet("stsb", "test", ["a"] * SIZE, ["b"] * SIZE, SCORES, None, (0.0, 5.0))
TEACHER: dict[str, Any] = {"reference": "package:mini", "additional": []}


def cosines(noise: float, seed: int = 1) -> np.ndarray:
    """Cosines that follow the ratings up to `noise`."""
    return (SCORES / 2.5 - 1 + noise * np.random.default_rng(seed).normal(size=SIZE)).clip(-1, 1).astype(np.float32)


@pytest.fixture
def seen() -> Cosines:
    found = Cosines()
    found.see("good", "mean", PAIRS, cosines(0.1))
    found.see("bad", "mean", PAIRS, cosines(2.0))
    found.see("good", "tf-idf", PAIRS, cosines(0.3))
    found.see("bad", "sif", replace(PAIRS, split="dev"), cosines(0.1))
    found.see("broken", "mean", PAIRS, np.full(SIZE, np.nan, np.float32))
    return found


def test_gains_by_hand(seen: Cosines) -> None:
    """Two systems under one weighting, two weightings of one system; no other sets, and no broken vectors."""
    gains = list(seen.gains())
    assert {(each.one, each.protocol, each.other, each.against) for each in gains} == {
        ("good", "mean", "bad", "mean"),
        ("good", "mean", "good", "tf-idf"),
    }
    pearson, spearman, mae = gains[:3]
    good, bad = cosines(0.1), cosines(2.0)
    assert pearson.gain == pytest.approx(np.corrcoef(good, SCORES)[0, 1] - np.corrcoef(bad, SCORES)[0, 1], abs=2e-5)
    assert spearman.gain == pytest.approx(spearmanr(good, SCORES)[0] - spearmanr(bad, SCORES)[0], abs=2e-5)
    errors = [np.abs(2.5 * (each + 1) - SCORES).mean() for each in (good, bad)]
    assert mae.gain == pytest.approx(errors[1] - errors[0], abs=2e-5)
    assert all(each.low < each.gain < each.high for each in gains)


def test_a_gain_the_other_way_round(seen: Cosines) -> None:
    gains, good, bad = list(seen.gains()), ("good", "mean"), ("bad", "mean")
    there, back = between(gains, good, bad, "mae"), between(gains, bad, good, "mae")
    assert there and back
    assert (back.gain, back.low, back.high) == (-there.gain, -there.high, -there.low)
    assert (back.one, back.other) == ("bad", "good")
    assert between(gains, bad, ("nobody", "mean"), "mae") is None


def test_gains_on_disk(seen: Cosines, tmp_path: Path) -> None:
    write_json(tmp_path / "gains.json", seen.content())
    assert read_gains(tmp_path / "gains.json") == list(seen.gains())
    assert Cosines().content() == []
    write_json(tmp_path / "gains.json", [{"one": "good"}])
    with pytest.raises(InputError, match=r"gains.json .*0.other: Field required"):
        read_gains(tmp_path / "gains.json")


def found() -> ablation.Cosines:
    """Two seeds of three combinations, the first one the noisiest."""
    noises = ((NEITHER, 1.0, 1), (KLD, 1.0, 11), (BOTH, 0.2, 21))
    return {(name, "mean"): [cosines(noise, first + seed) for seed in (0, 1)] for name, noise, first in noises}


def test_the_ablation_averages_seeds() -> None:
    """Each draw of the pairs is scored with every seed."""
    gains = {(each.one, each.other): each for each in ablation.gains(found(), PAIRS)}
    assert set(gains) == {(KLD, NEITHER), (BOTH, NEITHER), (BOTH, KLD)}
    by_seed = [[np.corrcoef(each, SCORES)[0, 1] for each in found()[name, "mean"]] for name in (BOTH, NEITHER)]
    gain = gains[BOTH, NEITHER]
    assert gain.gain == pytest.approx(np.mean(by_seed[0]) - np.mean(by_seed[1]), abs=2e-5)
    assert gain.low > 0 and gains[KLD, NEITHER].low < 0 < gains[KLD, NEITHER].high
    rows = list(ablation.rows(found(), PAIRS, {"mean": 0.5}))
    first = rows[0]
    assert (first.system, first.protocol, first.metric, first.seeds) == (NEITHER, "mean", "pearson", 2)
    assert first.spread == pytest.approx(np.std(by_seed[1], ddof=1), abs=1e-6)
    assert (rows[-1].metric, rows[-1].value) == ("seconds", 0.5)
    table = ablation_table(rows)
    assert table and table.caption == "Neither part of the method, one, or both"
    assert ablation_table([]) is None


def test_a_kept_run_is_judged_and_shown(tmp_path: Path, seen: Cosines) -> None:
    """Written and read again, with the ablation of its folder."""
    run = PaperStudentRun(
        student={"teacher": TEACHER, "refined": "repulsion"},
        simcse={"absent": "off"},
        curve={"epoch": [1.0, 2.0, 3.0], "loss": [0.9, 0.2, 0.1]},
        refine={"iteration": [1.0], "mean_kl": [0.1]},
        repulsion={},
        benchmark="",
    )
    assert read_saved(tmp_path) == []
    rows = [
        Result("paper student", "stsb", "test", "mean", metric, 0.5, SIZE) for metric in ("pearson", "spearman", "mae")
    ]
    words = [{"rows": ["storm", "the"], "columns": ["port"], "cosines": [[0.5], [None]]}] * len(TABLE_1)
    examples: dict[str, Any] = {"cosines": {}, "words": {"skip-gram": words, "refined": words}}
    keep(tmp_path, "small", "made by hand", rows, run, examples, list(seen.gains()))
    write_results(tmp_path / f"{ABLATION}.csv", ablation.rows(found(), PAIRS, {"tf-idf": 2.0, "dpcs": 1.0}))
    gains = list(ablation.gains(found(), PAIRS))
    write_json(tmp_path / f"{ABLATION}.json", [vars(each) for each in gains])
    (kept,) = read_saved(tmp_path)
    assert (kept.name, kept.comment, kept.rows) == ("small", "made by hand", rows)
    assert kept.gains == list(seen.gains()) and kept.ablation == gains
    about = shown(kept)
    verdicts = {claim.text: claim.verdict for claim in about["claims"]}
    assert verdicts["Both methods together are better than each alone"] == "reproduced"
    assert verdicts["DPCS is cheaper than TF-IDF weights"] == "reproduced"
    assert verdicts["Training improves fast at first and then stays"] == "reproduced"
    keep(tmp_path, "small-other", "made by hand", rows, run, examples, [])
    assert [each.name for each in read_saved(tmp_path)] == ["small", "small-other"]
    titles = [heat_map.title for pair in about["heat_maps"] for heat_map in pair]
    assert titles[:2] == ["Figure 2: before refinement", "Figure 2: after refinement"] and len(titles) == 4
