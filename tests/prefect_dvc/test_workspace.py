"""Somebody's repository: nothing of theirs is lost, and a run reads what `dvc repro` would read."""

import hashlib
import json
import os
import re
import shutil
import site
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefect_dvc.artifacts import plots
from prefect_dvc.settings.graph_files import parameter_files, targets
from prefect_dvc.settings.parameters import known_keys
from prefect_dvc.system.editable import editable_packages

from .conftest import git, write_yaml
from .conftest import pipeline as pipeline_of_a_new_process
from .forked import dvc_, pipeline, prefect_dvc
from .models import make_models

pytestmark = pytest.mark.usefixtures("imported")

UNCACHED = {"cache": False}
Stages = dict[str, dict[str, Any]]
ROWS = "".join(f"{number}\n" for number in range(1000))


def new(root: Path, stages: Stages, **files: str) -> Path:
    """A repository with these stages and files (`__` stands for a slash), not yet committed."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch", "main")
    identify(root)
    dvc_("init", "--quiet", cwd=root)
    write_yaml(root / "dvc.yaml", {"stages": stages})
    for name, text in files.items():
        write(root / name.replace("__", "/"), text)
    return root


def identify(root: Path) -> None:
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@localhost")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "State")


def copies(root: Path, target: str) -> str:
    """A command that puts all files below `root` into one, sorted by name."""
    return f"find -L {root} -type f ! -name .gitkeep | LC_ALL=C sort | xargs cat > {target}"


def same_as_repro(root: Path, *options: str, target: str = "") -> subprocess.CompletedProcess[str]:
    """Run the flows with --apply in `root`, and `dvc repro` in a copy of it; all files are equal."""
    twin = root.with_name(f"{root.name}-repro")
    shutil.rmtree(twin, ignore_errors=True)
    shutil.copytree(root, twin, symlinks=True)
    dvc_("repro", target or "--all-pipelines", cwd=twin)
    done = pipeline(root, "--apply", *options, *(["--target", target] if target else []))
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything(root) == everything(twin)
    return done


def everything(root: Path) -> dict[str, bytes]:
    files = [Path(place) / name for place, _, names in os.walk(root) for name in names]
    own = [file for file in files if not {".git", ".dvc"} & {*file.parts}]
    return {str(file.relative_to(root)): file.read_bytes() for file in own}


@pytest.mark.fault(46, 47)
def test_edited_data_is_read(tmp_path: Path) -> None:
    """It was overwritten by --apply, also of a stage that does not read it, and a run read the three rows of before."""
    stages = {
        "a": {"cmd": "wc -l < notes.csv > a.txt", "deps": ["notes.csv"], "outs": ["a.txt"]},
        "z": {"cmd": "echo 1 > z.txt", "outs": ["z.txt"]},
    }
    root = new(tmp_path / "workspace", stages, **{"notes.csv": "1\n2\n3\n"})
    dvc_("add", "--quiet", "notes.csv", cwd=root)
    commit(root)
    write(root / "notes.csv", ROWS)
    assert pipeline(root, "--target", "z", "--apply").returncode == 0
    assert (root / "z.txt").exists() and (root / "notes.csv").read_text(encoding="utf-8") == ROWS
    done = same_as_repro(root)
    assert "notes.csv is not as notes.csv.dvc says: the run reads that of the workspace." in done.stdout
    assert (root / "a.txt").read_text(encoding="utf-8").strip() == "1000"
    assert (root / "notes.csv").read_text(encoding="utf-8") == ROWS


@pytest.mark.fault(46)
@pytest.mark.parametrize("source", ["data", "made"])
def test_edited_data_that_a_stage_reads_by_a_link(source: str, tmp_path: Path) -> None:
    """DVC does not follow the link, so what makes the data is no part of the run, which read the data before."""
    stages = {
        "a": {"cmd": "cat link/* > o", "deps": ["link"], "outs": ["o"]},
        "m": {"cmd": "mkdir -p made && echo 1 > made/f", "outs": ["made"]},
    }
    root = new(tmp_path / "workspace", stages, data__f="1\n", **{".gitignore": "/link\n"})
    dvc_("add", "--quiet", "data", cwd=root)
    dvc_("repro", "--quiet", "m", cwd=root)
    commit(root)
    (root / "link").symlink_to(source)
    same_as_repro(root, target="a")
    (root / source / "f").unlink()
    write(root / source / "f", "2\n")
    same_as_repro(root, target="a")
    assert (root / "o").read_text(encoding="utf-8") == "2\n"


def test_data_that_is_in_its_place_and_no_longer_in_the_cache(tmp_path: Path) -> None:
    """`apply` refused a run, since DVC's cache had lost an object, though the workspace had the file itself."""
    stages = {"a": {"cmd": "cp notes.csv a.txt", "deps": ["notes.csv"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, **{"notes.csv": "1\n"})
    dvc_("add", "--quiet", "notes.csv", cwd=root)
    commit(root)
    write(root / "notes.csv", ROWS)
    assert pipeline(root).returncode == 0
    (run,) = (root / ".dvc/tmp/runs").glob("2*.lock")
    name = hashlib.md5(ROWS.encode()).hexdigest()
    (root / ".dvc/cache/files/md5" / name[:2] / name[2:]).unlink()
    refused = prefect_dvc(root, "apply", run.stem)  # a.txt has the same content, and is not there
    assert "are not to be had any more" in refused.err and "notes.csv" not in refused.err
    write(root / "a.txt", ROWS)
    assert prefect_dvc(root, "apply", run.stem).status == 0
    assert name in (root / "notes.csv.dvc").read_text(encoding="utf-8")


def test_programs_that_the_cache_has_lost(tmp_path: Path) -> None:
    """DVC's checkout ends at the first program that is missing, before it has marked the others as executable."""
    stages = {"a": {"cmd": "./z.sh > a.txt", "deps": ["z.sh"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, **{"a.sh": "#!/bin/sh\necho lost\n", "z.sh": "#!/bin/sh\necho run\n"})
    for name in ("a.sh", "z.sh"):
        (root / name).chmod(0o755)
        dvc_("add", "--quiet", name, cwd=root)
    commit(root)
    (lost,) = (file for file in (root / ".dvc/cache").rglob("*") if file.is_file() and b"lost" in file.read_bytes())
    lost.unlink()
    same_as_repro(root)
    assert (root / "a.txt").read_text(encoding="utf-8") == "run\n"
    assert os.access(root / "a.sh", os.X_OK)


def test_what_dvc_does_not_see_in_the_directory_that_a_stage_makes(tmp_path: Path) -> None:
    """A program stays one, links to directories and empty directories stay, also when the stage has nothing to do."""
    make = "mkdir -p o/bin o/empty && cp tool o/bin/tool && chmod +x o/bin/tool && ln -s bin o/lib"
    stages = {
        "a": {"cmd": make, "deps": ["in.txt"], "outs": ["o"]},
        "b": {"cmd": "o/lib/tool > l.txt && ls o >> l.txt", "deps": ["o", "in2.txt"], "outs": ["l.txt"]},
    }
    root = new(tmp_path / "workspace", stages, tool="#!/bin/sh\necho tool\n", **{"in.txt": "1\n", "in2.txt": "1\n"})
    commit(root)
    same_as_repro(root)
    assert os.access(root / "o/bin/tool", os.X_OK)
    assert (root / "o/lib").readlink() == Path("bin")
    assert (root / "o/empty").is_dir()
    write(root / "in2.txt", "2\n")
    shutil.rmtree(root.with_name("workspace-repro"))
    assert "Cached: a; Ran: b" in same_as_repro(root).stdout
    assert (root / "l.txt").read_text(encoding="utf-8").split() == ["tool", "bin", "empty", "lib"]


def old_object(root: Path, content: bytes) -> str:
    """Put a file into the part of DVC's cache that versions before 3 wrote; return its hash."""
    name = hashlib.md5(content).hexdigest()
    place = root / ".dvc/cache" / name[:2] / name[2:]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return name


def test_data_of_dvc_2(tmp_path: Path) -> None:
    """It has another kind of hash, and another place in the cache; a file, a directory, and an output that stays."""
    stages = {
        "a": {"cmd": "cat data.csv d/x > o.txt", "deps": ["data.csv", "d"], "outs": ["o.txt"]},
        "old": {"cmd": "echo old > old.txt", "outs": ["old.txt"]},
    }
    files = {"data.csv": "1\n2\n", "d__x": "3\n", "old.txt": "old\n", ".gitignore": "/data.csv\n/d\n/old.txt\n"}
    root = new(tmp_path / "workspace", stages, **files)
    one, inner, made = (old_object(root, content) for content in (b"1\n2\n", b"3\n", b"old\n"))
    listed = json.dumps([{"md5": inner, "relpath": "x"}]).encode()
    total = f"{old_object(root, listed)}.dir"
    (root / f".dvc/cache/{total[:2]}/{total[2:-4]}").rename(root / f".dvc/cache/{total[:2]}/{total[2:]}")
    write(root / "data.csv.dvc", f"outs:\n- md5: {one}\n  size: 4\n  path: data.csv\n")
    write(root / "d.dvc", f"outs:\n- md5: {total}\n  size: 2\n  nfiles: 1\n  path: d\n")
    outs = [{"path": "old.txt", "md5": made, "size": 4}]
    write_yaml(root / "dvc.lock", {"schema": "2.0", "stages": {"old": {"cmd": "echo old > old.txt", "outs": outs}}})
    commit(root)
    done = same_as_repro(root)
    assert "Ran: a" in done.stdout and "old: Cached" in done.stdout
    assert (root / "o.txt").read_text(encoding="utf-8") == "1\n2\n3\n"
    (root / "data.csv").unlink()
    assert pipeline(root, "--apply").returncode == 0
    assert (root / "data.csv").read_bytes() == b"1\n2\n"


def test_an_import_that_is_not_downloaded_yet(tmp_path: Path) -> None:
    source = new(tmp_path / "source", {}, d="1\n")
    (source / "dvc.yaml").unlink()
    dvc_("add", "--quiet", "d", cwd=source)
    commit(source)
    stages = {"a": {"cmd": "cp e o.txt", "deps": ["e"], "outs": ["o.txt"]}}
    root = new(tmp_path / "workspace", stages)
    dvc_("import", "--quiet", "../source", "d", "--out", "e", "--no-download", cwd=root)
    commit(root)
    same_as_repro(root)
    assert (root / "o.txt").read_text(encoding="utf-8") == "1\n"


def test_a_graph_without_stages(tmp_path: Path) -> None:
    """As DVCLive leaves one, for metrics alone: `dvc repro` has nothing to do, and neither has a run."""
    root = new(tmp_path / "workspace", {}, **{"m.json": "1\n"})
    write_yaml(root / "dvc.yaml", {"metrics": ["m.json"]})
    commit(root)
    assert "There is nothing to run: no dvc.yaml has a stage." in same_as_repro(root).stdout


@pytest.mark.fault(46)
def test_files_of_the_user_in_an_output(tmp_path: Path) -> None:
    """A file beside an output that has not changed stays; one that would be replaced or removed is named."""
    stages = {"o": {"cmd": "mkdir -p o && cat p > o/made.txt", "deps": ["p"], "outs": ["o"]}}
    root = new(tmp_path / "workspace", stages, p="1\n")
    commit(root)
    assert pipeline(root, "--apply").returncode == 0
    write(root / "o/notes.txt", "mine\n")
    assert pipeline(root, "--apply").returncode == 0
    assert (root / "o/notes.txt").read_text(encoding="utf-8") == "mine\n"
    write(root / "p", "2\n")
    done = pipeline(root, "--apply")
    assert done.returncode == 1
    assert "neither DVC's cache nor git has a copy: o/notes.txt. Move them elsewhere" in done.stderr
    assert (root / "o/made.txt").read_text(encoding="utf-8") == "1\n"
    (root / "o/notes.txt").rename(root / "notes.txt")
    assert prefect_dvc(root, "apply", done.stderr.split()[-1]).status == 0
    assert (root / "o/made.txt").read_text(encoding="utf-8") == "2\n"
    write(root / "o/made.txt", "by hand\n")
    done = pipeline(root, "--apply")
    assert "has a copy: o/made.txt." in done.stderr
    assert (root / "o/made.txt").read_text(encoding="utf-8") == "by hand\n"


@pytest.mark.fault(47)
def test_a_directory_of_which_git_ignores_the_content(tmp_path: Path) -> None:
    """The layout of cookiecutter data science; the run read an empty directory, and said that it ran."""
    stages = {"count": {"cmd": copies(Path("data/raw"), "n.txt"), "deps": ["data/raw"], "outs": ["n.txt"]}}
    root = new(tmp_path / "workspace", stages, data__raw__rows=ROWS, data__raw__deep__more="x\n", data__raw__kept="y\n")
    write(root / "data/raw/.gitkeep", "")
    write(root / ".gitignore", "data/raw/*\n!data/raw/.gitkeep\n!data/raw/kept\n")
    commit(root)
    done = same_as_repro(root)
    assert "Copied from the workspace, since git ignores it: " in done.stdout


@pytest.mark.parametrize("place", ["in.csv", "deep/er/in.csv"])
@pytest.mark.fault(47)
def test_an_input_that_git_ignores(place: str, tmp_path: Path) -> None:
    """It was a FileNotFoundError with a path below .dvc."""
    stages = {"a": {"cmd": f"cat {place} > a.txt", "deps": [place], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages)
    write(root / place, ROWS)
    write(root / ".gitignore", f"/{place.split('/')[0]}\n")
    commit(root)
    same_as_repro(root)
    write(root / place, "changed\n")
    same_as_repro(root)
    assert (root / "a.txt").read_text(encoding="utf-8") == "changed\n"


@pytest.mark.parametrize("commits", [True, False], ids=["its commit", "with edits"])
@pytest.mark.fault(47)
def test_a_submodule_as_input(commits: bool, tmp_path: Path) -> None:
    """It was an empty directory."""
    library = tmp_path / "library"
    write(library / "code.py", "1\n")
    git(library, "init", "--quiet")
    identify(library)
    commit(library)
    stages = {"b": {"cmd": "cat third/lib/*.py > b.txt", "deps": ["third/lib"], "outs": ["b.txt"]}}
    root = new(tmp_path / "workspace", stages)
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "third/lib")
    commit(root)
    if not commits:
        write(root / "third/lib/code.py", "edited\n")
    done = pipeline(root, "--apply")
    assert done.returncode == 0, done.stderr
    assert (root / "b.txt").read_text(encoding="utf-8") == ("1\n" if commits else "edited\n")
    assert git(root, "status", "--porcelain", "third") == ("" if commits else "M third/lib")
    assert "Data and pipelines are up to date." in dvc_("repro", cwd=root)


@pytest.mark.parametrize("place", ["lib", "lib/out"])
def test_an_output_in_a_submodule(place: str, tmp_path: Path) -> None:
    """regression: it was left in the directory of the run, and the run said that it had run."""
    library = tmp_path / "library"
    write(library / "code.py", "1\n")
    git(library, "init", "--quiet")
    identify(library)
    commit(library)
    made = {"cmd": f"mkdir -p {place}/sub; echo 1 > {place}/sub/a.txt", "outs": [{place: UNCACHED | {"persist": True}}]}
    root = new(tmp_path / "workspace", {"a": made})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    commit(root)
    same_as_repro(root)
    assert (root / place / "sub/a.txt").read_text(encoding="utf-8") == "1\n"
    assert (root / "lib/code.py").exists()


@pytest.mark.parametrize("remote", [None, "s3://bucket/x"], ids=["not configured", "without its package"])
def test_an_output_with_a_remote_of_its_own(remote: str | None, tmp_path: Path) -> None:
    """regression: the run was refused, although it needs nothing from there."""
    made = {"cmd": "echo 1 > a.txt", "outs": [{"a.txt": {"remote": "elsewhere"}}]}
    root = new(tmp_path / "workspace", {"a": made})
    if remote is not None:
        dvc_("remote", "add", "elsewhere", remote, cwd=root)
    commit(root)
    for _ in range(2):
        done = pipeline_of_a_new_process(root, "--apply", PYTHONPATH=str(without_s3(tmp_path)))
        assert done.returncode == 0, done.stderr
    assert (root / "a.txt").read_text(encoding="utf-8") == "1\n"
    assert "a: Cached" in done.stdout


@pytest.mark.fault(47)
def test_links(tmp_path: Path) -> None:
    """One that leads out of the repository led nowhere, and one to what git ignores, to nothing."""
    write(tmp_path / "outside/in.csv", "out\n")
    stages = {"a": {"cmd": copies(Path("d"), "a.txt"), "deps": ["d"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, hidden__in="in\n", **{".gitignore": "/hidden\n"})
    (root / "d").mkdir()
    (root / "d/out").symlink_to("../../outside/in.csv")
    (root / "d/within").symlink_to("../hidden/in")
    commit(root)
    done = pipeline(root, "--apply")
    assert done.returncode == 0, done.stderr
    assert (root / "a.txt").read_text(encoding="utf-8") == "out\nin\n"
    assert str((root / "d/out").readlink()) == "../../outside/in.csv"
    assert "Data and pipelines are up to date." in dvc_("repro", cwd=root)


@pytest.mark.parametrize(("command", "deps"), [("cat ../in.csv > a.txt", ["../in.csv"]), ("cat ../in.csv > a.txt", [])])
@pytest.mark.fault(47)
def test_a_place_outside(command: str, deps: list[str], tmp_path: Path) -> None:
    """A run lies elsewhere, so a relative path out of the repository cannot mean the same there."""
    write(tmp_path / "in.csv", "out\n")
    root = new(tmp_path / "workspace", {"a": {"cmd": command, "deps": deps, "outs": ["a.txt"]}})
    commit(root)
    done = pipeline(root)
    assert done.returncode == 1
    assert "Stage 'a' has ../in.csv, which lies outside of the repository." in done.stderr
    assert pipeline(root, "--here").returncode == 0
    assert (root / "a.txt").read_text(encoding="utf-8") == "out\n"


def test_an_absolute_path_into_the_repository(tmp_path: Path) -> None:
    """From the directory of a run it would lead to the workspace, and dvc.lock would have another path."""
    place = tmp_path / "workspace/in.txt"
    stages = {"a": {"cmd": f"cp {place} o.txt", "deps": [str(place)], "outs": ["o.txt"]}}
    root = new(tmp_path / "workspace", stages, **{"in.txt": "1\n"})
    commit(root)
    done = pipeline(root)
    assert done.returncode == 1
    assert f"has {place}, an absolute path into the repository" in done.stderr
    assert "Write in.txt in dvc.yaml" in done.stderr


def test_upwards_within_the_repository(tmp_path: Path) -> None:
    """A command may change its directory first."""
    stages = {"a": {"cmd": "cd sub && cat ../p > ../a.txt", "deps": ["p"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, p="1\n", sub__kept="")
    commit(root)
    same_as_repro(root)


@pytest.mark.fault(47)
def test_editable_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a commit imported the workspace's package, not the commit's."""
    root, packages = tmp_path / "workspace", tmp_path / "site"
    write(packages / "own.pth", f"{root / 'src'}\nimport nothing\n../workspace\n{tmp_path}\n")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path / "none"))
    monkeypatch.setenv("PYTHONPATH", "before")
    for each in ("src", "runs/one"):
        (root / each).mkdir(parents=True)
    run = root / "runs/one"
    assert editable_packages(root, run) == {"PYTHONPATH": os.pathsep.join([str(run / "src"), str(run), "before"])}
    assert editable_packages(root, root) == {}


@pytest.mark.parametrize("option", ["--apply", "--here"])
def test_autostage(option: str, tmp_path: Path) -> None:
    """With --here the entries of dvc.lock were put in order after it was staged."""
    stages = {"a": {"cmd": "sleep 1; cat p > a.txt", "deps": ["p"], "outs": ["a.txt"]}}
    stages["b"] = {"cmd": "echo 2 > b.txt", "outs": ["b.txt"]}  # done first
    root = new(tmp_path / "workspace", stages, p="1\n")
    dvc_("config", "core.autostage", "true", cwd=root)
    commit(root)
    assert pipeline(root, option).returncode == 0
    assert git(root, "status", "--porcelain").splitlines() == ["A  .gitignore", "A  dvc.lock"]


def test_parameter_files_that_git_ignores(tmp_path: Path) -> None:
    """DVC needs them to read the graph."""
    stages = {"a": {"cmd": "echo ${k} ${own} > a.txt", "params": ["k", {"conf/b.yaml": ["own"]}], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, conf__b="", **{".gitignore": "/params.yaml\n/conf\n"})
    write_yaml(root / "dvc.yaml", {"vars": ["conf/b.yaml"], "stages": stages})
    write(root / "params.yaml", "k: 1\n")
    write(root / "conf/b.yaml", "own: 2\n")
    commit(root)
    same_as_repro(root)


@pytest.mark.fault(47)
def test_outputs_without_cache_that_git_ignores(tmp_path: Path) -> None:
    """They did not come back, so dvc.lock said what the workspace did not have, and each run repeated all."""
    stages = {
        "a": {"cmd": "cat p > a.txt", "deps": ["p"], "outs": [{"a.txt": {"cache": False}}]},
        "d": {"cmd": "mkdir -p d/e && cat p > d/e/f", "deps": ["p"], "outs": [{"d": {"cache": False}}]},
        "b": {"cmd": "cat a.txt > b.txt", "deps": ["a.txt"], "metrics": [{"b.txt": {"cache": False}}]},
    }
    root = new(tmp_path / "workspace", stages, p="1\n", **{".gitignore": "/a.txt\n/d\n"})
    dvc_("config", "cache.type", "symlink", cwd=root)
    commit(root)
    same_as_repro(root)
    assert not (root / "b.txt").is_symlink()  # DVC's run-cache has the file, too
    commit(root)
    assert pipeline(root, "--apply").stdout.splitlines()[-1] == "Cached: a, d, b"
    write(root / "p", "2\n")
    same_as_repro(root)
    write(root / "a.txt", "by hand\n")
    write(root / "p", "3\n")
    done = pipeline(root, "--apply")
    assert done.returncode == 1
    assert "has a copy: a.txt." in done.stderr


@pytest.mark.fault(48)
def test_no_value_of_another_dvc_yaml_reaches_a_shell(tmp_path: Path) -> None:
    """Only the dvc.yaml of the root was looked at, and the shell ran the value."""
    mark = tmp_path / "mark"
    root = new(tmp_path / "workspace", {"z": {"cmd": "echo z > z.txt", "outs": ["z.txt"]}}, **{"params.yaml": "k: 1\n"})
    (root / "p").mkdir()
    write_yaml(
        root / "p/dvc.yaml", {"vars": ["../params.yaml"], "stages": {"a": {"cmd": "echo ${k} > a.txt", "wdir": ".."}}}
    )
    commit(root)
    done = pipeline(root, "--set", f"k='x; touch {mark} #'")
    assert done.returncode == 1
    assert "which dvc.yaml puts into a command" in done.stderr
    assert not mark.exists()
    assert pipeline(root, "--set", "k=2").returncode == 0


@pytest.mark.fault(46)
def test_what_was_staged_stays(tmp_path: Path) -> None:
    """Also a file that was added in spite of .gitignore is in the run."""
    stages = {"a": {"cmd": "cat forced.txt new.txt > a.txt", "deps": ["forced.txt", "new.txt"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, **{".gitignore": "/forced.txt\n"})
    commit(root)
    write(root / "forced.txt", "forced\n")
    write(root / "new.txt", "new\n")
    git(root, "add", "--force", "forced.txt")
    before = git(root, "status", "--porcelain")
    assert pipeline(root).returncode == 0
    assert git(root, "status", "--porcelain") == before


@pytest.mark.fault(47)
def test_imports_ask_no_network(tmp_path: Path) -> None:
    """Each run asked for updates, and ended in 123 lines if the source was away; `dvc repro` does not ask."""
    source = new(tmp_path / "source", {}, **{"d.txt": "1\n"})
    dvc_("add", "--quiet", "d.txt", cwd=source)
    commit(source)
    root = new(tmp_path / "workspace", {"a": {"cmd": "cp d.txt a.txt", "deps": ["d.txt"], "outs": ["a.txt"]}})
    dvc_("import", "--quiet", "../source", "d.txt", cwd=root)
    commit(root)
    source.rename(tmp_path / "gone")
    same_as_repro(root)
    assert yaml.safe_load((root / "d.txt.dvc").read_text(encoding="utf-8"))["deps"][0]["repo"]["url"] == "../source"


def test_a_repository_without_a_graph_in_its_root(tmp_path: Path) -> None:
    """The form, the plots and --set read every dvc.yaml; 19 of 64 public projects have none in the root."""
    root = new(tmp_path / "workspace", {})
    (root / "dvc.yaml").unlink()
    table = "printf 'step,loss\\n0,1\\n1,0\\n' > loss.csv"
    stage = {
        "cmd": [table, "echo ${k} > a.txt"],
        "params": ["k", {"../conf/t.toml": ["rate.low"]}, {"../conf/j.json": None}],
        "outs": ["a.txt", "loss.csv"],
    }
    graph = {"stages": {"a": stage}, "plots": [{"Loss": {"x": "step", "y": {"loss.csv": "loss"}}}]}
    write(root / "p/params.yaml", "k: 1\n")
    write(root / "conf/t.toml", "[rate]\nlow = 0.5\n")
    write(root / "conf/j.json", '{"n": 1}')
    write_yaml(root / "p/dvc.yaml", graph)
    commit(root)
    assert targets(root) == ["p/dvc.yaml:a"]
    assert parameter_files(root) == ["p/params.yaml", "conf/t.toml", "conf/j.json"]
    assert {"p/params.yaml:k", "conf/t.toml:rate.low", "conf/j.json:n"} <= {
        name for names in known_keys(root)["propertyNames"]["anyOf"] for name in names["enum"]
    }
    same_as_repro(root)
    changes = ["--set", "p/params.yaml:k=2", "--set", "conf/t.toml:rate.low=0.75", "--set", "conf/j.json:n=5"]
    done = pipeline(root, *changes, "--apply", "--target", "p/dvc.yaml:a")
    assert done.returncode == 0, done.stderr
    assert (root / "p/a.txt").read_text(encoding="utf-8") == "2\n"
    assert "low = 0.75" in (root / "conf/t.toml").read_text(encoding="utf-8")
    assert list(plots(root)) == ["Loss"]
    assert "did you mean 'k'?" in pipeline(root, "--set", "p/params.yaml:kk=2").stderr
    assert "params.yaml does not exist" in pipeline(root, "--set", "k=2").stderr


REFUSALS: dict[str, dict[str, Any]] = {
    "Unsupported value of type 'date'": {"cmd": "echo ${day} > a.txt", "outs": ["a.txt"]},
    "dataset not found: 'zz'": {"cmd": "echo 1 > a.txt", "deps": ["ds://zz"], "outs": ["a.txt"]},
    "s3 is supported, but requires": {"cmd": "echo 1 > a.txt", "deps": ["s3://bucket/x"], "outs": ["a.txt"]},
    "dependency 'gone.txt' does not exist": {"cmd": "echo 1 > a.txt", "deps": ["gone.txt"], "outs": ["a.txt"]},
    "both a dependency and an output": {"cmd": "cp a.txt a.txt", "deps": ["a.txt"], "outs": ["a.txt"]},
    "extra keys not allowed": {"cmd": "true", "out": ["a.txt"]},
    "Could not find 'nowhere'": {"cmd": "echo ${nowhere} > a.txt"},
    "outside|overlap": {"cmd": "true", "outs": ["o", "o/a.txt"]},
    "its wdir .* is not a directory": {"cmd": "echo 1 > a.txt", "wdir": "gone", "outs": ["a.txt"]},
    "'gone.yaml' does not exist": {"cmd": "true", "params": [{"gone.yaml": ["x"]}], "outs": ["a.txt"]},
    "Parameters 'no.such' are missing": {"cmd": "echo 1 > a.txt", "params": ["no.such"], "outs": ["a.txt"]},
}


@pytest.mark.parametrize("reason", REFUSALS)
@pytest.mark.fault(49)
def test_what_dvc_refuses_is_one_line(reason: str, tmp_path: Path) -> None:
    """Many were tracebacks of 60 to 120 lines."""
    values = "day: 2026-11-21\n" if "'date'" in reason else "k: 1\n"
    root = new(tmp_path / "workspace", {"a": REFUSALS[reason]}, **{"params.yaml": values})
    commit(root)
    if "s3" in reason:
        done = pipeline_of_a_new_process(root, "--apply", PYTHONPATH=str(without_s3(tmp_path)))
    else:
        done = pipeline(root, "--apply")
    assert done.returncode == 1, done.stdout
    assert re.search(reason, done.stderr), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    reported = [line for line in done.stderr.splitlines() if not line.startswith("Not up to date")]
    assert len(reported) == 1, reported
    assert git(root, "status", "--porcelain") == ""


def without_s3(directory: Path) -> Path:
    """A module that hides the plugin for S3."""
    write(directory / "hide/dvc_s3.py", "raise ImportError('hidden')\n")
    return directory / "hide"


@pytest.mark.fault(46)
def test_all_other_commands_leave_the_workspace_as_it_is(tmp_path: Path) -> None:
    """Edited, staged, ignored and new files, the index and the branch, after each command."""
    root = make_models(tmp_path / "workspace")
    write(root / "staged.txt", "staged\n")
    git(root, "add", "staged.txt")
    write(root / "new.txt", "new\n")
    write(root / "models/student", "by hand\n")
    write(root / "model.py", f"{(root / 'model.py').read_text(encoding='utf-8')}# edited\n")
    write(root / "data/checkpoints/state", "1\n")

    def state() -> tuple[dict[str, bytes], str, str]:
        return everything(root), git(root, "status", "--porcelain"), git(root, "rev-parse", "main")

    before = state()
    for words in (
        ["retrain", "--gpu", "local"],
        ["retrain", "--gpu", "local", "--set", "student.spearman=0.6"],
        ["show"],
        ["rollback"],
        ["run", "--set", "student.spearman=0.7"],
    ):
        done = prefect_dvc(root, *words)
        assert done.status == 0, done.out + done.err
        assert state() == before, words


def test_a_run_after_a_failed_dvc_repro(tmp_path: Path) -> None:
    """regression: DVC takes its lines out of .gitignore again, so the snapshot had the output, and DVC refused it."""
    stages: Stages = {
        "a": {"cmd": "echo 1 > a", "outs": ["a"], "always_changed": True},
        "b": {"cmd": "cat a p > b", "deps": ["a", "p"], "outs": ["b"]},
    }
    root = new(tmp_path / "workspace", stages)
    commit(root)
    with pytest.raises(subprocess.CalledProcessError):
        dvc_("repro", cwd=root)
    write(root / "p", "1\n")
    same_as_repro(root)


@pytest.mark.fault(46)
def test_a_file_in_the_place_of_an_output(tmp_path: Path) -> None:
    """Of a stage that is not in the run it stays; of one that is, it is named."""
    stages = {name: {"cmd": f"echo 1 > {name}", "outs": [name]} for name in "ab"}
    root = new(tmp_path / "workspace", stages)
    commit(root)
    write(root / "b", "mine\n")
    assert pipeline(root, "--target", "a", "--apply").returncode == 0
    done = pipeline(root, "--apply")
    assert done.returncode == 1
    assert "neither DVC's cache nor git has a copy: b." in done.stderr
    assert (root / "b").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.fault(47)
def test_repositories_inside_and_links_in_data(tmp_path: Path) -> None:
    """Git cannot add a repository without a commit, and DVC sees no link to a directory within its data."""
    command = "cat in/notes/x d/b/c > a.txt"
    stages = {"a": {"cmd": command, "deps": ["in/notes", "d"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, d__a="1\n", d__b__c="2\n")
    dvc_("add", "--quiet", "d", cwd=root)
    commit(root)
    write(root / "in/notes/x", "x\n")
    git(root / "in/notes", "init", "--quiet")
    (root / "d/b").rename(tmp_path / "far")
    (root / "d/b").symlink_to(tmp_path / "far")
    done = pipeline(root, "--apply")
    assert done.returncode == 0, done.stderr
    assert (root / "a.txt").read_text(encoding="utf-8") == "x\n2\n"
    assert "Data and pipelines are up to date." in dvc_("repro", cwd=root)


@pytest.mark.fault(47)
def test_files_that_git_converts_or_does_not_look_at(tmp_path: Path) -> None:
    """The run had other line ends, and the committed content of a file that is assumed to be unchanged."""
    read = ["in.csv", "own.csv", "linked.csv"]
    stages: dict[str, Any] = {"a": {"cmd": f"cat {' '.join(read)} > a.txt; echo ${{k}} >> a.txt", "deps": read}}
    stages["a"] |= {"params": ["k"], "outs": ["a.txt"]}
    root = new(tmp_path / "workspace", stages, **{"own.csv": "1\n", ".gitattributes": "*.csv text\n"})
    write(root / "params.yaml", "k: 1\n")
    (root / "in.csv").write_bytes(b"1\r\n2\r\n")
    (root / "linked.csv").symlink_to("../far.csv")
    commit(root)
    git(root, "update-index", "--assume-unchanged", "own.csv", "linked.csv")
    (root / "own.csv").write_bytes(b"2\r\n")
    (root / "linked.csv").unlink()
    write(root / "linked.csv", "3\n")
    same_as_repro(root)
    done = pipeline(root, "--set", "k=100", "--apply")
    assert done.returncode == 0, done.stderr
    assert (root / "a.txt").read_bytes() == b"1\r\n2\r\n2\r\n3\n100\n"
    assert (root / "own.csv").read_bytes() == b"2\r\n"


UPPER = {"filter.upper.clean": "tr a-z A-Z", "filter.upper.smudge": "tr A-Z a-z", "filter.upper.required": "true"}
FAILS = {"filter.fails.smudge": "false", "filter.fails.required": "true"}
CONVERSIONS: dict[str, tuple[str, dict[str, str]]] = {  # .gitattributes and settings of git
    "text=auto": ("* text=auto\n", {}),
    "eol=crlf": ("* text eol=crlf\n", {}),
    "ident": ("* ident\n", {}),
    "core.autocrlf": ("", {"core.autocrlf": "true", "core.safecrlf": "true"}),
    "a filter": ("*.txt filter=upper\n", UPPER),
    "a filter that fails": ("*.txt filter=fails\n", {"filter.fails.clean": "cat"} | FAILS),
    "an encoding": ("in.txt working-tree-encoding=UTF-16LE\n", {}),
}


@pytest.mark.parametrize("gone", [False, True], ids=["", "its directory is gone"])
@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_what_git_converts(conversion: str, gone: bool, tmp_path: Path) -> None:
    """A persisted output with CRLF in git came back with LF: no byte that a run reads or writes passes through git."""
    attributes, config = CONVERSIONS[conversion]
    appends = r"cat in.txt .gitattributes >> log.txt && printf '$Id: $ aB\r\nc\n' >> log.txt"
    stages: dict[str, dict[str, Any]] = {
        "log": {"cmd": appends, "deps": ["in.txt"], "outs": [{"log.txt": {"cache": False, "persist": True}}]},
        "copy": {"cmd": "mkdir d && cp log.txt in.txt d", "deps": ["log.txt", "in.txt"], "outs": [{"d": UNCACHED}]},
        "beside": {"cmd": "cp in.txt 'be\"side.txt'; cat d/log.txt > o", "deps": ["in.txt", "d"], "outs": ["o"]},
    }
    root = new(tmp_path / "workspace", stages, **{".gitattributes": attributes})
    encoding = "utf-16-le" if "encoding" in conversion else "utf-8"
    write(root / "in.txt", "")
    commit(root)
    for name, value in config.items():
        git(root, "config", name, value)
    twin = root.with_name("twin")
    for text in ("$Id: of old$ ä aB\r\nlone\n", "$Id$ more\r\n"):
        (root / "in.txt").write_bytes((root / "in.txt").read_bytes() + text.encode(encoding))
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(root, twin, symlinks=True)
        dvc_("repro", cwd=twin)
        done = pipeline(root)
        assert done.returncode == 0, done.stdout + done.stderr
        name = max((root / ".dvc/tmp/runs").glob("2*.lock")).stem
        if gone:
            shutil.rmtree(root / ".dvc/tmp/runs" / name)
        for _ in range(2):
            assert prefect_dvc(root, "apply", name).status == 0
            assert everything(root) == everything(twin)


@pytest.mark.parametrize("deleted", [False, True])
def test_an_output_that_git_tracks(deleted: bool, tmp_path: Path) -> None:
    """A run did not refuse it, as DVC does, if it was deleted: the snapshot did not have it."""
    stages = {"a": {"cmd": "mkdir -p o && echo 1 > o/f", "outs": ["o"]}}
    root = new(tmp_path / "workspace", stages, o__f="mine\n")
    commit(root)
    if deleted:
        shutil.rmtree(root / "o")
    done = pipeline(root, "--apply")
    assert done.returncode == 1
    assert "output 'o' is already tracked by SCM" in done.stderr
    git(root, "rm", "-r", "--quiet", "--cached", "o")
    shutil.rmtree(root / "o", ignore_errors=True)
    same_as_repro(root)


@pytest.mark.parametrize("edit", ["none", "edited", "deleted"])
@pytest.mark.parametrize("file", ["o", "o/f"])
def test_an_output_that_git_tracks_too(edit: str, file: str, tmp_path: Path) -> None:
    """DVC saves none again: a run took an edited or a deleted one from DVC's cache, and said that all was well."""
    stages = {"a": {"cmd": f"mkdir -p {Path(file).parent} && echo 1 > {file}", "outs": ["o"]}}
    root = new(tmp_path / "workspace", stages)
    dvc_("repro", cwd=root)
    git(root, "add", "--all", "--force", "--", "o", "dvc.lock", ".gitignore")
    git(root, "commit", "--quiet", "-m", "its outputs too")
    if edit == "none":
        same_as_repro(root)
        return
    (root / file).unlink()
    if edit == "edited":
        (root / file).write_text("2\n", encoding="utf-8")
    twin = shutil.copytree(root, root.with_name("twin"), symlinks=True)
    repro = subprocess.run(["dvc", "repro"], cwd=twin, check=False, capture_output=True, text=True)
    for done in (pipeline(root), repro):
        assert done.returncode != 0
        assert "output 'o' is already tracked by SCM" in done.stderr


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_file_where_an_output_has_its_directory(target: str, tmp_path: Path) -> None:
    """A run ended with an error of the system, also one of a stage that has nothing to do with that output."""
    stages = {"a": {"cmd": "echo 1 > o", "outs": ["o"]}, "b": {"cmd": "mkdir -p d && echo 2 > d/p", "outs": ["d/p"]}}
    root = new(tmp_path / "workspace", stages)
    dvc_("repro", cwd=root)
    commit(root)
    shutil.rmtree(root / "d")
    write(root / "d", "mine\n")
    done = pipeline(root, "--target", target, "--apply")
    assert done.returncode == (target == "b")
    assert "Stage 'b' failed" in done.stderr if target == "b" else not done.stderr
    assert (root / "d").read_text(encoding="utf-8") == "mine\n"


def test_a_program_whose_content_the_cache_has_too(tmp_path: Path) -> None:
    """As hard links both had the mode of the object in DVC's cache, which DVC makes plain again during a run."""
    stages = {"a": {"cmd": "cp in o", "deps": ["in"], "outs": ["o"]}, "b": {"cmd": "ls -l d > p", "deps": ["d", "o"]}}
    stages["b"]["outs"] = ["p"]
    root = new(tmp_path / "workspace", stages, **{"in": "1\n", "d__in": "1\n"})
    dvc_("config", "cache.type", "hardlink", cwd=root)
    dvc_("add", "d/in", cwd=root)
    (root / "d/in").chmod(0o755)
    commit(root)
    assert pipeline(root, "--apply").returncode == 0
    assert "-rwxr-xr-x" in (root / "p").read_text(encoding="utf-8")


def test_an_output_that_the_user_has_made_executable(tmp_path: Path) -> None:
    """DVC does not see it, and `dvc repro` runs the program; in a run it was no program."""
    stages = {
        "a": {"cmd": "cat p > o", "deps": ["p"], "outs": ["o"]},
        "b": {"cmd": "./o > b.txt", "deps": ["o", "q"], "outs": ["b.txt"]},
    }
    root = new(tmp_path / "workspace", stages, p="#!/bin/sh\necho 1\n", q="1\n")
    dvc_("repro", "--quiet", "a", cwd=root)
    commit(root)
    (root / "o").chmod(0o755)
    same_as_repro(root)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.fault(46)
def test_files_that_git_is_not_to_look_at(flag: str, tmp_path: Path) -> None:
    """The snapshot had them as before the edit, so `apply` took them for files that the run had written."""
    root = new(tmp_path / "workspace", {"a": {"cmd": "cat in > o", "deps": ["in"], "outs": ["o"]}}, **{"in": "1\n"})
    commit(root)
    git(root, "update-index", flag, "in")
    write(root / "in", "2\n")
    assert pipeline(root).returncode == 0
    write(root / "in", "3\n")
    name = max((root / ".dvc/tmp/runs").glob("2*.lock")).stem
    assert prefect_dvc(root, "apply", name).status == 0
    assert [(root / each).read_text(encoding="utf-8") for each in ("in", "o")] == ["3\n", "2\n"]


@pytest.mark.fault(46)
def test_outputs_beyond_a_link_that_leads_out(tmp_path: Path) -> None:
    """A run of another stage put what dvc.lock has in the place of what the user had edited there."""
    stages = {
        "a": {"cmd": "mkdir -p far/d/e && echo 1 > far/d/f && echo 1 > far/p", "outs": ["far/d", "far/p"]},
        "b": {"cmd": "echo 2 > o", "outs": ["o"]},
    }
    root, far = new(tmp_path / "workspace", stages), tmp_path / "far"
    dvc_("repro", "--quiet", cwd=root)
    shutil.move(root / "far", far)
    (root / "far").symlink_to(far)
    for file in (far / "d/f", far / "p"):
        file.unlink()
        write(file, "mine\n")
    before = {path.relative_to(far): path.is_file() and path.read_bytes() for path in far.rglob("*")}
    commit(root)
    done = pipeline(root, "--target", "b", "--apply", "--force")
    assert done.returncode == 0, done.stderr
    assert {path.relative_to(far): path.is_file() and path.read_bytes() for path in far.rglob("*")} == before
    done = pipeline(root)
    assert done.returncode == 1
    assert "Stage 'a' has far/d, which lies outside of the repository" in done.stderr
    assert {path.relative_to(far): path.is_file() and path.read_bytes() for path in far.rglob("*")} == before


def test_links_in_a_circle(tmp_path: Path) -> None:
    """A run ended with a traceback, also if no stage reads them; DVC goes on."""
    root = new(tmp_path / "workspace", {"a": {"cmd": "cat in > o", "deps": ["in"], "outs": ["o"]}}, **{"in": "1\n"})
    commit(root)
    for name, target in (("own", "own"), ("far", tmp_path / "circle"), ("../circle", tmp_path / "circle")):
        (root / name).symlink_to(target)
    done = pipeline(root, "--apply")
    assert done.returncode == 0, done.stderr
    assert ((root / "own").readlink(), (root / "far").readlink()) == (Path("own"), tmp_path / "circle")
    assert (root / "o").read_text(encoding="utf-8") == "1\n"
