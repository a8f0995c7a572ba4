"""The requests that a worker accepts: the form of each field, and remotes that its owner has listed."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from prefect_dvc.workers.request import LISTED, REFS, HandoffError, StageRequest, code_remote, data_remote, read_request

from .conftest import git, make_repository, stage

REQUEST = StageRequest(
    stage="g",
    key="0" * 64,
    inputs={"cmd": "python stage.py"},
    versions={"Python": "3.13"},
    revision="0" * 40,
    ref=f"{REFS}/{'0' * 32}",
    code="origin",
    remote=None,
    force=False,
    resources={"gpu": 1},
    timeout=None,
)


def test_a_request_is_read() -> None:
    assert read_request(asdict(REQUEST)) == REQUEST
    assert read_request(asdict(replace(REQUEST, stage="component_focus@minilm-l3-sick+labels-0.2"))).stage.startswith(
        "comp"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", "--help"),
        ("stage", "/tmp/elsewhere/dvc.yaml:stage"),
        ("stage", "g; touch /tmp/x"),
        ("stage", "g\n"),
        ("key", "../../etc"),
        ("revision", "HEAD"),
        ("revision", "--output=/tmp/x"),
        ("ref", "refs/heads/main"),
        ("ref", "--upload-pack=touch /tmp/x"),
        ("ref", f"{REFS}/{'0' * 32}:refs/heads/main"),
        ("code", ""),
        ("code", 7),
        ("remote", "s3://bucket\n[core]"),
        ("inputs", ["a"]),
        ("inputs", {"a": 1}),
        ("versions", {"numpy": 2}),
        ("force", "yes"),
        ("resources", ["gpu"]),
        ("resources", {"gpu": "1"}),
        ("resources", {"../gpu": 1}),
        ("timeout", "3h"),
        ("timeout", -1),
    ],
)
def test_a_field_of_another_form_is_refused(field: str, value: Any) -> None:
    with pytest.raises(HandoffError, match=rf"The request's {field} is .*: (Input|String|Keys) should ") as raised:
        read_request(asdict(REQUEST) | {field: value})
    assert repr(value) in str(raised.value)


def test_fields_are_complete() -> None:
    fields = asdict(REQUEST)
    with pytest.raises(HandoffError, match=r"The request's shell is .*Unexpected"):
        read_request(fields | {"shell": "x"})
    del fields["key"]
    with pytest.raises(HandoffError, match="The request's key is missing"):
        read_request(fields)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a workspace on the same host."""
    root = make_repository(tmp_path / "workspace", {"g": stage("g")})
    git(root, "clone", "--quiet", str(root), str(tmp_path / "clone"))
    return tmp_path / "clone"


def test_code_comes_from_listed_remotes(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by address, and by another path of the same directory; else only after the owner has listed it."""
    workspace = str(tmp_path / "workspace")
    (tmp_path / "link").symlink_to(workspace)
    assert code_remote(REQUEST, clone) == "origin"
    assert code_remote(replace(REQUEST, code=workspace), clone) == workspace
    assert code_remote(replace(REQUEST, code=str(tmp_path / "link")), clone) == workspace
    other = replace(REQUEST, code="https://git.example.org/other.git")
    with pytest.raises(
        HandoffError,
        match=r"code would come from 'https://git.example.org/other.git', which is not on this worker's list",
    ):
        code_remote(other, clone)
    monkeypatch.setenv(LISTED, "https://git.example.org/first.git, https://git.example.org/other.git")
    assert code_remote(other, clone) == other.code
    monkeypatch.delenv(LISTED)
    git(clone, "remote", "add", "other", other.code)
    assert code_remote(other, clone) == other.code
    assert code_remote(replace(REQUEST, code="other"), clone) == "other"


def test_the_clone_itself_is_not_listed(clone: Path) -> None:
    """Neither by a relative path, which git would accept, nor by an option, nor by a command."""
    for code in (".", "..", "../workspace", "--upload-pack=touch /tmp/x", "ext::sh -c touch% /tmp/x", "-"):
        with pytest.raises(HandoffError, match=r"not on this worker's list; the list has origin, .*If you trust it"):
            code_remote(replace(REQUEST, code=code), clone)


def test_data_comes_from_listed_remotes(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_remote(REQUEST, clone) is None
    cache = str(tmp_path / "workspace/.dvc/cache")
    assert data_remote(replace(REQUEST, remote=cache), clone) == cache
    other = replace(REQUEST, remote=str(tmp_path / "elsewhere"))
    with pytest.raises(
        HandoffError,
        match=r"data would come from '.*/elsewhere', which is not on this worker's list.*dvc --cd .* remote add",
    ):
        data_remote(other, clone)
    (clone / ".dvc/config.local").write_text(f"['remote \"store\"']\n    url = {other.remote}\n", encoding="utf-8")
    assert data_remote(other, clone) == other.remote
    (clone / ".dvc/config.local").unlink()
    monkeypatch.setenv(LISTED, str(other.remote))
    assert data_remote(other, clone) == other.remote
