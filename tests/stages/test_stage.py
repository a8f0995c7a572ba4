"""The frame of a stage as DVC runs it: a process, its exit status, its stderr and its files."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stages.paths import COSTS, COUNTERS
from tests.waiting import FOREVER, LIMIT, wait_until
from tests.workspace import ROOT, write_params

OUTPUT = Path("models/thing")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params()
    return tmp_path


def start(body: str) -> subprocess.Popen[str]:
    """Run a stage with this body in a separate process."""
    program = (
        "import logging, os, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from sentence_distillery.io.artifacts import InputError, atomic_directory, atomic_file\n"
        "from stages.stage import stage\n"
        'with stage("thing", unit="things") as (params, counters):\n'
    ) + textwrap.indent(textwrap.dedent(body), "    ")
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)


def run(body: str) -> tuple[int, str]:
    """Exit status and stderr of a stage with this body."""
    process = start(body)
    stderr = process.communicate(timeout=LIMIT)[1]
    return process.returncode, stderr


def counters_file() -> Path:
    return COUNTERS / "thing.json"


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    wait_until(path.exists, str(path), process)


def test_counters_of_a_finished_stage(workspace: Path) -> None:
    status, stderr = run(
        """
        counters.keep()
        counters.keep(5)
        for reason, number in (("short", 1), ("language", 3), ("short", 2)):
            counters.drop(reason, number)
        counters.drop("blank")
        counters.details["name"] = params.name
        """
    )
    written = json.loads(counters_file().read_text(encoding="utf-8"))
    assert status == 0
    assert stderr == "thing: 6 things; dropped 3 short, 3 language, 1 blank (0 s)\n"
    assert (written["unit"], written["total"], written["kept"]) == ("things", 13, 6)
    assert written["dropped"] == {"language": 3, "short": 3, "blank": 1}
    assert written["details"] == {"name": "demo"}
    cost = json.loads((COSTS / "thing.json").read_text(encoding="utf-8"))
    assert cost["seconds"] >= 0
    assert 1 < cost["peak_memory_mb"] < 10_000
    assert not {"seconds", "peak_memory_mb"} & written.keys()  # what is hashed is the same in every run


@pytest.mark.fault(9)
def test_bad_input_is_one_line(workspace: Path) -> None:
    """A failed stage says why in one line, has status 1, and leaves no counters that look like success."""
    status, stderr = run('counters.keep(); raise InputError("data/x.csv, line 3: score 7 is outside 0-5; mend it.")')
    assert (status, stderr) == (1, "thing: data/x.csv, line 3: score 7 is outside 0-5; mend it.\n")
    assert not counters_file().exists()


@pytest.mark.fault(13)
def test_wrong_parameters_come_before_the_work(workspace: Path) -> None:
    """The body of a stage does not start with a wrong params.yaml."""
    write_params(refine={"seeed": 1})
    status, stderr = run('Path("started").touch()')
    assert status == 1
    assert stderr.splitlines()[1].strip() == "refine.seeed: unknown key; did you mean 'seed'?"
    assert not Path("started").exists()


@pytest.mark.parametrize("error", ["ValueError", "OSError"])
@pytest.mark.fault(9)
def test_other_errors_keep_their_traceback(error: str, workspace: Path) -> None:
    """An error of the program is not dressed up as one of the user's."""
    status, stderr = run(f'raise {error}("unforeseen")')
    assert status == 1
    assert "Traceback (most recent call last)" in stderr
    assert "unforeseen" in stderr
    assert not counters_file().exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.fault(3)
