"""`pip install ./prefect_dvc` alone, in a repository that has nothing to do with this one: any dvc.yaml works.

The new environment sees the packages of this one, but neither the stages nor the library: only what pip installs.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from prefect_dvc.server.serve import read_key
from tests.sockets import free_port
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until
from tests.workspace import ROOT

from .conftest import commit_all, git, init_dvc, init_git, write_yaml
from .handoff_server import Server, clone_of, kill, make_database

LOAD = "from pathlib import Path; Path('words.txt').write_text('red green blue')"
TRAIN = """
import json, os
from pathlib import Path
import yaml

rate = yaml.safe_load(Path("params.yaml").read_text())["train"]["rate"]
Path("net.txt").write_text(f"{Path('words.txt').read_text()} {rate}")
Path("figures.json").write_text(json.dumps({"test": {"accuracy": 1 - rate}}))
Path("place.txt").write_text(os.getcwd())
"""
GRAPH = {
    "stages": {
        "load": {"cmd": f'python -c "{LOAD}"', "outs": ["words.txt"]},
        "train": {
            "cmd": "python train.py",
            "deps": ["train.py", "words.txt"],
            "params": ["train"],
            "outs": ["net.txt", "place.txt"],
            "metrics": [{"figures.json": {"cache": False}}],
            "meta": {"resources": "gpu"},
        },
        "card": {"cmd": "wc net.txt > card.txt", "deps": ["net.txt"], "outs": ["card.txt"]},
    },
    "artifacts": {"net": {"path": "net.txt"}},
}
CONFIG = {
    "params": {"profiles": "profiles"},
    "registry": {"artifact": "net", "metrics": "figures.json", "tolerances": {"test/accuracy": 0.01}},
}


class Environment:
    """A virtual environment with the wheel of prefect_dvc, and a server that it starts."""

    def __init__(self, place: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], check=True)
        self.python, self.command = str(place / "venv/bin/python"), str(place / "venv/bin/prefect-dvc")
        packages = sysconfig.get_path("purelib")
        where = [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = Path(subprocess.check_output(where, text=True).strip())
        (site / "others.pth").write_text(f"{packages}\n", encoding="utf-8")  # the .pth files there do not count
        source = shutil.copytree(ROOT / "prefect_dvc", place / "source", ignore=shutil.ignore_patterns("__pycache__"))
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", self.python]
        options = ["--no-index", "--no-deps", "--no-build-isolation"]
        subprocess.run([*pip, "install", *options, str(source)], check=True, cwd=place)
        shutil.rmtree(source)
        self.variables = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PREFECT"))}
        tools = os.pathsep.join([str(place / "venv/bin"), os.environ["PATH"]])
        self.variables |= {"PATH": tools, "DVC_NO_ANALYTICS": "1", "DO_NOT_TRACK": "1"}
        self.home = place

    def run(self, directory: Path, *words: str) -> str:
        done = subprocess.run(
            [self.command, *words],
            cwd=directory,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def started(self, directory: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        with (self.home / f"{words[0]}.log").open("wb") as log:
            process = subprocess.Popen(
                [self.command, *words],
                cwd=directory,
                env=self.variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            kill(process, signal.SIGTERM)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Three stages, a folder of profiles and a flows.yaml of four lines."""
    root = tmp_path / "scratch"
    (root / "profiles").mkdir(parents=True)
    (root / "train.py").write_text(TRAIN, encoding="utf-8")
    write_yaml(root / "dvc.yaml", GRAPH)
    write_yaml(root / "params.yaml", {"train": {"rate": 0.5}})
    write_yaml(root / "profiles/slow.yaml", {"train": {"rate": 0.25}})
    write_yaml(root / "flows.yaml", CONFIG)
    (root / ".gitignore").write_text("/words.txt\n/net.txt\n/place.txt\n/card.txt\n", encoding="utf-8")
    init_git(root)
    init_dvc(root)
    commit_all(root, "Three stages")
    return root


def test_pipeline_handoff_and_retraining(environment: Environment, scratch: Path, tmp_path: Path) -> None:
    """The whole of it in a scratch repository; nothing of this one can be imported there."""
    for name in ("stages", "sentence_distillery", "tests"):
        program = f"import importlib.util; assert importlib.util.find_spec('{name}') is None"
        subprocess.run([environment.python, "-c", program], cwd=scratch, env=environment.variables, check=True)
    with server(environment) as address:
        environment.variables |= address
        assert environment.run(scratch, "deploy").split() == [
            "gpu-stage/gpu-stage",
            "pipeline/pipeline",
            "retrain/retrain",
        ]
        hand_off(environment, scratch)
        retrain(environment, scratch, tmp_path)


@contextmanager
def server(environment: Environment) -> Iterator[dict[str, str]]:
    """Prefect's server, started by the installed package; yield the variables that lead to it."""
    home, port = environment.home / "prefect", free_port()
    environment.variables["PREFECT_HOME"] = str(home)
    home.mkdir()
    served = Server(home)  # for the health check alone
    served.port, served.api = port, f"http://127.0.0.1:{port}/api"
    make_database(home)
    with environment.started(Path("/"), "serve", "--no-link", "--port", str(port)) as process:
        wait_until(served.answers, "the server answers", process, SERVER_PAUSE)
        yield {
            "PREFECT_API_URL": served.api,
            "PREFECT_API_AUTH_STRING": read_key(home),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
        }


def hand_off(environment: Environment, scratch: Path) -> None:
    """A profile that is merged value by value, and a stage that a worker in a second clone runs."""
    clone = clone_of(scratch)
    environment.variables["PREFECT_DVC_RESOURCES"] = "gpu: 1"
    with ExitStack() as stack:
        stack.enter_context(environment.started(clone, "worker"))
        log = environment.home / "worker.log"
        wait_until(lambda: "started!" in log.read_text(encoding="utf-8"), "the worker is online", pause=SERVER_PAUSE)
        told = environment.run(scratch, "run", "--profile", "slow", "--gpu", "require", "--apply")
    assert "Ran on GPU worker: train" in told
    assert (scratch / "net.txt").read_text(encoding="utf-8") == "red green blue 0.25"
    assert Path((scratch / "place.txt").read_text(encoding="utf-8")).is_relative_to(clone)
    git(scratch, "commit", "--quiet", "--all", "--message", "Slower")


def retrain(environment: Environment, scratch: Path, tmp_path: Path) -> None:
    """A first model and a worse one; the figures are nested, and no benchmark is described."""
    del environment.variables["PREFECT_API_URL"]  # the flow is deployed; as a run of it each would take 5 s more
    for rate, end in (("0.2", "# Promoted"), ("0.4", "# Not promoted")):
        assert end in environment.run(scratch, "retrain", "--set", f"train.rate={rate}", "--gpu", "local")
    get = ["artifacts", "get", str(scratch), "net", "--stage", "production", "--out", str(tmp_path / "net")]
    subprocess.run([environment.python, "-m", "dvc", *get], cwd=tmp_path, env=environment.variables, check=True)
    assert (tmp_path / "net").read_text(encoding="utf-8") == "red green blue 0.2"
    told = yaml.safe_load(git(scratch, "show", "promoted:figures.json"))
    assert told == {"test": {"accuracy": 0.8}}
