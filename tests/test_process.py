"""Processes that know of each other, with real ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prefect_dvc.system.process import HeldError, held
from tests.waiting import FOREVER, LIMIT
from tests.workspace import ROOT

PARENT = f"""
import subprocess, sys, time
from prefect_dvc.system.process import supervised
subprocess.Popen(supervised([sys.executable, "-c", "import time; print(1, flush=True); time.sleep({FOREVER})"]))
time.sleep({FOREVER})
"""

CALLER = f"""
import subprocess, time
subprocess.Popen(["sh", "-c", 'python -c "$CALLED"; true'])
time.sleep({FOREVER})
"""
CALLED = f"""
import time
from sentence_distillery.runtime.process import end_with_caller
end_with_caller()
print(1, flush=True)
time.sleep({FOREVER})
"""


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "new/lock"
    lock.parent.mkdir()
    lock.write_text("a killed one's longer name", encoding="utf-8")
    with held(lock, "run 1"):
        with pytest.raises(HeldError, match=r"^run 1$"), held(lock, "run 2"):
            pass
        assert lock.read_text(encoding="utf-8") == "run 1"
    with held(lock, "run 2"):
        assert lock.read_text(encoding="utf-8") == "run 2"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that another has ended")
@pytest.mark.parametrize("program", [PARENT, CALLER])
@pytest.mark.fault(5)
def test_a_process_ends_with_who_started_it(program: str) -> None:
    """SIGKILL of a supervisor's parent, and of the caller behind a shell, which has another command and outlives it.

    Neither can notify anyone; all hold the pipe's other end while they live.
    """
    environment = os.environ | {"CALLED": CALLED, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "1\n"
        caller.kill()
        assert caller.communicate(timeout=LIMIT)[0] == ""
