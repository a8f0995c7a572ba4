"""Promotions with real git and GTO; the runs are simulated."""

import hashlib
import threading
import time
from pathlib import Path

import pytest
import yaml

from prefect_dvc.execution.cache import place
from prefect_dvc.registry.promotion import (
    LOCK,
    Channel,
    PromotionError,
    Version,
    assigned,
    check,
    fetch_registry,
    promote,
    promoted,
    registered,
    rollback,
    show,
)
from prefect_dvc.system.process import held
from prefect_dvc.workspace.git import git
from tests.waiting import LIMIT

from .conftest import commit_all
from .forked import cli, dvc_
from .models import add_remote, kept_run
from .test_cache import damage, put

pytestmark = pytest.mark.usefixtures("imported")

CHANNEL = Channel("student")
CHANNEL_OF_ALL = Channel("student", remote="origin")


def promote_model(root: Path, model: str, channel: Channel = CHANNEL) -> Version:
    return promote(root, kept_run(root, model), channel, instead_of=promoted(root, channel))


def test_a_promotion_leaves_the_workspace_alone(models: Path) -> None:
    """The commit goes to a separate branch, on the code that the run used; uncommitted work and main do not change."""
    run = kept_run(models, "m1")
    (models / "model.py").write_text("# half-written\n", encoding="utf-8")
    (models / "new.py").touch()
    git(models, "add", "new.py")
    before = git(models, "status", "--porcelain"), git(models, "rev-parse", "main")
    first = promote(models, run, CHANNEL, instead_of=None)
    assert (git(models, "status", "--porcelain"), git(models, "rev-parse", "main")) == before
    assert first == Version("v0.0.1", git(models, "rev-parse", "promoted"))
    changed = git(models, "diff", "--name-only", "main", "promoted").splitlines()
    assert changed == ["dvc.lock", "reports/metrics.json"]
    assert git(models, "log", "-1", "--format=%an %s %P", "promoted") == (
        f"prefect-dvc Promote the student of run {run} {before[1]}"
    )


def test_the_branch_has_every_promotion(models: Path) -> None:
    """Its first parents are the promotions, its second ones the commits that they were made from."""
    promote_model(models, "m1")
    (models / "README.md").touch()
    commit_all(models, "A change")
    promote_model(models, "m2")
    parents = git(models, "log", "-1", "--format=%P", "promoted").split()
    assert parents == [git(models, "rev-parse", "promoted~1"), git(models, "rev-parse", "main")]
    assert git(models, "tag", "--points-at", "promoted").split() == ["student#production#2", "student@v0.0.2"]


def test_rollback(models: Path) -> None:
    """Back, back again, and on: a later rollback skips a version that was rolled back."""
    one, two, three = (promote_model(models, f"m{number}") for number in (1, 2, 3))
    assert rollback(models, CHANNEL) == (three, two)
    assert assigned(models, CHANNEL) == [one, two]
    four = promote_model(models, "m4")
    assert assigned(models, CHANNEL) == [one, two, four]
    assert rollback(models, CHANNEL) == (four, two)
    assert rollback(models, CHANNEL) == (two, one)
    with pytest.raises(PromotionError, match=r"v0.0.1 is the first version at production"):
        rollback(models, CHANNEL)
    assert rollback(models, CHANNEL, "v0.0.3") == (one, three)
    with pytest.raises(PromotionError, match=r"v0.0.3 is already at production"):
        rollback(models, CHANNEL, "v0.0.3")
    with pytest.raises(PromotionError, match=r"no version 'v9'; it has v0.0.1, v0.0.2, v0.0.3, v0.0.4"):
        rollback(models, CHANNEL, "v9")
    assert show(models, CHANNEL).splitlines()[1].endswith("  production")
    assert registered(models, "student") == [one, two, three, four]