def test_a_signal_removes_partial_files(number: signal.Signals, workspace: Path) -> None:
    """SIGTERM and SIGINT end a stage with a status other than 0 and leave no partial file."""
    OUTPUT.mkdir(parents=True)
    (OUTPUT / "earlier").touch()
    process = start(
        f"""
        with atomic_directory(Path("models/thing")) as directory, atomic_file(Path("reports/thing.csv")) as file:
            (directory / "half").touch()
            file.touch()
            time.sleep({FOREVER})
        """
    )
    wait_for(Path("reports/.thing.csv.partial"), process)
    process.send_signal(number)
    process.communicate(timeout=LIMIT)
    assert process.returncode == (143 if number is signal.SIGTERM else -signal.SIGINT)
    left = sorted(str(path) for folder in ("models", "reports") for path in Path(folder).rglob("*") if path.is_file())
    assert left == ["models/thing/earlier", "reports/counters/.thing.lock"]


@pytest.mark.fault(4)
def test_a_second_process_is_refused(workspace: Path) -> None:
    """Two processes of one stage would write to one partial path; the second names the first."""
    first = start(f'Path("started").touch(); time.sleep({FOREVER})')
    wait_for(Path("started"), first)
    status, stderr = run('Path("second").touch()')
    assert status == 1
    assert stderr == (
        f"thing: it already runs in this workspace (process {first.pid}); wait until it ends, or stop it.\n"
    )
    assert not Path("second").exists()
    first.kill()
    first.communicate(timeout=LIMIT)
    assert run("counters.keep()")[0] == 0


@pytest.mark.fault(3)
def test_sigterm_reaps_children(workspace: Path) -> None:
    """A child that a stage waits for ends with it."""
    process = start(
        f"""
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep({FOREVER})"]) as child:
            try:
                Path("child.partial").write_text(str(child.pid))
                Path("child.partial").rename("child")
                child.wait()
            finally:
                child.terminate()
        """
    )
    wait_for(Path("child"), process)
    child = int(Path("child").read_text())
    process.terminate()
    process.communicate(timeout=LIMIT)
    assert process.returncode == 143
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize(("given", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "ACTIVE")])
def test_threads_sleep_while_they_wait(given: dict[str, str], policy: str) -> None:
    """Otherwise a training takes twice as long beside other busy processes; what the user says goes first."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    (library,) = Path(torch.origin).parent.glob("lib/libgomp*")  # loaded alone, which saves the seconds of torch
    others = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    process = subprocess.run(
        [sys.executable, "-c", f"import stages, ctypes; ctypes.CDLL({str(library)!r})"],
        cwd=ROOT,
        env=others | {"OMP_DISPLAY_ENV": "true"} | given,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert f"OMP_WAIT_POLICY = '{policy}'" in process.stderr  # as OpenMP itself has understood it


def test_the_same_bits_wherever_an_array_begins() -> None:
    """regression: MKL's product of a matrix and a vector depended on the addresses of NumPy's arrays."""
    code = """
        import stages, torch
        def placed(tensor, offset):
            buffer = torch.empty(tensor.numel() + 32)
            begin = (-buffer.data_ptr() // 4) % 16 + offset
            view = buffer[begin:begin + tensor.numel()].view(tensor.shape)
            return view.copy_(tensor)
        torch.manual_seed(1)
        matrix, vector = torch.randn(4096, 256), torch.randn(256, 1)
        products = [placed(matrix, a) @ placed(vector, b) for a in range(0, 16, 3) for b in range(0, 16, 5)]
        print(all(torch.equal(product, products[0]) for product in products))
    """
    others = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, env=others, capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("data/corpus/sentences/part-00000.parquet", " Here `dvc repro` rebuilds it."),
        ("data/external/stsb/config.json", ""),
        ("models/released/config.json", ""),
        ("mine/config.json", ""),
    ],
)
@pytest.mark.fault(15)
def test_what_a_stage_wrote_can_be_rebuilt(workspace: Path, path: str, remedy: str) -> None:
    """The library says what is wrong; the frame adds the command if a stage writes the file."""
    status, stderr = run(f"from sentence_distillery.io.artifacts import read_json\nread_json(Path('{path}'), dict)")
    assert status == 1
    assert stderr == f"thing: {path} cannot be read: it does not exist. Restore or rebuild it.{remedy}\n"
