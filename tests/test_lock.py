"""requirements.lock, from which `make` fills an empty environment."""

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.workspace import ROOT


def test_it_pins_what_the_project_asks_for_and_no_build_of_it() -> None:
    """`torch==2.13.0` takes whichever build the machine offers; `2.13.0+cpu` is on no public index."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines[1:])}
    assert not [pin for pin in pins.items() if "+" in pin[1]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in project["dependencies"] + project["optional-dependencies"]["dev"]:
        asked = Requirement(line)
        assert asked.specifier.contains(pins[canonicalize_name(asked.name)]), line
