"""Somebody's repository: nothing of theirs is lost, and a run reads what `dvc repro` would read."""

import hashlib
import json
import os
import re
import shutil
import site
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefect_dvc.artifacts import plots
from prefect_dvc.settings.graph_files import parameter_files, targets
from prefect_dvc.settings.parameters import known_keys
from prefect_dvc.system.editable import editable_packages

from .conftest import cli, commit_all, git, init_dvc, init_git, write_yaml
from .forked import dvc_, pipeline, prefect_dvc
from .repositories import Case, Leaf, Stage
from .test_any_repository import problems, see

pytestmark = pytest.mark.usefixtures("imported")

UNCACHED = {"cache": False}
Stages = dict[str, dict[str, Any]]
ROWS = "".join(f"{number}\n" for number in range(1000))


def new(root: Path, stages: Stages, **files: str) -> Path:
    """A repository with these stages and files (`__` stands for a slash), not yet committed."""
    root.mkdir(parents=True)
    init_git(root)
    init_dvc(root)
    write_yaml(root / "dvc.yaml", {"stages": stages})
    for name, text in files.items():
        write(root / name.replace("__", "/"), text)
    return root


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


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


def test_data_that_is_in_its_place_and_no_longer_in_the_cache(tmp_path: Path) -> None:
    """`apply` refused a run, since DVC's cache had lost an object, though the workspace had the file itself."""
    stages = {"a": {"cmd": "cp notes.csv a.txt", "deps": ["notes.csv"], "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", stages, **{"notes.csv": "1\n"})
    dvc_("add", "--quiet", "notes.csv", cwd=root)
    commit_all(root)
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


def test_what_dvc_does_not_see_in_the_directory_that_a_stage_makes(tmp_path: Path) -> None:
    """A program stays one, links to directories and empty directories stay, also when the stage has nothing to do."""
    make = "mkdir -p o/bin o/empty && cp tool o/bin/tool && chmod +x o/bin/tool && ln -s bin o/lib"
    make += " && ln -s ../d o/far && ln -s $PWD/d o/own"
    stages = {
        "a": {"cmd": make, "deps": ["in.txt"], "outs": ["o"]},
        "b": {"cmd": "o/lib/tool > l.txt && ls o >> l.txt", "deps": ["o", "in2.txt"], "outs": ["l.txt"]},
    }
    root = new(
        tmp_path / "workspace", stages, tool="#!/bin/sh\necho tool\n", d__x="", **{"in.txt": "1\n", "in2.txt": "1\n"}
    )
    commit_all(root)
    same_as_repro(root)
    assert os.access(root / "o/bin/tool", os.X_OK)
    links = {name: str((root / "o" / name).readlink()) for name in ("lib", "far", "own")}
    assert links == {"lib": "bin", "far": "../d", "own": f"{root}/d"}
    assert (root / "o/empty").is_dir()
    write(root / "in2.txt", "2\n")
    shutil.rmtree(root.with_name("workspace-repro"))
    assert "Cached: a; Ran: b" in same_as_repro(root).stdout
    assert (root / "l.txt").read_text(encoding="utf-8").split() == ["tool", "bin", "empty", "far", "lib", "own"]


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
    commit_all(root)
    done = same_as_repro(root)
    assert "Ran: a" in done.stdout and "old: Cached" in done.stdout
    assert (root / "o.txt").read_text(encoding="utf-8") == "1\n2\n3\n"
    (root / "data.csv").unlink()
    assert pipeline(root, "--apply").returncode == 0
    assert (root / "data.csv").read_bytes() == b"1\n2\n"


@pytest.mark.fault(53)
def test_files_of_the_user_in_an_output(tmp_path: Path) -> None:
    """One that would be removed is named; once it lies elsewhere, the command of the message brings the run back."""
    stages = {"o": {"cmd": "mkdir -p o && cat p > o/made.txt", "deps": ["p"], "outs": ["o"]}}
    root = new(tmp_path / "workspace", stages, p="1\n", o__notes="mine\n", **{".gitignore": "/o\n"})
    commit_all(root)
    done = pipeline(root, "--apply")
    assert "neither DVC's cache nor git has a copy: o/notes. Move them elsewhere" in done.stderr
    assert [file.name for file in (root / "o").iterdir()] == ["notes"]
    (root / "o/notes").rename(root / "notes")
    assert prefect_dvc(root, "apply", done.stderr.split()[-1]).status == 0
    assert (root / "o/made.txt").read_text(encoding="utf-8") == "1\n"


def test_settings_of_this_machine(tmp_path: Path) -> None:
    """Only those of cache and remotes counted in a run. They stay as they are, also a link that git has."""
    root = new(tmp_path / "workspace", {"a": {"cmd": "echo ${k} > a.txt", "outs": ["a.txt"]}})
    write(root / "params.yaml", "k: {flag: false, list: [1, 2]}\n")
    settings = "[parsing]\n    bool = boolean_optional\n    list = append\n"
    write(tmp_path / "config.local", settings)
    (root / ".dvc/config.local").symlink_to(tmp_path / "config.local")
    git(root, "add", "--force", ".dvc/config.local")
    commit_all(root)
    same_as_repro(root)
    assert (root / "a.txt").read_text(encoding="utf-8") == "--no-flag --list 1 --list 2\n"
    assert (root / ".dvc/config.local").read_text(encoding="utf-8") == settings


def test_a_dvcignore_that_git_ignores(tmp_path: Path) -> None:
    """A run hashed the files that it names."""
    files = {".gitignore": ".dvcignore\n", ".dvcignore": "*.tmp\n", "d__a": "1\n", "d__b.tmp": "2\n"}
    root = new(tmp_path / "workspace", {"a": {"cmd": "ls d > a.txt", "deps": ["d"], "outs": ["a.txt"]}}, **files)
    git(root, "rm", "--quiet", "--force", "--cached", ".dvcignore")
    commit_all(root)
    same_as_repro(root)


def test_a_clone_without_the_gitignore_of_dvc(tmp_path: Path) -> None:
    """A run copied itself into itself, and git got what DVC keeps for itself."""
    root = new(tmp_path / "workspace", {"a": {"cmd": "echo 1 > a.txt", "outs": ["a.txt"]}})
    (root / ".dvc/.gitignore").unlink()
    commit_all(root)
    write(root / ".dvc/config.local", "# secret\n")
    same_as_repro(root)
    (run,) = git(root, "for-each-ref", "--format=%(objectname)", "refs/tags/prefect-dvc").split()
    assert "config.local" not in git(root, "log", "--format=", "--name-only", run)


def test_what_stays_in_the_directory_of_a_run(tmp_path: Path) -> None:
    """What a command writes beside its outputs, and git ignores, was gone after a week without a word."""
    make = "mkdir -p logs/1 d/__pycache__ && touch logs/1/meta d/a.txt d/log.txt d/__pycache__/x.pyc returned"
    root = new(tmp_path / "workspace", {"a": {"cmd": make, "outs": ["d/a.txt"]}}, **{".gitignore": "/logs\n/d\n/r*\n"})
    write_yaml(root / "flows.yaml", {"paths": {"returned": ["returned"]}})
    commit_all(root)
    (root / "logs").mkdir()
    told = "since git ignores it and no stage names it: d/log.txt, logs. To have it back"
    assert told in pipeline(root, "--apply").stdout
    assert told not in pipeline(root).stdout
    assert (root / "returned").exists()


def test_the_tools_of_the_caller(tmp_path: Path) -> None:
    """Those beside prefect-dvc came before them."""
    write(tmp_path / "bin/python", "#!/bin/sh\necho mine\n")
    (tmp_path / "bin/python").chmod(0o755)
    root = new(tmp_path / "workspace", {"a": {"cmd": "python > a.txt", "outs": ["a.txt"]}})
    commit_all(root)
    assert pipeline(root, "--apply", PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}").returncode == 0
    assert (root / "a.txt").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("remote", [None, "s3://bucket/x"], ids=["not configured", "without its package"])
def test_an_output_with_a_remote_of_its_own(remote: str | None, tmp_path: Path) -> None:
    """regression: the run was refused, although it needs nothing from there."""
    made = {"cmd": "echo 1 > a.txt", "outs": [{"a.txt": {"remote": "elsewhere"}}]}
    root = new(tmp_path / "workspace", {"a": made})
    if remote is not None:
        dvc_("remote", "add", "elsewhere", remote, cwd=root)
    commit_all(root)
    for _ in range(2):
        done = cli(root, "run", "--apply", PYTHONPATH=str(without_s3(tmp_path)))
        assert done.returncode == 0, done.stderr
    assert (root / "a.txt").read_text(encoding="utf-8") == "1\n"
    assert "a: Cached" in done.stdout


@pytest.mark.fault(54)
def test_a_command_that_reads_upwards(tmp_path: Path) -> None:
    """A run lies elsewhere, so a path out of the repository leads elsewhere; a command may change its directory."""
    write(tmp_path / "in.csv", "out\n")
    outside = {"a": {"cmd": "cat ../in.csv > a.txt", "outs": ["a.txt"]}}
    root = new(tmp_path / "workspace", outside, p="1\n", sub__kept="")
    commit_all(root)
    assert "Stage 'a' has ../in.csv, which lies outside of the repository." in pipeline(root).stderr
    within = {"a": {"cmd": "cd sub && cat ../p > ../a.txt", "deps": ["p"], "outs": ["a.txt"]}}
    write_yaml(root / "dvc.yaml", {"stages": within})
    same_as_repro(root)


@pytest.mark.fault(54)
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


def test_autostage_in_place(tmp_path: Path) -> None:
    """With --here the entries of dvc.lock were put in order after it was staged."""
    stages = {"a": {"cmd": "sleep 1; cat p > a.txt", "deps": ["p"], "outs": ["a.txt"]}}
    stages["b"] = {"cmd": "echo 2 > b.txt", "outs": ["b.txt"]}  # done first
    root = new(tmp_path / "workspace", stages, p="1\n")
    dvc_("config", "core.autostage", "true", cwd=root)
    commit_all(root)
    assert pipeline(root, "--here").returncode == 0
    assert git(root, "status", "--porcelain").splitlines() == ["A  .gitignore", "A  dvc.lock"]


@pytest.mark.fault(55)
def test_no_value_of_another_dvc_yaml_reaches_a_shell(tmp_path: Path) -> None:
    """Only the dvc.yaml of the root was looked at, and the shell ran the value."""
    mark = tmp_path / "mark"
    root = new(tmp_path / "workspace", {"z": {"cmd": "echo z > z.txt", "outs": ["z.txt"]}}, **{"params.yaml": "k: 1\n"})
    (root / "p").mkdir()
    write_yaml(
        root / "p/dvc.yaml", {"vars": ["../params.yaml"], "stages": {"a": {"cmd": "echo ${k} > a.txt", "wdir": ".."}}}
    )
    commit_all(root)
    done = pipeline(root, "--set", f"k='x; touch {mark} #'")
    assert done.returncode == 1
    assert "which dvc.yaml puts into a command" in done.stderr
    assert not mark.exists()
    assert pipeline(root, "--set", "k=2").returncode == 0


@pytest.mark.parametrize("options", [[], ["--no-download"]])
@pytest.mark.fault(54)
def test_imports(options: list[str], tmp_path: Path) -> None:
    """Each run asked for updates, and ended in 123 lines if the source was away; `dvc repro` only downloads."""
    source = new(tmp_path / "source", {}, d="1\n")
    dvc_("add", "--quiet", "d", cwd=source)
    commit_all(source)
    root = new(tmp_path / "workspace", {"a": {"cmd": "cp e a.txt", "deps": ["e"], "outs": ["a.txt"]}})
    dvc_("import", "--quiet", "../source", "d", "--out", "e", *options, cwd=root)
    commit_all(root)
    if not options:
        source.rename(tmp_path / "gone")
    same_as_repro(root)
    assert (root / "a.txt").read_text(encoding="utf-8") == "1\n"
    assert yaml.safe_load((root / "e.dvc").read_text(encoding="utf-8"))["deps"][0]["repo"]["url"] == "../source"


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
    commit_all(root)
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
@pytest.mark.fault(56)
def test_what_dvc_refuses_is_one_line(reason: str, tmp_path: Path) -> None:
    """Many were tracebacks of 60 to 120 lines."""
    values = "day: 2026-11-21\n" if "'date'" in reason else "k: 1\n"
    root = new(tmp_path / "workspace", {"a": REFUSALS[reason]}, **{"params.yaml": values})
    commit_all(root)
    if "s3" in reason:
        done = cli(root, "run", "--apply", PYTHONPATH=str(without_s3(tmp_path)))
    else:
        done = pipeline(root, "--apply")
    assert done.returncode == 1, done.stdout
    assert re.search(reason, done.stderr), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    reported = [line for line in done.stderr.splitlines() if not line.startswith("Not up to date")]
    assert len(reported) == 1, reported
    assert git(root, "status", "--porcelain") == ""


def test_settings_that_dvc_refuses(tmp_path: Path) -> None:
    root = new(tmp_path / "workspace", {})
    commit_all(root)
    write(root / ".dvc/config", "[core]\nremotes = x\n")
    for words in (["run"], ["run", "--here"]):
        (told,) = prefect_dvc(root, *words).err.splitlines()
        assert told == "prefect-dvc run: config file error: extra keys not allowed @ data['core']['remotes']"


def without_s3(directory: Path) -> Path:
    """A module that hides the plugin for S3."""
    write(directory / "hide/dvc_s3.py", "raise ImportError('hidden')\n")
    return directory / "hide"


@pytest.mark.fault(53)
def test_all_other_commands_leave_the_workspace_as_it_is(models: Path) -> None:
    """Edited, staged, ignored and new files, the index and the branch, after each command."""
    root = models
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
    commit_all(root)
    with pytest.raises(subprocess.CalledProcessError):
        dvc_("repro", cwd=root)
    write(root / "p", "1\n")
    same_as_repro(root)


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


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_what_git_converts(conversion: str, tmp_path: Path) -> None:
    """A persisted output with CRLF in git came back with LF: no byte that a run reads or writes passes through git.

    The second run is brought back without its directory.
    """
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
    commit_all(root)
    for name, value in config.items():
        git(root, "config", name, value)
    twin = root.with_name("twin")
    for text, gone in (("$Id: of old$ ä aB\r\nlone\n", False), ("$Id$ more\r\n", True)):
        (root / "in.txt").write_bytes((root / "in.txt").read_bytes() + text.encode(encoding))
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(root, twin, symlinks=True)
        dvc_("repro", cwd=twin)
        done = pipeline(root)
        assert done.returncode == 0, done.stdout + done.stderr
        # Runs of one second are not in the order of their names.
        name = max((root / ".dvc/tmp/runs").glob("2*.lock"), key=lambda lock: lock.stat().st_mtime_ns).stem
        if gone:
            shutil.rmtree(root / ".dvc/tmp/runs" / name)
        for _ in range(2):
            assert prefect_dvc(root, "apply", name).status == 0
            assert everything(root) == everything(twin)


def test_a_program_whose_content_the_cache_has_too(tmp_path: Path) -> None:
    """As hard links both had the mode of the object in DVC's cache, which DVC makes plain again during a run."""
    stages = {"a": {"cmd": "cp in o", "deps": ["in"], "outs": ["o"]}, "b": {"cmd": "ls -l d > p", "deps": ["d", "o"]}}
    stages["b"]["outs"] = ["p"]
    root = new(tmp_path / "workspace", stages, **{"in": "1\n", "d__in": "1\n"})
    dvc_("config", "cache.type", "hardlink", cwd=root)
    dvc_("add", "d/in", cwd=root)
    (root / "d/in").chmod(0o755)
    commit_all(root)
    assert pipeline(root, "--apply").returncode == 0
    assert "-rwxr-xr-x" in (root / "p").read_text(encoding="utf-8")


def reads(*leaves: Leaf, **fields: Any) -> Case:
    """A stage that reads these inputs."""
    return Case(leaves, (Stage("a", tuple(leaf.path for leaf in leaves), "o"),), **fields)


IN, DATA = Leaf("tracked", "in.csv"), Leaf("added", "d", folder=True)
LIB, TO_D = Leaf("submodule", "lib", folder=True), Leaf("ignored link", "link", folder=True, target="d")
OUTPUT = (Stage("a", (), "o"),)
TWO = (*OUTPUT, Stage("b", (), "p"))
IN_ALONE = (Stage("a", ("in.csv",), "o"),)
READS_AND_NOT = (Stage("a", ("in.csv",), "o"), Stage("b", (), "p"))
LINKED, MADE = (Stage("a", ("link",), "o"),), Stage("m", (), "d", how="folder")
PARAMETER = Stage("a", (), "o", param="params.yaml")
FOLDER = (Stage("a", ("in.csv",), "o", how="folder", param="params.yaml"),)
KEPT = Stage("a", (), "lib", how="folder", persist=True, cache="tracked")
FROZEN = (PARAMETER, Stage("b", ("o",), "p"), Stage("c", ("p",), "q", param="params.yaml"))
OUTSIDE = (Stage("a", ("../outside/far.csv",), "o"),)
BELOW = (*OUTPUT, Stage("b", (), "gen/p"))
BEYOND = (Stage("a", (), "far/d", how="folder"), Stage("c", (), "far/p"), Stage("b", (), "o"))
UNSEEN = (  # by git, and not in DVC's cache
    Stage("a", (), "one", cache="ignored", param="params.yaml"),
    Stage("b", (), "two", cache="ignored", how="folder", param="params.yaml"),
    Stage("c", ("one",), "three", cache="tracked", section="metrics"),
)
SET, COMMIT, AGAIN = ("set", ""), ("commit", ""), (("write", "in.csv"),)
IN_GIT, IN_THE_WAY = (("stage", "o"), COMMIT), (("delete", "gen"), ("write", "gen"))
BIG, EMPTY = Leaf("tracked", "big", folder=True), Leaf("empty", "big", folder=True)
TO_BIG, HIDDEN_TO_BIG = (Leaf(kind, "data", folder=True, target="big") for kind in ("absolute link", "ignored link"))
BY_LINK = (Stage("a", (), "data/o", cache="tracked"), Stage("b", ("data/o", "data"), "p"))
FAR = {"append": Leaf("ignored link", "o", target="../outside/far.csv")}
FAR["folder"] = replace(FAR["append"], target="../outside/far")
EDITED_BEYOND = (("link", "far"), ("write", "far/d"), ("write", "far/p"))
NO_COPY, GIT_HAS_IT = "neither DVC's cache nor git has a copy: ", "output 'o' is already tracked by SCM"
# The bytes of `dvc repro`.
SAME = {
    "data that was edited": reads(Leaf("added", "in.csv"), edits=(("write", "in.csv"),)),
    "edited data elsewhere that the cache has lost": Case(
        (DATA,), (Stage("a", ("d",), "o"),), edits=(("link", "d"), ("uncache", "d"), ("write", "d"))
    ),
    "edited data elsewhere, by a link that git would add": Case(
        (DATA,),
        (Stage("a", ("d",), "o"),),
        edits=(("link", "d"), ("unignore", "d"), ("write", "d"), ("new file", "d")),
    ),
    "edited data of no stage of the run": Case(
        (Leaf("added", "in.csv"),), READS_AND_NOT, edits=(("write", "in.csv"),), target="b"
    ),
    "edited data by a link": Case((DATA, TO_D), LINKED, past="repro", edits=(("write", "d"),), target="a"),
    "outputs by an absolute link": Case((BIG, TO_BIG), BY_LINK, edits=(("write", "big/o"),), mode="only"),
    "an output by a link to an empty folder": Case((EMPTY, replace(TO_BIG, kind="link")), (Stage("a", (), "data/o"),)),
    "an output by an ignored link": Case((BIG, HIDDEN_TO_BIG), (BY_LINK[0], Stage("b", ("data/o", "big"), "p"))),
    "a link to an ignored link": Case(
        (Leaf("link", "in.csv", target="x"), Leaf("ignored link", "x", target="own"), Leaf("ignored", "own")), IN_ALONE
    ),
    "an edited output by a link": Case((TO_D,), (*LINKED, MADE), past="repro", edits=(("write", "d"),), target="a"),
    "a program that the cache has lost": Case(
        (Leaf("added", "a.csv", executable=True), Leaf("added", "z.csv", executable=True)),
        (Stage("a", ("z.csv",), "o"),),
        edits=(("uncache", "a.csv"),),
    ),
    "no stage": Case((), ()),
    "a frozen stage": Case((), FROZEN, past="repro", edits=(("freeze", "b"), SET), target="b"),
    "a frozen stage beside its upstream": Case((), FROZEN, past="repro", edits=(("freeze", "b"), SET)),
    "a file that was edited": reads(IN, edits=(("write", "in.csv"),)),
    "a file beside an output": Case((IN,), FOLDER, past="run", edits=(("new file", "o"),)),
    "a file in the place of another's output": Case((), TWO, edits=(("write", "p"),), target="a"),
    "a file in the place of another's directory": Case((), BELOW, past="repro", edits=IN_THE_WAY, target="a"),
    "a directory that git ignores in part": reads(Leaf("partly", "in", folder=True)),
    "an ignored file": reads(Leaf("ignored", "in.csv"), past="run", edits=(("write", "in.csv"),)),
    "a file in an ignored directory": Case((Leaf("ignored", "in", folder=True),), (Stage("a", ("in/b/c.txt",), "o"),)),
    "a submodule": reads(LIB),
    "an edited submodule": reads(LIB, edits=(("write", "lib"),)),
    "an output in a submodule": Case((LIB,), (replace(KEPT, out="lib/out"),)),
    "a submodule that is an output": Case((LIB,), (KEPT,)),
    "a repository without a commit, and a link in data": reads(
        Leaf("nested without commit", "notes", folder=True), DATA, edits=(("link", "d/b"),)
    ),
    "links out of the repository and to an ignored file": Case(
        (
            Leaf("ignored", "hidden.csv"),
            Leaf("link", "d/out.csv", target="../outside/far.csv"),
            Leaf("link", "d/within.csv", target="hidden.csv"),
        ),
        (Stage("a", ("d",), "o"),),
    ),
    "links in a circle": Case((IN, Leaf("link", "x", target="y"), Leaf("link", "y", target="x")), FOLDER),
    "a place outside, without a directory of the run's own": Case((), OUTSIDE, mode="here"),
    "outputs beyond a link that leads out": Case((), BEYOND, past="repro", edits=EDITED_BEYOND, target="b", force=True),
    "ignored files of parameters": Case((), (PARAMETER, Stage("b", (), "p", param="conf/v.yaml")), ignored_params=True),
    "outputs without cache that git ignores": Case((), UNSEEN, cache_type="symlink"),
    "outputs without cache that are there": Case((), UNSEEN, cache_type="symlink", past="run", committed=True),
    "outputs without cache that change": Case((), UNSEEN, cache_type="symlink", past="run", edits=(SET,)),
    "staging": Case((), TWO, autostage=True),
    "staged files": reads(
        Leaf("ignored", "forced.csv"), Leaf("staged", "new.csv"), edits=(("stage", "forced.csv"),), mode="only"
    ),
    "line ends, and files that git is not to look at": Case(
        (IN, Leaf("tracked", "own.csv"), Leaf("link", "linked.csv", target="../outside/far.csv")),
        (Stage("a", ("in.csv", "own.csv", "linked.csv"), "o", param="params.yaml"),),
        attributes="*.csv text eol=crlf\n",
        edits=(("assume", "own.csv"), ("assume", "linked.csv")),
        set=True,
    ),
    "an input assumed to be unchanged": reads(IN, edits=(("assume", "in.csv"),), mode="later", meanwhile=AGAIN),
    "an input that git skips": reads(IN, edits=(("skip", "in.csv"),), mode="later", meanwhile=AGAIN),
    "an output that git has too": Case((), OUTPUT, past="repro", edits=IN_GIT),
    "a directory that git has too": Case((), (MADE,), past="repro", edits=(("stage", "d"), COMMIT)),
    "an output that the user has made executable": Case(
        (),
        (Stage("a", (), "o"), Stage("b", ("o",), "p", param="params.yaml")),
        past="repro",
        edits=(("mode", "o"), SET),
    ),
}
# A reason, and nothing has changed.
REFUSED = {
    "a file beside an output that changes": (
        f"{NO_COPY}o/mine.txt. Move them elsewhere",
        Case((IN,), FOLDER, past="run", edits=(("new file", "o"), SET)),
    ),
    "an edited output": (f"{NO_COPY}o/f1.", Case((IN,), FOLDER, past="run", edits=(("write", "o"),))),
    "a file in the place of an output": (f"{NO_COPY}p.", Case((), TWO, edits=(("write", "p"),))),
    "a file in the place of a directory": ("Stage 'b' failed", Case((), BELOW, past="repro", edits=IN_THE_WAY)),
    "a place outside": ("has ../outside/far.csv, which lies outside of the repository.", Case((), OUTSIDE)),
    "an absolute path": (
        "an absolute path into the repository: in a run it leads to the workspace. Write in.csv in dvc.yaml",
        Case((IN,), (Stage("a", ("/workspace/in.csv",), "o"),)),
    ),
    "an output beyond a link": (
        "Stage 'a' has far/d, which lies outside of the repository",
        Case((), BEYOND, past="repro", edits=EDITED_BEYOND, mode="only"),
    ),
    **{
        f"an output that persists elsewhere, {how} {cache}": (
            "Stage 'a' has o, which lies outside of the repository",
            Case((FAR[how],), (Stage("a", (), "o", how=how, persist=True, cache=cache),), mode="only"),
        )
        for how, cache in (("append", "ignored"), ("folder", "ignored"), ("folder", ""))
    },
    "a dvc.lock elsewhere": (
        "Stage 'a' has dvc.lock, which lies outside of the repository",
        Case((), OUTPUT, past="repro", edits=(("link", "dvc.lock"),), mode="only", force=True),
    ),
    "a file that was edited after the run": (
        "The workspace has changed params.yaml since run ",
        Case((), (PARAMETER,), set=True, mode="later", meanwhile=(SET,)),
    ),
    "an ignored file of parameters that the run sets": (
        "git ignores params.yaml",
        Case((), (PARAMETER,), ignored_params=True, set=True),
    ),
    "an edited output without cache": (
        f"{NO_COPY}one.",
        Case((), UNSEEN, cache_type="symlink", past="run", edits=(("write", "one"), SET)),
    ),
    "a file that the user has put into git": (GIT_HAS_IT, Case((), OUTPUT, edits=(("write", "o"), *IN_GIT))),
    "a deleted one": (GIT_HAS_IT, Case((), OUTPUT, edits=(("write", "o"), *IN_GIT, ("delete", "o")))),
    **{
        f"an output that git has too, {edit} {path}": (
            GIT_HAS_IT,
            Case((), (Stage("a", (), "o", how=how),), past="repro", edits=(*IN_GIT, (edit, path))),
        )
        for how, path in (("file", "o"), ("folder", "o/f1"))
        for edit in ("write", "delete")
    },
}
TOLD = {
    "data that was edited": "in.csv is not as in.csv.dvc says: the run reads that of the workspace.",
    "no stage": "There is nothing to run: no dvc.yaml has a stage.",
    "a frozen stage": "Cached: b\n",
    "a frozen stage beside its upstream": "Cached: b; Ran: a, c",
    "a directory that git ignores in part": "Copied from the workspace, since git ignores it: ",
    "outputs without cache that are there": "Cached: a, b, c",
    "an output that the user has made executable": "Cached: a; Ran: b",
    "an output that git has too": "Cached: a",
    "a directory that git has too": "Cached: m",
}


@pytest.mark.parametrize("case", SAME)
@pytest.mark.fault(53, 54)
def test_a_run_is_as_dvc_repro(case: str, template: Path, tmp_path: Path) -> None:
    """Its bytes are those of `dvc repro` in a copy, and nothing of the user's is lost. Each once went wrong."""
    seen = see(SAME[case], template, tmp_path)
    assert (seen.done.status, problems(seen)) == (0, []), seen.done
    assert TOLD.get(case, "") in seen.done.out


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.fault(53, 54)
def test_what_a_run_refuses(case: str, template: Path, tmp_path: Path) -> None:
    told, repository = REFUSED[case]
    seen = see(repository, template, tmp_path)
    assert (seen.done.status, problems(seen)) == (1, []), seen.done
    assert told in seen.done.err
