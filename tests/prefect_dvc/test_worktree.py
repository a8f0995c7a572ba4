"""A run's own directory, and the results that come back from it."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo, lock_repo

from prefect_dvc.cli import main
from prefect_dvc.system.process import HeldError
from prefect_dvc.workspace.apply import apply_run, keep
from prefect_dvc.workspace.directory import REFS, RUNS, prune, retire, worktree
from prefect_dvc.workspace.git import WorkspaceError, git
from prefect_dvc.workspace.snapshot import snapshot
from tests.waiting import FOREVER, LIMIT

from .conftest import PAIR, commit_all, make_repository, set_param
from .forked import dvc_, pipeline

pytestmark = pytest.mark.usefixtures("imported")


def test_snapshot_of_a_clean_workspace_is_its_head(chain: Path) -> None:
    assert snapshot(chain) == git(chain, "rev-parse", "HEAD")


def test_snapshot_takes_changed_new_and_removed_files(chain: Path) -> None:
    """Neither the branch, the index nor the files of the workspace change."""
    set_param(chain, "a", value=5)
    (chain / "new.txt").write_text("new\n", encoding="utf-8")
    (chain / "a.txt").write_text("ignored\n", encoding="utf-8")
    (chain / "stages/__init__.py").unlink()
    before = git(chain, "status", "--porcelain"), git(chain, "rev-parse", "HEAD")
    taken = snapshot(chain)
    assert git(chain, "diff", "--name-status", "HEAD", taken).splitlines() == [
        "A\tnew.txt",
        "M\tparams.yaml",
        "D\tstages/__init__.py",
    ]
    assert (git(chain, "status", "--porcelain"), git(chain, "rev-parse", "HEAD")) == before


def test_a_link_of_a_commit(chain: Path) -> None:
    """By an absolute one into the repository, a run of a commit read uncommitted data."""
    (chain / "raw").write_text("committed\n", encoding="utf-8")
    (chain / "link").symlink_to(chain / "raw")
    commit_all(chain)
    (chain / "raw").write_text("uncommitted\n", encoding="utf-8")
    with worktree(chain, "one", "HEAD") as directory:
        assert (directory / "link").read_text(encoding="utf-8") == "committed\n"


def test_a_file_that_cannot_be_read(chain: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """git refused the whole commit; root, as which tests run, could read it."""
    (chain / "pgdata").write_text("of a container\n", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "pgdata")
    assert snapshot(chain) == git(chain, "rev-parse", "HEAD")
    assert "Left out, since this user cannot read it: pgdata." in capfd.readouterr().out


@pytest.mark.fault(4)
def test_a_half_written_lock_file_is_not_taken(chain: Path) -> None:
    """DVC writes dvc.lock in place, and holds its own lock during that."""
    file, whole = chain / "dvc.lock", "schema: '2.0'\nstages: {}\n"
    with ThreadPoolExecutor() as pool, Repo(str(chain)) as repo:
        with lock_repo(repo):
            file.write_text(whole[:20], encoding="utf-8")
            taken = pool.submit(snapshot, chain)
            assert not wait([taken], timeout=1).done
            file.write_text(whole, encoding="utf-8")
        assert git(chain, "show", f"{taken.result(timeout=LIMIT)}:dvc.lock") == whole.strip()


def test_files_beyond_git_are_linked(chain: Path) -> None:
    """The user's files are there; the run's new checkpoints return to the workspace, complete files only."""
    with (chain / ".gitignore").open("a", encoding="utf-8") as file:
        file.write("/data/\n")
    (chain / "data/external/news").mkdir(parents=True)
    (chain / "data/external/news/a.txt").write_text("news\n", encoding="utf-8")
    with worktree(chain, "one") as directory:
        linked = directory / "data/external/news/a.txt"
        assert linked.samefile(chain / "data/external/news/a.txt")
        (directory / "data/checkpoints/shard").write_text("1\n", encoding="utf-8")
        (directory / "data/checkpoints/.shard.partial").write_text("half\n", encoding="utf-8")
    assert [file.name for file in (chain / "data/checkpoints").iterdir() if file.is_file()] == ["shard"]


@pytest.mark.fault(2)
def test_a_later_run_takes_the_place_of_an_older_checkpoint(chain: Path) -> None:
    """The second time."""
    place = Path("models/checkpoints/state")
    for epochs in ("3", "12"):
        with worktree(chain, f"after {epochs}".replace(" ", "-")) as directory:
            if epochs == "12":
                assert (directory / place).read_text(encoding="utf-8") == "3"
            (directory / place).parent.mkdir(parents=True, exist_ok=True)
            (directory / place).unlink(missing_ok=True)
            (directory / place).write_text(epochs, encoding="utf-8")
        assert (chain / place).read_text(encoding="utf-8") == epochs


def test_the_state_of_the_crawl_is_the_workspaces(chain: Path) -> None:
    """SQLite changes it in place; a run that is killed has returned nothing, and has lost nothing."""
    with worktree(chain, "crawling") as directory:
        (directory / "data/checkpoints/crawl/state.sqlite").write_text("1", encoding="utf-8")
        assert (chain / "data/checkpoints/crawl/state.sqlite").read_text(encoding="utf-8") == "1"
    git(chain, "worktree", "remove", "--force", str(directory))
    assert (chain / "data/checkpoints/crawl/state.sqlite").is_file()


def test_the_cache_is_shared_and_remotes_are_kept(chain: Path) -> None:
    """A remote by a relative path means the same place in the worktree."""
    (chain / ".dvc/config.local").write_text(
        "[core]\n    remote = near\n['remote \"near\"']\n    url = ../../store\n", encoding="utf-8"
    )
    with worktree(chain, "one") as directory:
        assert dvc_("cache", "dir", cwd=directory).strip() == str(chain / ".dvc/cache")
        name, url = dvc_("remote", "list", cwd=directory).split()[:2]
    assert (name, (directory / ".dvc" / url).resolve()) == ("near", chain.parent / "store")


@pytest.mark.fault(5)
def test_prune(chain: Path) -> None:
    """An old run's directory is removed, even of a killed one; those of running and recent ones stay."""
    revision = snapshot(chain)
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom prefect_dvc.workspace.directory import worktree\n"
        "with worktree(Path.cwd(), 'killed', sys.argv[1]):\n    print('ready', flush=True)\n"
        f"    time.sleep({FOREVER})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, revision], cwd=chain, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as output:
        output.readline()
        assert prune(chain, days=0) == []
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with worktree(chain, "ended", revision):
        pass
    assert prune(chain, days=1) == []
    assert (chain / RUNS / "killed").is_dir()
    assert prune(chain, days=0) == ["ended", "killed"]
    assert list((chain / RUNS).iterdir()) == []
    assert len(git(chain, "worktree", "list").splitlines()) == 1


