import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, BenchmarkData
from sentence_distillery.evaluation.sets.registry import BENCHMARKS
from sentence_distillery.io.artifacts import InputError, read_table
from stages import paths
from stages.benchmarks.benchmarks import main
from tests.sentence_distillery.evaluation.sets.conftest import STSB

WriteParams = Callable[..., None]
Bring = Callable[[dict[str, str]], None]
DATA = BenchmarkData(paths.BENCHMARKS)


def provenance() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("data/benchmarks/provenance.json").read_text(encoding="utf-8"))
    return found


def test_demo_sets(workspace: WriteParams) -> None:
    workspace("lee", "wordsim353", "simlex999", "samples")
    main()
    tables = ["lee", "wordsim353", "simlex999", "samples", "samples_paraphrase", "samples_reviews"]
    assert DATA.available() == tables and DATA.available("words") == ["wordsim353", "simlex999"]
    written = {path.name for path in Path("data/benchmarks").iterdir()}
    assert written == {f"{name}.parquet" for name in tables} | {"provenance.json", "evaluation_fingerprints.parquet"}
    counters = json.loads(Path("reports/counters/benchmarks.json").read_text(encoding="utf-8"))
    assert counters["kept"] == counters["total"] == 1225 + 353 + 999 + 3 + 3 + 2
    assert counters["details"]["absent"] == "none"
    lee = provenance()["sets"]["lee"]
    assert (lee["rows"], lee["scale"], lee["distinct"]) == (
        {"test": 1225},
        [1, 5],
        {"test": {"sentences": 50, "pairs": 1225}},
    )


def test_reading(workspace: WriteParams) -> None:
    workspace("samples", "wordsim353")
    main()
    pairs = DATA.pairs("samples", "dev")
    assert (pairs.sentences1, pairs.sentences2, pairs.labels) == (
        ["A dog runs."],
        ["A dog is running."],
        ["ENTAILMENT"],
    )
    assert pairs.scale == (1, 5) and pairs.scores is not None and pairs.scores.dtype == np.float32
    assert pairs.scores.tolist() == [5]
    paraphrases = DATA.pairs("samples_paraphrase", "test")
    assert paraphrases.labels == ["0"] and paraphrases.scores is None and paraphrases.scale is None
    assert DATA.pairs("wordsim353", "test").labels is None
    assert DATA.documents("samples_reviews", "train").texts == ["Good, very good."]


@pytest.mark.fault(18)
def test_held_out_is_what_evaluation_scores_on(workspace: WriteParams, bring_stsb: Bring) -> None:
    """Dev and test sentences of every set, complete documents, nothing of train, no words."""
    bring_stsb(STSB)
    workspace("samples", "stsb", "wordsim353")
    main()
    evaluated = read_table(Path("data/benchmarks/evaluation_fingerprints.parquet"), EVALUATION_FINGERPRINTS)[
        "fingerprint"
    ].to_pylist()
    texts = {"A dog runs.", "A dog is running.", "No dog runs.", "Bad.", "A girl sings.", "A girl dances."}
    assert evaluated == sorted(map(fingerprint, texts | {"A man is eating", "A man eats"}))


@pytest.mark.fault(18)
def test_overlaps_are_counted(workspace: WriteParams, bring_stsb: Bring) -> None:
    """The test split of STS-B has a pair of train, swapped and spelt differently."""
    bring_stsb(STSB)
    workspace("samples", "stsb")
    main()
    found = provenance()["sets"]["stsb"]["overlaps"]
    assert found["train"]["stsb/test"] == found["test"]["stsb/train"] == {"sentences": 2, "pairs": 1}
    assert found["train"]["samples/dev"] == {"sentences": 1, "pairs": 0}
    assert "dev" not in found


def test_an_absent_set_is_said_to_be_absent(workspace: WriteParams) -> None:
    workspace("samples", "stsb", "imdb")
    main()
    assert list(provenance()["absent"]) == ["stsb", "imdb"]
    assert "make benchmarks FROM=" in provenance()["absent"]["stsb"]
    counters = json.loads(Path("reports/counters/benchmarks.json").read_text(encoding="utf-8"))
    assert counters["details"]["absent"] == "stsb, imdb"
    with pytest.raises(InputError, match=r"'stsb' is absent: data/external/stsb holds none .*make benchmarks FROM="):
        DATA.pairs("stsb", "test")
    with pytest.raises(InputError, match=r"has no set 'mrpc'.*add it to benchmarks.sets"):
        DATA.pairs("mrpc", "test")
    with pytest.raises(InputError, match=r"'samples_reviews' has no split 'dev' \(it has train, test\)"):
        DATA.documents("samples_reviews", "dev")
    with pytest.raises(InputError, match="'samples_reviews' holds documents, not pairs or words"):
        DATA.pairs("samples_reviews", "test")


@pytest.mark.fault(16)
def test_a_set_with_a_gap(workspace: WriteParams, bring_stsb: Bring) -> None:
    """A set with some files missing is neither read nor reported as absent."""
    bring_stsb({"stsb-en-dev.csv": STSB["stsb-en-dev.csv"]})
    workspace("stsb")
    with pytest.raises(SystemExit, match=r"data/external/stsb lacks stsb-en-train.csv, stsb-en-test.csv of stsb; run"):
        main()


@pytest.mark.fault(16)
def test_a_wrong_checksum(workspace: WriteParams, bring_stsb: Bring) -> None:
    """One changed score is refused, and the benchmarks written before stay as they were."""
    bring_stsb(STSB)
    workspace("samples", "stsb")
    main()
    before = {path.name: path.read_bytes() for path in Path("data/benchmarks").iterdir()}
    path = Path("data/external/stsb/stsb-en-test.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("5.0", "4.0"), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"stsb-en-test.csv has SHA-256 \w{64}, expected \w{64}; run `make benchmarks"):
        main()
    assert {path.name: path.read_bytes() for path in Path("data/benchmarks").iterdir()} == before


@pytest.mark.fault(13)
def test_an_unknown_set(workspace: WriteParams) -> None:
    """A name that no set has."""
    workspace("lee", "stsbb")
    with pytest.raises(SystemExit, match=rf"benchmarks.sets has 'stsbb'; known sets are {', '.join(BENCHMARKS)}\.$"):
        main()


@pytest.mark.fault(16)
def test_missing_samples(workspace: WriteParams) -> None:
    """A set that is part of the repository is never reported as absent."""
    workspace("samples")
    Path("data/samples/reviews.csv").unlink()
    with pytest.raises(SystemExit, match=r"data/samples lacks reviews.csv of samples; restore it with `git checkout"):
        main()


@pytest.mark.fault(27)
def test_the_same_bytes_again(workspace: WriteParams) -> None:
    """Two runs write the same bytes; a set named twice is read once."""
    workspace("lee", "samples", "lee")
    main()
    before = {path.name: path.read_bytes() for path in Path("data/benchmarks").iterdir()}
    main()
    assert {path.name: path.read_bytes() for path in Path("data/benchmarks").iterdir()} == before
