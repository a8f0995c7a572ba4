"""The files below deploy/: units of systemd, a container, the environment of workers."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from prefect_dvc.cli import COMMANDS

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
INSTRUCTIONS = {"FROM", "RUN", "WORKDIR", "COPY", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def read(unit: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit, encoding="utf-8")
    return parser


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit(unit: Path) -> None:
    """Its command is one of this project, and it starts after a unit that there is."""
    parser = read(unit)
    assert parser.sections() == ["Unit", "Service", "Install"]
    program, first, *_ = shlex.split(parser["Service"]["ExecStart"])
    assert program.startswith("/srv/distillery") and Path(program).parts[-3:-1] == (".venv", "bin")
    assert (
        first in COMMANDS if program.endswith("prefect-dvc") else (Path(program).name, first) == ("prefect", "worker")
    )
    if "worker" in parser["Service"]["ExecStart"]:  # the stages run its python
        assert parser["Service"]["Environment"].startswith(f"PATH={Path(program).parent}:")
    others = {other.name for other in UNITS} | {"network-online.target"}
    assert set(parser["Unit"]["After"].split()) <= others


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_knows_every_key() -> None:
    """The programs are not there, which it says, too."""
    done = subprocess.run(["systemd-analyze", "verify", *UNITS], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if str(ROOT / "deploy") in line]
    assert [line for line in told if "is not executable" not in line and "not found" not in line] == []


def test_the_environment_of_workers() -> None:
    """Each variable is one that the docs of this project explain."""
    lines = (ROOT / "deploy/worker.env").read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in lines if not line.startswith("#")]
    docs = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert names and all(name in docs for name in names)


def test_the_container() -> None:
    """Known instructions only; what it copies is in the repository, and its command is one of the package."""
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()
    words = [line.split() for line in lines if line.strip()]
    assert {line[0] for line in words} <= INSTRUCTIONS
    for line in words:
        if line[0] == "COPY":
            assert all((ROOT / source).exists() for source in line[1:-1]), line
    assert 'ENTRYPOINT ["prefect-dvc"]' in text and 'CMD ["ui"]' in text and "ui" in COMMANDS