def test_a_directory_without_git(chain: Path) -> None:
    """regression: it blocked all later runs. Nor is the workspace, which lies around it, kept in its name."""
    with worktree(chain, "torn") as directory:
        (directory / ".git").unlink()
        with pytest.raises(WorkspaceError, match=r"not a git repository"):
            keep(chain, directory, "torn", {})
    assert prune(chain, days=0) == ["torn"]
    assert list((chain / RUNS).iterdir()) == []
    assert len(git(chain, "worktree", "list").splitlines()) == 1


@pytest.mark.fault(43)
def test_paths_of_all_kinds(chain: Path) -> None:
    """Git quotes such paths, and reports only one of a renamed file."""
    names = ["Bücher/größe.txt", 'a "quoted" name.txt', ":(top)*.txt", "tab\there.txt"]
    old = chain / "renamed.txt"
    old.write_text("line\n" * 20, encoding="utf-8")
    git(chain, "add", "renamed.txt")
    git(chain, "commit", "--quiet", "--message", "A file")
    with worktree(chain, "one") as directory:
        (directory / "Bücher").mkdir()
        for name in names:
            (directory / name).write_text(name, encoding="utf-8")
        (directory / "renamed.txt").rename(directory / "new.txt")
        keep(chain, directory, "one", {})
    apply_run(chain, "one")
    assert [(chain / name).read_text(encoding="utf-8") for name in names] == names
    assert (chain / "new.txt").exists()
    assert not old.exists()


@pytest.mark.fault(43)
def test_a_workspace_of_any_name(tmp_path: Path) -> None:
    """DVC itself cannot write the path of such a cache or remote into its configuration."""
    root = make_repository(tmp_path / "Größe 港", PAIR)
    local = f"['remote \"far\"']\n    url = {tmp_path / 'Übersee'}\n[core]\n    remote = far\n"
    (root / ".dvc/config.local").write_text(local, encoding="utf-8")
    done = pipeline(root, "--apply")
    assert "Ran: a, b" in done.stdout, done.stderr
    dvc_("push", cwd=root)
    shutil.rmtree(root / ".dvc/cache")
    for name in PAIR:
        (root / f"{name}.txt").unlink()
    assert "Pulled: a, b" in pipeline(root).stdout


