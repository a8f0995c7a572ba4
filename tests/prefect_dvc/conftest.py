"""Small repositories with real git, real DVC and stages that take no time, so that full runs can be tested."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo

from tests.waiting import FOREVER, LIMIT, wait_until

STAGE = '''\
"""A stage for tests: waits as its parameters say, fails when told, writes its inputs and its own parameter.

`until` names a file that it waits for; `beside` says how many stages have to be at work before it ends.
"""
import os, sys, time
from pathlib import Path
import yaml

name, output, *inputs = sys.argv[1:]
params = yaml.safe_load(Path("params.yaml").read_text())["stages"][name]
print(f"{name}: at work", flush=True)
until, beside = params.get("until"), params.get("beside")
if beside:
    at_work = Path(os.environ["STAGES_AT_WORK"])
    (at_work / f"{name} {os.getpid()}").touch()
end, parent = time.monotonic() + FOREVER, os.getppid()
while until and not Path(until).exists() or beside and len(list(at_work.iterdir())) < beside:
    time.sleep(0.01)
    if time.monotonic() > end or os.getppid() != parent:
        sys.exit(f"{name}: waited in vain")
if params.get("fails"):
    sys.exit(f"{name}: told to fail")
text = "".join(Path(path).read_text() for path in inputs)
Path(output).write_text(f"{text}{name} {params['value']}\\n")
log = os.environ.get("STAGE_LOG")
if log:
    with open(log, "a") as file:
        file.write(f"{name}\\n")
'''.replace("FOREVER", str(FOREVER))

PARAMS = '''\
"""A check of params.yaml: the flows know it by its command in flows.yaml."""
import sys
from pathlib import Path
import yaml

if sys.argv[1:]:
    sys.exit(f"'{sys.argv[2]}' is not a profile")
content = yaml.safe_load(Path("params.yaml").read_text())
unknown = set(content) - {"profile", "stages"} | {key for s in content["stages"].values() for key in s} - {
    "value", "until", "beside", "fails"
}
sys.exit(f"params.yaml has unknown keys: {', '.join(sorted(unknown))}" if unknown else 0)
'''


CONFIG: dict[str, Any] = {
    "params": {"check": "python -m stages.params", "use": "python -m stages.params use"},
    "paths": {
        "brought": ["data/external", "data/checkpoints", "models/checkpoints"],
        "returned": ["data/checkpoints", "models/checkpoints"],
        "shared": "data/checkpoints/crawl",
    },
}


def stage(name: str, *upstream: str, gpu: bool = False, **meta: Any) -> dict[str, Any]:
    """An entry of dvc.yaml: one output, made from the outputs of `upstream`."""
    inputs = [f"{other}.txt" for other in upstream]
    entry: dict[str, Any] = {
        "cmd": " ".join(["python stage.py", name, f"{name}.txt", *inputs]),
        "deps": ["stage.py", *inputs],
        "params": [f"stages.{name}"],
        "outs": [f"{name}.txt"],
    }
    meta |= {"resources": "gpu"} if gpu else {}
    return entry | ({"meta": meta} if meta else {})


def make_repository(root: Path, stages: dict[str, dict[str, Any]]) -> Path:
    """A repository at `root` with these stages, committed, nothing run yet."""
    (root / "stages").mkdir(parents=True)
    (root / "stages/__init__.py").touch()
    (root / "stages/params.py").write_text(PARAMS, encoding="utf-8")
    (root / "stage.py").write_text(STAGE, encoding="utf-8")
    (root / ".gitignore").write_text(
        "".join(f"/{name}.txt\n" for name in stages) + "__pycache__/\n/data/checkpoints/\n", encoding="utf-8"
    )
    write_yaml(root / "flows.yaml", CONFIG)
    write_yaml(root / "dvc.yaml", {"stages": stages})
    write_yaml(root / "params.yaml", {"profile": "demo", "stages": {name: {"value": 1} for name in stages}})
    init_git(root)
    init_dvc(root)
    commit_all(root, "A small pipeline")
    return root


def init_git(root: Path) -> None:
    """Make an empty repository with an author."""
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@localhost")


def init_dvc(root: Path) -> None:
    Repo.init(str(root)).close()
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n", encoding="utf-8")


def commit_all(root: Path, message: str = "State") -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)


def write_yaml(path: Path, content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def set_param(root: Path, name: str, **values: object) -> None:
    """Change the parameters of stage `name`."""
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params["stages"][name] |= values
    write_yaml(root / "params.yaml", params)


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def pipeline(root: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`prefect-dvc run` without a server, in `root`."""
    return cli(root, "run", *options, **environment)


def cli(root: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`prefect-dvc` with these words, in `root`."""
    return subprocess.run(
        [sys.executable, "-m", "prefect_dvc.cli", *words],
        cwd=root,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "prefect_dvc.cli", "run", *options]


def run_at_work(root: Path, log: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start a run that writes to `log`, and return it once stage a is at work."""
    with log.open("w") as file:
        process = subprocess.Popen(command(), cwd=root, env=os.environ | environment, stdout=file, stderr=file)
    wait_until(lambda: "a: at work" in log.read_text(encoding="utf-8"), "stage a is at work", process)
    return process


def dvc_(*words: str, cwd: Path) -> str:
    """Run DVC in a process of its own; return what it prints."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": tools, "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *words], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


CHAIN = {"a": stage("a"), "b": stage("b", "a"), "c": stage("c", "a"), "d": stage("d", "b", "c")}
PAIR = {"a": stage("a"), "b": stage("b", "a")}


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """DVC and prefect-dvc are imported here, so that the commands of forked.py need not do it."""
    from .forked import import_all  # takes seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        import_all(make_repository(tmp_path_factory.mktemp("imported") / "workspace", PAIR))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with an empty workspace, and what lies around it; git and DVC have no settings of the machine."""
    from .repositories import GITCONFIG, make_template

    base = tmp_path_factory.mktemp("template")
    (base / ".gitconfig").write_text(GITCONFIG, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        for name in ("HOME", "DVC_SITE_CACHE_DIR", "DVC_GLOBAL_CONFIG_DIR", "DVC_SYSTEM_CONFIG_DIR"):
            patch.setenv(name, str(base))
        for name in ("GIT_CONFIG_NOSYSTEM", "DVC_NO_ANALYTICS"):
            patch.setenv(name, "1")
        make_template(base / "world")
        yield base


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that makes the repository of a name: once, since the tests work in copies."""
    from .models import make_models

    directory = tmp_path_factory.mktemp("made")
    make: dict[str, Callable[[Path], Path]] = {
        "chain": partial(make_repository, stages=CHAIN),
        "pair": partial(make_repository, stages=PAIR),
        "models": make_models,
    }
    return cache(lambda name: make[name](directory / name))


@pytest.fixture
def chain(made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a, then b and c, then d."""
    return _entered(made("chain"), tmp_path, monkeypatch)


@pytest.fixture
def pair(made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a, then b."""
    return _entered(made("pair"), tmp_path, monkeypatch)


@pytest.fixture
def models(made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of models.py."""
    return _entered(made("models"), tmp_path, monkeypatch)


def _entered(source: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = shutil.copytree(source, directory / "workspace", symlinks=True)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.chdir(root)  # DVC's API asks for it
    return root
