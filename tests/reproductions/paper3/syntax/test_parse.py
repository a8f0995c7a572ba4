"""Trees as Parquet, and the parse stage on the sample pairs: trees, dropped sentences, shards kept between runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reproductions.paper3.syntax import parsing as parse
from reproductions.paper3.syntax.parsing import TreeCache, parse_missing, shards_of
from reproductions.paper3.syntax.trees import DROPPED, Tree, read_trees, to_table
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, read_table, write_table
from sentence_distillery.runtime.options import Shards
from stages import paths
from stages.benchmarks.benchmarks import main as make_benchmarks
from stages.paper3 import parse as parse_stage
from tests.workspace import ROOT, write_params

MODELS = ROOT / paths.PARSER


TREE = Tree(["a", "b"], ["a", "b"], ["X", "Y"], ["x", "y"], [2, 0], ["det", "root"])


def test_there_and_back(tmp_path: Path) -> None:
    write_table(tmp_path / "part-00000.parquet", to_table(["one"], [TREE]))
    write_table(tmp_path / "part-00001.parquet", to_table([], []))
    assert read_trees(tmp_path) == {"one": TREE}


def test_a_head_outside_the_sentence(tmp_path: Path) -> None:
    broken = replace(TREE, heads=[3, 0])
    write_table(tmp_path / "part-00000.parquet", to_table(["one"], [broken]))
    with pytest.raises(InputError, match="a head of 'one' is outside the sentence"):
        read_trees(tmp_path)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("data/samples", "models/syntax"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    write_params(
        benchmarks={"sets": ["samples"]},
        syntax={"sets": ["samples", "stsb"], "maximum_words": 30},
        shards={"processes": 1, "dask": None},
    )
    make_benchmarks()


def written(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"reports/{kind}/parse.json").read_text())
    return found


def test_the_stage(workspace: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence has a tree or is counted; a second run parses nothing; a damaged shard alone is parsed again."""
    monkeypatch.setattr(parse, "SHARD", 25)
    shards = list(shards_of(["samples"], BenchmarkData(paths.BENCHMARKS)))[:4]
    texts = [text for shard in shards for text in shard]
    monkeypatch.setattr(parse_stage, "shards_of", lambda *_: shards)
    parse_stage.main()
    trees = read_trees(paths.TREES)
    dropped = read_table(paths.TREES / "dropped.parquet", DROPPED)
    assert {*trees, *dropped["text"].to_pylist()} == set(texts)
    first = written("counters")
    assert first["kept"] == len(trees)
    assert first["dropped"] == {"too long": dropped.num_rows}
    assert (first["details"]["sets"], first["details"]["sets absent"]) == ("samples", "stsb")
    assert written("costs")["sentences parsed in this run"] == len(texts)
    before = {part.name: part.read_bytes() for part in paths.TREES.iterdir()}
    damaged = sorted(paths.PARSED_SHARDS.iterdir())[0]
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-10])
    parse_stage.main()
    assert 0 < written("costs")["sentences parsed in this run"] < len(texts)
    assert {part.name: part.read_bytes() for part in paths.TREES.iterdir()} == before
    parse_stage.main()
    assert written("costs")["sentences parsed in this run"] == 0


@pytest.mark.fault(14)
def test_a_shard_depends_on_what_shapes_its_trees(tmp_path: Path) -> None:
    """Other models, another limit or another text, another file."""
    cache = TreeCache(tmp_path, "models", 30)
    path = cache.path(["a", "b"])
    others = [
        replace(cache, models="other models").path(["a", "b"]),
        replace(cache, maximum_words=31).path(["a", "b"]),
        cache.path(["ab"]),
    ]
    assert len({path, *others}) == 4
    assert TreeCache(tmp_path, "models", 30).path(["a", "b"]) == path


def test_no_set_at_all(workspace: None) -> None:
    """An absent set is reported as absent, and later stages find no trees."""
    focus = {"tasks": ["stsb"]}
    write_params(benchmarks={"sets": ["samples"]}, syntax={"sets": ["stsb"]}, component_focus=focus)
    parse_stage.main()
    assert read_trees(paths.TREES) == {}
    assert written("counters")["details"]["sets absent"] == "stsb"


def test_a_name_that_no_set_has(workspace: None) -> None:
    """An unknown set is an error; a known set that is absent is only reported."""
    write_params(syntax={"sets": ["samples", "sickk"]}, component_focus={"tasks": ["samples"]})
    with pytest.raises(SystemExit, match=r"syntax.sets contains 'sickk'; the known sets of pairs are lee, .*sick"):
        parse_stage.main()


@pytest.mark.parametrize(("kind", "processes"), [("cpu", 2), ("cuda", 1)])
def test_processes_do_not_share_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, processes: int
) -> None:
    """The test checks where a shard would be parsed, so nothing is parsed."""
    asked: list[int | None] = []

    @contextmanager
    def recorded(parser: object, shards: list[list[str]], where: Shards) -> Iterator[Iterator[tuple[list[str], float]]]:
        asked.append(where.processes)
        yield ((["no words"], 0.0) for _ in shards)

    monkeypatch.setattr(parse, "device", lambda: torch.device(kind))
    monkeypatch.setattr(parse, "map_shards", recorded)
    shards = [["one"], ["two"], ["three"]]
    where = Shards(processes=2, dask=None)
    assert parse_missing(TreeCache(tmp_path, "models", 30), shards, MODELS, where) == (3, 0.0)
    assert asked == [processes]