@pytest.mark.fault(43)
def test_hooks_do_not_run(chain: Path, tmp_path: Path) -> None:
    """A failing hook failed each run; `dvc install` makes three that work in the run's directory."""
    dvc_("install", cwd=chain)
    for name in ("post-checkout", "pre-push", "reference-transaction"):
        hook = chain / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    subprocess.run(["git", "init", "--quiet", "--bare", "bare.git"], cwd=tmp_path, check=True)
    with worktree(chain, "one") as directory:
        set_param(directory, "a", value=9)
        keep(chain, directory, "one", {})
    apply_run(chain, "one")
    git(chain, "push", "--quiet", str(tmp_path / "bare.git"), "main")
    assert not (tmp_path / "hooked").exists()


@pytest.mark.fault(43)
def test_inherited_variables_of_git(chain: Path, tmp_path: Path) -> None:
    """A run that a hook starts, or a tool around git, worked with that one's index and repository."""
    other = {"GIT_DIR": str(tmp_path), "GIT_WORK_TREE": str(tmp_path), "GIT_INDEX_FILE": str(tmp_path / "index")}
    done = pipeline(chain, "--apply", **other)
    assert done.returncode == 0, done.stderr
    assert (chain / "d.txt").exists()
    assert not (tmp_path / "index").exists()


@pytest.mark.fault(52)
def test_a_submodule(chain: Path, tmp_path: Path) -> None:
    """DVC takes the wrong directory for the top of a submodule's worktree; the run says so at once."""
    whole = tmp_path / "whole"
    git(tmp_path, "init", "--quiet", "whole")
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(chain), "part")
    part = whole / "part"
    with (
        pytest.raises(WorkspaceError, match=rf"{part} is a submodule of {whole}, .*: git clone {chain}"),
        worktree(part, "one"),
    ):
        pass
    assert git(part, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("words", ["run", "run with a server", "retrain", "ui", "serve", "rollback"])
@pytest.mark.fault(42)
def test_a_read_only_checkout(words: str, pair: Path, tmp_path: Path) -> None:
    """One line that names the place, from every command; it was a traceback of DVC's lock."""
    mount = f"mount --bind '{pair}' '{pair}' && mount -o remount,ro,bind '{pair}'"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount")
    name, _, server = words.partition(" ")
    settings = {"PREFECT_API_URL": "http://127.0.0.1:1/api", "PREFECT_HOME": str(tmp_path)} if server else {}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && cd '{pair}' && exec {sys.executable} -m prefect_dvc.cli {name}"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(pair) in done.stderr and "cannot be written (Read-only file system)" in done.stderr
    if name == "run":
        assert done.stderr.endswith("workspace. Start it in a clone that you may write to.\n")


@pytest.mark.fault(52)
def test_closed_streams(chain: Path) -> None:
    """A run that starts without any of the three standard streams, as some services are."""
    command = f"exec {sys.executable} -m prefect_dvc.cli run --apply <&- >&- 2>&-"
    subprocess.run(["sh", "-c", command], cwd=chain, check=True, timeout=LIMIT)
    assert (chain / "d.txt").read_text(encoding="utf-8").splitlines()[-1] == "d 1"


@pytest.mark.fault(4)
def test_one_name_for_one_run(chain: Path) -> None:
    """A second process under the same name is refused."""
    (chain / RUNS).mkdir(parents=True)
    with (chain / RUNS / "one.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(HeldError), worktree(chain, "one"):
            pass


def test_git_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"git rev-parse failed in .*not a git repository"):
        snapshot(tmp_path)


def test_a_run_that_is_not_there(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])  # the command sets it
    with pytest.raises(SystemExit, match=r"prefect-dvc apply: git rev-parse failed"):
        main(["apply", "none"])


def test_old_runs_are_retired(chain: Path) -> None:
    """By count and age: the newest stay however old, the young ones however many."""
    young = f"{datetime.now():%Y%m%d-%H%M%S}-0000"
    names = ["20200101-000000-0000", "20210101-000000-0000", "20220101-000000-0000", young]
    for name in names:
        git(chain, "update-ref", f"{REFS}/{name}", "HEAD")
    assert retire(chain, days=90, number=4) == []
    assert retire(chain, days=90, number=2) == names[:2]
    assert retire(chain, days=90, number=0) == names[2:3]
    assert git(chain, "for-each-ref", "--format=%(refname)", REFS) == f"{REFS}/{young}"