def test_the_same_model_is_not_promoted_again(models: Path) -> None:
    """Neither while it is at the stage nor after somebody has rolled it back."""
    promote_model(models, "m1")
    promote_model(models, "m2")
    with pytest.raises(
        PromotionError, match=r"The model is the same as that of v0.0.2, which is already at production"
    ):
        promote_model(models, "m2")
    rollback(models, CHANNEL)
    with pytest.raises(PromotionError, match=r"v0.0.2, which was at production .*prefect-dvc rollback --to v0.0.2"):
        promote_model(models, "m2")
    assert len(registered(models, "student")) == 2


def test_a_version_goes_on_to_the_next_stage(models: Path) -> None:
    """It keeps its number; so does one whose promotion was killed before it was assigned."""
    staging = Channel("student", stage="staging")
    version = promote_model(models, "m1", staging)
    assert promoted(models, CHANNEL) is None
    assert promote_model(models, "m1") == version
    assert promoted(models, CHANNEL) == version == promoted(models, staging)


def test_the_stage_changed_in_the_meantime(models: Path) -> None:
    """The version of the comparison is no longer there."""
    one = promote_model(models, "m1")
    promote_model(models, "m2")
    with pytest.raises(PromotionError, match=r"production went from v0.0.1 to v0.0.2 during the comparison"):
        promote(models, kept_run(models, "m3"), CHANNEL, instead_of=one)
    assert len(registered(models, "student")) == 2


@pytest.mark.fault(4)
def test_two_at_once(models: Path) -> None:
    """The second waits for the first."""
    promote_model(models, "m1")
    two = promote_model(models, "m2")
    with held(models / LOCK, "somebody"):
        thread = threading.Thread(target=rollback, args=(models, CHANNEL))
        thread.start()
        time.sleep(2)
        assert promoted(models, CHANNEL) == two
    thread.join(LIMIT)
    assert promoted(models, CHANNEL) != two


@pytest.mark.fault(13)
def test_checks_before_a_run(models: Path) -> None:
    """Errors that would refuse the promotion after hours appear before the run."""
    check(models, CHANNEL)
    for channel, message in (
        (Channel("teacher"), r"dvc.yaml has no artifact 'teacher'; it has student"),
        (Channel("student", stage="in production"), r"'in production' is not a stage name for GTO; use letters"),
        (Channel("student", branch="a..b"), r"'a..b' is not a valid branch name"),
        (
            Channel("student", branch="main"),
            r"Branch 'main' is checked out in .*workspace, .* Switch to another branch there",
        ),
        (Channel("student", remote="origin"), r"git has no remote 'origin'; it has none"),
    ):
        with pytest.raises(PromotionError, match=message):
            check(models, channel)


