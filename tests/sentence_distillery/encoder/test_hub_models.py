"""Models of a hub: loaded at a revision, from the cache if the hub is away, and uploaded."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sentence_distillery import InputError, compress, load
from sentence_distillery.cli import main
from sentence_distillery.encoder.persistence.names import CARD
from tests.sentence_distillery.distillation.conftest import subprocess_environment
from tests.sentence_distillery.teachers.hub import Hub, ask, serving

TEXTS = ["The storm closed the port.", "unknowns"]
NAME, COMMIT = "me/small-encoder", "1" * 40
AWAY = "http://127.0.0.1:9"


@pytest.fixture
def hub(static_student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one model, an empty cache, and a place for uploads."""
    repositories = dict.fromkeys([(NAME, COMMIT), (NAME, "main")], static_student)
    with serving(repositories, tmp_path / "uploads") as running:
        ask(running.address, monkeypatch, tmp_path / "cache")
        monkeypatch.chdir(tmp_path)
        yield running


@pytest.mark.parametrize("revision", [None, COMMIT])
def test_a_model_of_a_hub(
    hub: Hub, static_student: Path, revision: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are fetched once, and are enough when the hub is away."""
    expected = load(static_student).encode(TEXTS)
    np.testing.assert_array_equal(load(NAME, revision=revision).encode(TEXTS), expected)
    assert any(path.endswith(f"/resolve/{COMMIT}/model.safetensors") for path in hub.asked)
    ask(AWAY, monkeypatch)
    np.testing.assert_array_equal(load(NAME, revision=revision).encode(TEXTS), expected)


def test_what_no_hub_has(hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that names the hub, the revision and the cache."""
    for name, revision in (("me/no-model", None), (NAME, "2" * 40)):
        with pytest.raises(InputError, match=rf"'{name}' is not a directory .* nor is it in the cache .*cache") as told:
            load(name, revision=revision)
        assert "\n" not in str(told.value) and hub.address in str(told.value) and (revision or "") in str(told.value)
    ask(AWAY, monkeypatch)
    with pytest.raises(SystemExit, match=r"similarity: 'me/small-encoder' is not a directory .* at v1 .* in the cache"):
        main(["similarity", "a", "b", "--model", NAME, "--model-revision", "v1"])


def test_offline(tmp_path: Path) -> None:
    """Without a request, and in one line that names the cache."""
    command = [sys.executable, "-m", "sentence_distillery.cli", "similarity", "a", "b", "--model", NAME]
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=subprocess_environment() | settings)
    assert done.returncode == 1
    assert f"nor is it in the cache {tmp_path / 'hub'}." in done.stderr and done.stderr.count("\n") == 1


def test_a_directory_has_no_revision(static_student: Path) -> None:
    for name in (str(static_student), "released"):
        with pytest.raises(InputError, match=r"revision 'main' is given, but '.*' is not the id of a model on a hub"):
            load(name, revision="main")


def test_an_upload(hub: Hub, static_student: Path, tmp_path: Path) -> None:
    """What is uploaded loads as what was there, with its card; a model that was made smaller says so in its card."""
    model = load(static_student)
    address = model.push_to_hub("me/new", token="hf_right", private=True)
    assert address == f"{hub.address}/me/new/commit/{'c' * 40}"
    np.testing.assert_array_equal(load(tmp_path / "uploads/me/new").encode(TEXTS), model.encode(TEXTS))
    card = (static_student / CARD).read_text(encoding="utf-8")
    assert (tmp_path / "uploads/me/new" / CARD).read_text(encoding="utf-8") == card
    compress(model, dimension=4).push_to_hub("me/smaller", token="hf_right")
    smaller = (tmp_path / "uploads/me/smaller" / CARD).read_text(encoding="utf-8")
    assert "> Made smaller by sentence-distillery: 4 dimensions" in smaller


def test_uploads_that_are_refused(hub: Hub, static_student: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(static_student)
    with pytest.raises(InputError, match=r"'me/new' is not uploaded: .* says .*401.* `hf auth login`"):
        model.push_to_hub("me/new", token="hf_wrong")
    ask(AWAY, monkeypatch)
    with pytest.raises(InputError, match=r"'me/new' is not uploaded: http://127\.0\.0\.1:9 says ConnectError"):
        model.push_to_hub("me/new", token="hf_right")
