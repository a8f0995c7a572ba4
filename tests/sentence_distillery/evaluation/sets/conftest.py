"""A workspace for the stage, sets of a few rows in the real formats, and the real files if they are there."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentence_distillery.evaluation.sets import registry
from sentence_distillery.evaluation.sets.benchmark import Benchmark, PinnedFile
from tests.workspace import ROOT as ROOT
from tests.workspace import write_params

REAL_DIRECTORIES = (ROOT / "data/external", ROOT.parent / "shared/benchmarks", ROOT.parent / "shared/suite")

SAMPLE_PAIRS = (
    "split,sentence1,sentence2,relatedness,entailment,paraphrase\n"
    'train,"He said ""stop"", twice.",He stopped.,2.5,NEUTRAL,0\n'
    "dev,A dog runs.,A dog is running.,5,ENTAILMENT,1\n"
    "test,A dog runs.,No dog runs.,3.5,CONTRADICTION,0\n"
)
SAMPLE_REVIEWS = 'split,text,label\ntrain,"Good, very good.",1\ntest,Bad.,0\n'
STSB = {
    "stsb-en-train.csv": '"A plane, taking off",A dog runs.,0.5\nA man eats.,A man is eating.,4.75\n',
    "stsb-en-dev.csv": "A girl sings.,A girl dances.,2.0\n",
    "stsb-en-test.csv": "A man is eating!,a MAN eats,5.0\n",
}


def real(name: str) -> Path:
    """Return the directory of a real external set; skip the test if there is none."""
    for directory in REAL_DIRECTORIES:
        for folder in (directory / name, *directory.glob(f"*/{name}")):
            if folder.is_dir():
                return folder
    pytest.skip(f"no {name} in {' or '.join(map(str, REAL_DIRECTORIES))}: bring it with `make benchmarks FROM=...`")


def rows_of(name: str, directory: Path, table: int = 0) -> list[Any]:
    """The rows of a table of a known set, unchecked, given the directory of its files."""
    return list(registry.BENCHMARKS[name].tables[table].read(directory))


def write(directory: Path, files: Mapping[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")


def pins(files: Mapping[str, str], home: str | None = None) -> tuple[PinnedFile, ...]:
    """The checksums of `files`, by name and content."""
    return tuple(
        PinnedFile(file, hashlib.sha256(text.encode()).hexdigest(), f"{home}/{file}" if home else None)
        for file, text in files.items()
    )


def external_set(name: str, files: Mapping[str, str], home: str | None = None) -> Benchmark:
    """An external set whose pinned checksums are those of `files`."""
    return Benchmark(name, name, "a test", "none stated", "none", files=tuple(files), pins=pins(files, home))


def resize(monkeypatch: pytest.MonkeyPatch, name: str, *rows: dict[str, int]) -> None:
    """Expect `rows` by split in each table of a set."""
    benchmark = registry.BENCHMARKS[name]
    tables = tuple(replace(spec, rows=expected) for spec, expected in zip(benchmark.tables, rows, strict=True))
    monkeypatch.setitem(registry.BENCHMARKS, name, replace(benchmark, tables=tables))


@pytest.fixture
def bring_stsb(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Put files of an STS-B of four rows into data/external/stsb and pin their checksums."""

    def bring(files: dict[str, str]) -> None:
        write(Path("data/external/stsb"), files)
        pinned = replace(registry.BENCHMARKS["stsb"], pins=pins(STSB | files))
        monkeypatch.setitem(registry.BENCHMARKS, "stsb", pinned)
        resize(monkeypatch, "stsb", {"train": 2, "dev": 1, "test": 1})

    return bring


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Enter an empty directory with sample data of a few rows; the result writes params.yaml for the named sets."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data/samples", {"pairs.csv": SAMPLE_PAIRS, "reviews.csv": SAMPLE_REVIEWS})
    pairs = {"train": 1, "dev": 1, "test": 1}
    resize(monkeypatch, "samples", pairs, pairs, {"train": 1, "test": 1})
    return lambda *sets: write_params(benchmarks={"sets": list(sets)})
