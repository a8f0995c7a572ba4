"""Errors of a place, as a user of a stage or of a program sees them."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sentence_distillery.io.artifacts import InputError, atomic_directory
from sentence_distillery.io.places import temporary_files
from tests.sentence_distillery.io import test_artifacts
from tests.waiting import LIMIT
from tests.workspace import ROOT, write_params

small_files = test_artifacts.small_files


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params()
    return tmp_path


def stage(body: str, before: str = "", streams: str = "") -> tuple[int, str]:
    """Run a stage with this body by the shell, after a command that changes its limits; its status and its output."""
    program = f'from stages.stage import stage\nwith stage("thing", unit="things") as (params, counters):\n    {body}\n'
    Path("program.py").write_text(program)
    line = f"{before} exec {sys.executable} program.py {streams}"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.fault(42)
def test_a_full_tmpdir_is_named(tmp_path: Path, small_files: None) -> None:
    """The directory of temporary files is named, and not the output that was to be written."""
    with (
        pytest.raises(InputError, match=rf"temporary files, {tempfile.gettempdir()}, cannot be used: .* or set TMPDIR"),
        atomic_directory(tmp_path / "sentences"),
        temporary_files(),
        tempfile.TemporaryFile() as file,
    ):
        file.write(bytes(2 * test_artifacts.SPACE))
        file.flush()


@pytest.mark.fault(42)
def test_a_file_elsewhere_is_named(tmp_path: Path) -> None:
    """What could not be read or written within the block of another output."""
    with (
        pytest.raises(InputError, match=r"sentences could not be written: No such file or directory \(.*/nowhere\)\."),
        atomic_directory(tmp_path / "sentences"),
    ):
        (tmp_path / "nowhere").read_bytes()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("OSError(28, 'Full', '/data/x')", "/data/x: Full. Free some space there, or use another disk."),
        ("OSError(30, 'Read-only', '/data/x')", "/data/x: Read-only. Mount it writable, or use another directory."),
        ("MemoryError('9 GiB')", r"out of memory at .* MB \(9 GiB\). Lower the sizes in its section of params.yaml."),
    ],
)
@pytest.mark.fault(42)
def test_what_a_stage_says_of_a_place(workspace: Path, error: str, expected: str) -> None:
    """Wherever it happens, such as in the lock, the counters or a cache: one line with the path, and what to do."""
    status, said = stage(f"raise {error}")
    assert status == 1 and re.fullmatch(f"thing: {expected}\n", said), said


@pytest.mark.fault(42)
def test_counters_that_cannot_be_written(workspace: Path) -> None:
    """A file in the place of the directory of counters and locks is named, without a traceback."""
    Path("reports").mkdir()
    Path("reports/counters").write_text("a file")
    expected = "thing: reports/counters: File exists. Remove it: a directory must be there.\n"
    assert stage("counters.keep()") == (1, expected)


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.fault(52)
def test_closed_streams(workspace: Path, streams: str) -> None:
    """A stage without standard streams does its work, and no message goes into a file of its own."""
    status, _ = stage("print('a line'); counters.keep(); open('output.txt', 'w').write('mine')", streams=streams)
    assert status == 0
    assert Path("output.txt").read_text() == "mine"
    assert '"kept": 1' in Path("reports/counters/thing.json").read_text()


@pytest.mark.fault(52)
def test_few_file_handles(workspace: Path) -> None:
    """A stage works with 64 file handles; with too few it says which limit to raise."""
    assert stage("counters.keep()", before="ulimit -n 64;")[0] == 0
    expected = "thing: program.py: Too many open files. Raise the limit of open files (`ulimit -n 1024`).\n"
    assert stage("[open('program.py') for _ in range(99)]", before="ulimit -n 64;") == (1, expected)