def test_git_remotes(models: Path, tmp_path: Path) -> None:
    """Nothing is pushed unless a remote is named; if it takes nothing, the error has the missing command."""
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(models, "remote", "add", "origin", str(tmp_path / "origin.git"))
    promote_model(models, "m1")
    assert git(tmp_path / "origin.git", "for-each-ref") == ""
    promote_model(models, "m2", Channel("student", remote="origin"))
    names = git(tmp_path / "origin.git", "for-each-ref", "--format=%(refname:short)").split()
    assert names == ["promoted", "student#production#2", "student@v0.0.2"]
    hook = tmp_path / "origin.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(PromotionError, match=r"v0.0.3 is at production here(.|\n)*git push .*'refs/tags/student#prod"):
        promote_model(models, "m3", Channel("student", remote="origin"))
    git(models, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    for act in (lambda: promote_model(models, "m4", CHANNEL_OF_ALL), lambda: rollback(models, CHANNEL_OF_ALL)):
        with pytest.raises(
            PromotionError, match=r"^The versions at 'origin' could not be fetched, so nothing was chan"
        ):
            act()
    assert str(promoted(models, CHANNEL)).startswith("v0.0.3 (")


@pytest.mark.fault(34)
def test_what_another_machine_has_promoted(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shallow clone knew no version, so it promoted without a comparison; so did one that was behind."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", "origin.git")
    git(models, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(models, "push", "--quiet", "origin", "main")
    one = promote_model(models, "m1", CHANNEL_OF_ALL)
    git(tmp_path, "clone", "--quiet", "--depth", "1", "--no-tags", f"file://{tmp_path}/origin.git", "shallow")
    shallow = tmp_path / "shallow"
    monkeypatch.chdir(shallow)
    with pytest.raises(PromotionError, match=r"production went from nothing to v0.0.1 during the comparison"):
        promote(shallow, kept_run(shallow, "m2"), CHANNEL_OF_ALL, instead_of=None)
    assert promoted(shallow, CHANNEL) == one
    two = promote_model(shallow, "m2", CHANNEL_OF_ALL)
    assert two.name == "v0.0.2"
    git(models, "tag", "student@v0.0.2", "main")
    with pytest.raises(PromotionError, match=r"could not be fetched(.|\n)*student@v0.0.2 .*clobber existing tag"):
        fetch_registry(models, CHANNEL_OF_ALL)
    git(models, "tag", "--delete", "student@v0.0.2")
    fetch_registry(models, CHANNEL_OF_ALL)
    assert promoted(models, CHANNEL) == two


def test_command_line(models: Path) -> None:
    """`rollback` is one command; its errors are one line."""
    done = cli(models, "rollback")
    assert (done.returncode, done.stderr) == (
        1,
        "prefect-dvc rollback: No version of 'student' is at production; see prefect-dvc show\n",
    )
    assert cli(models, "promote", kept_run(models, "m1")).stdout == "student at production: v0.0.1\n"
    promote_model(models, "m2")
    assert cli(models, "rollback").stdout == "student at production: v0.0.2 -> v0.0.1\n"
    lines = cli(models, "show").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["student@v0.0.2", "student@v0.0.1"]
    assert lines[1].endswith("production")
    refused = cli(models, "rollback", "--stage", "staging").stderr
    assert "No version of 'student' is at staging; see prefect-dvc " in refused
    told = refused.rpartition("see prefect-dvc ")[2].split()
    assert cli(models, *told).stdout.startswith("student@v0.0.2 ")


@pytest.mark.fault(35)
def test_a_model_that_exists_nowhere(models: Path, tmp_path: Path) -> None:
    """With its data gone, a model was put into production; a rollback to such a one is refused, too."""
    one, two = promote_model(models, "m1"), promote_model(models, "m2")
    run = kept_run(models, "m3")
    for text in ("m1", "m3"):
        _object(models / ".dvc/cache", text).unlink()
    with pytest.raises(PromotionError, match=rf"1 objects of run {run} are not in DVC's cache \(\w+\)"):
        promote(models, run, CHANNEL, instead_of=two)
    with pytest.raises(PromotionError, match=r"1 objects of v0.0.1 are not in DVC's cache"):
        rollback(models, CHANNEL)
    assert registered(models, "student") == [one, two]
    assert promoted(models, CHANNEL) == two
    add_remote(models, tmp_path / "store")
    run = kept_run(models, "m3")
    _object(models / ".dvc/cache", "m3").unlink()
    with pytest.raises(PromotionError, match=rf"1 objects of run {run} are not in the DVC remote 'store'"):
        promote(models, run, CHANNEL, instead_of=two)  # `dvc push` of what is nowhere ends with 0
    assert put(tmp_path / "store", b"m3")
    assert promote(models, run, CHANNEL, instead_of=two).name == "v0.0.3"


def test_a_model_with_a_remote_of_its_own(models: Path, tmp_path: Path) -> None:
    """regression: the default remote was asked for it, so it was never promoted."""
    add_remote(models, tmp_path / "store")
    with (models / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write(f"['remote \"large\"']\n    url = {tmp_path}/large\n")
    graph = yaml.safe_load((models / "dvc.yaml").read_text(encoding="utf-8"))
    graph["stages"]["student"]["outs"] = [{"models/student": {"remote": "large"}}]
    (models / "dvc.yaml").write_text(yaml.safe_dump(graph), encoding="utf-8")
    commit_all(models, "Large models elsewhere")
    one = promote_model(models, "m1")
    assert _object(tmp_path / "large", "m1").exists()
    promote_model(models, "m2")
    for directory in (tmp_path / "large", models / ".dvc/cache"):
        _object(directory, "m1").unlink()
    with pytest.raises(PromotionError, match=rf"1 objects of {one.name} are not in the DVC remote 'large'"):
        rollback(models, CHANNEL)


def test_benchmarks_that_are_nowhere_are_named(models: Path) -> None:
    """regression: DVC's DataIndexDirError ended in a traceback."""
    out = {"path": "data/benchmarks", "hash": "md5", "md5": f"{0:032x}.dir"}
    run = kept_run(models, "m1", {"benchmarks": {"cmd": "x", "outs": [out]}})
    with pytest.raises(PromotionError, match=r"1 objects of run .* are not in DVC's cache"):
        promote(models, run, CHANNEL, instead_of=None)


@pytest.mark.parametrize("remote", [False, True])
def test_what_was_never_made_here_is_not_asked_for(models: Path, tmp_path: Path, remote: bool) -> None:
    """regression: in a fresh clone no run could be promoted, since other stages' directories were not in the cache."""
    if remote:
        add_remote(models, tmp_path / "store")
    graph = yaml.safe_load((models / "dvc.yaml").read_text(encoding="utf-8"))
    graph["stages"]["pages"] = {"cmd": "x", "outs": ["pages"]}
    (models / "dvc.yaml").write_text(yaml.safe_dump(graph), encoding="utf-8")
    commit_all(models, "Pages")
    out = {"path": "pages", "hash": "md5", "md5": f"{0:032x}.dir"}
    run = kept_run(models, "m1", {"pages": {"cmd": "x", "outs": [out]}})
    assert promote(models, run, CHANNEL, instead_of=None).name == "v0.0.1"
    assert _object(tmp_path / "store", "m1").exists() == remote


def test_a_damaged_object_is_not_promoted(models: Path) -> None:
    run = kept_run(models, "m1")
    damage(models / ".dvc/cache", hashlib.md5(b"m1").hexdigest())
    with pytest.raises(PromotionError, match=r"1 objects of run .* are not in DVC's cache"):
        promote(models, run, CHANNEL, instead_of=None)
    assert promoted(models, CHANNEL) is None


@pytest.mark.fault(35)
def test_gc_keeps_the_data_of_kept_runs(models: Path) -> None:
    """`dvc gc` removed them, since their refs were neither branches nor tags."""
    run = kept_run(models, "m1")
    stale = put(models / ".dvc/cache", b"of nobody")
    collect = ["gc", "--all-branches", "--all-tags", "--force"]
    dvc_(*collect, cwd=models)
    assert not place(models / ".dvc/cache", stale).exists()
    assert promote(models, run, CHANNEL, instead_of=None).name == "v0.0.1"


@pytest.mark.parametrize("content", ["", "0123\n", f"{'1' * 40}\n"])
@pytest.mark.fault(34)
def test_a_damaged_registry(models: Path, content: str) -> None:
    """An emptied tag made nothing promoted, and the next retraining promoted without comparing."""
    one = promote_model(models, "m1")
    run, file = kept_run(models, "m2"), models / ".git/refs/tags/student#production#1"
    whole = file.read_text(encoding="utf-8")
    file.write_text(content, encoding="utf-8")
    for act in (
        lambda: promoted(models, CHANNEL),
        lambda: promote(models, run, CHANNEL, instead_of=None),
        lambda: rollback(models, CHANNEL, "v0.0.1"),
    ):
        with pytest.raises(PromotionError, match=r"^refs/tags/student#production#1 cannot be read"):
            act()
    assert "refs/tags/student#production#1 cannot be read" in cli(models, "show").stderr
    file.write_text(whole, encoding="utf-8")
    assert promoted(models, CHANNEL) == one


def _object(cache: Path, text: str) -> Path:
    return place(cache, hashlib.md5(text.encode()).hexdigest())
