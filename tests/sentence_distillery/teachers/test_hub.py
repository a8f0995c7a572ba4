"""A model of a hub: an entry of conf/base.yaml at its pinned revision, here a tiny one."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import AbsentModelError, load_encoder
from tests.sentence_distillery.teachers.conftest import SENTENCES, save_bert, teacher
from tests.sentence_distillery.teachers.hub import Hub, ask, serving
from tests.workspace import ROOT

ENTRY = yaml.safe_load((ROOT / "conf/base.yaml").read_text(encoding="utf-8"))["encoders"]["bert"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, with a file that no encoder needs."""
    directory = tmp_path_factory.mktemp("hub")
    save_bert(directory)
    (directory / "pytorch_model.bin").write_bytes(b"not needed")
    return directory


@pytest.fixture
def hub(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub that huggingface_hub asks, and an empty cache."""
    with serving({(ENTRY["reference"], ENTRY["revision"]): saved}) as running:
        ask(running.address, monkeypatch, tmp_path / "hub")
        yield running


def test_an_encoder_of_the_hub(hub: Hub, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fetched at its pinned revision, without what it does not need; without the hub the cache is enough."""
    entry = Teacher.model_validate(ENTRY | {"maximum_length": 64})
    fetched, local = load_encoder(entry), load_encoder(teacher(saved))
    ids = local.token_ids(SENTENCES)
    assert fetched.token_ids(SENTENCES) == ids
    np.testing.assert_array_equal(fetched.embed(ids, 64)[0], local.embed(ids, 64)[0])
    asked = [path for path in hub.asked if entry.reference in path]
    assert entry.revision and asked and all(entry.revision in path for path in asked)
    assert not any(path.endswith(".bin") for path in hub.asked)
    ask("http://127.0.0.1:9", monkeypatch)
    before = len(hub.asked)
    assert load_encoder(entry).token_ids(SENTENCES) == ids
    assert len(hub.asked) == before


@pytest.mark.fault(24)
def test_a_revision_that_the_hub_does_not_have(hub: Hub) -> None:
    """Another commit than the pinned one is not taken in its place."""
    entry = Teacher.model_validate(ENTRY | {"revision": "0" * 40})
    with pytest.raises(AbsentModelError, match=f"bert-base-uncased at {'0' * 40} is not in the local hub cache"):
        load_encoder(entry)
