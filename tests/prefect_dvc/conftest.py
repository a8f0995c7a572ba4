"""Small repositories with real git, real DVC and stages that take no time, so that full runs can be tested."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo

from tests.waiting import FOREVER, LIMIT

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
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@localhost")
    Repo.init(str(root)).close()
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n", encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A small pipeline")
    return root


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
    return subprocess.run(
        command(*options),
        cwd=root,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "prefect_dvc.cli", "run", *options]


CHAIN = {"a": stage("a"), "b": stage("b", "a"), "c": stage("c", "a"), "d": stage("d", "b", "c")}
PAIR = {"a": stage("a"), "b": stage("b", "a")}


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """DVC and prefect-dvc are imported here, so that the commands of forked.py need not do it."""
    from .forked import import_all  # takes seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        import_all(make_repository(tmp_path_factory.mktemp("imported") / "workspace", PAIR))


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a, then b and c, then d."""
    return _entered(make_repository(tmp_path / "workspace", CHAIN), monkeypatch)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """a, then b."""
    return _entered(make_repository(tmp_path / "workspace", PAIR), monkeypatch)


def _entered(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.chdir(root)  # DVC's API asks for it
    return root
