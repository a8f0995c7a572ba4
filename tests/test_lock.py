"""requirements.lock and requirements-torch.txt, from which `make` fills an empty environment."""

import importlib.metadata
import re
import tomllib
from collections.abc import Set

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from measurements.peers import PEERS
from tests.workspace import ROOT

PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", re.M)
CONDITION = re.compile(r"^([A-Za-z0-9_.-]+==[^\\\n]+)", re.M)


def pins(name: str) -> dict[str, str]:
    """Package -> version of a file of requirements."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {canonicalize_name(package): version for package, version in PIN.findall(text)}


def test_it_pins_what_the_project_asks_for_and_no_build_of_it() -> None:
    """`torch==2.13.0` accepts any build for the machine; `2.13.0+cpu` is on no public index."""
    pinned = pins("requirements.lock") | pins("requirements-torch.txt")
    assert not [pin for pin in pinned.items() if "+" in pin[1]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [Requirement(line) for lines in project["optional-dependencies"].values() for line in lines]
    for requirement in [*map(Requirement, project["dependencies"]), *asked]:
        if requirement.name != project["name"]:
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_the_peers_are_pinned_apart() -> None:
    """Their versions are those that the suite was measured with, and nothing else is installed with them."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    pinned = pins("requirements-peers.lock")
    asked = {canonicalize_name(each.name): each for each in map(Requirement, groups["peers"])}
    assert pinned.keys() == asked.keys() and not pinned.keys() & pins("requirements.lock").keys()
    assert all(requirement.specifier.contains(pinned[name]) for name, requirement in asked.items())
    named = {canonicalize_name(package) for peer in PEERS.values() for package in peer.packages}
    assert named <= pinned.keys() | pins("requirements.lock").keys()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-peers.lock"])
def test_every_pin_but_torch_has_hashes(name: str) -> None:
    """A package that was replaced on an index is refused; torch has no hash, since its build depends on the machine."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", text)
    unhashed = [block.split("==")[0] for block in blocks if PIN.match(block) and "--hash=sha256:" not in block]
    assert not unhashed
    assert "torch" not in pins(name)
    assert list(pins("requirements-torch.txt")) == ["torch"]


def test_every_pin_installs_on_debians_python() -> None:
    """regression: `make` failed on Debian 12, whose Python is 3.11.2: a package of the site asked for 3.11.5."""
    about = {name: importlib.metadata.metadata(name).json for name in installed(pins("requirements.lock").keys())}
    asked = {name: str(about[name].get("requires_python", "")) for name in about}
    assert not {name: asked[name] for name in asked if not SpecifierSet(asked[name]).contains("3.11.2")}


@pytest.mark.parametrize("python", ["3.11.2", "3.12.1", "3.13.0", "3.14.0"])
def test_every_python_gets_all_that_its_packages_ask_for(python: str) -> None:
    """regression: on Python 3.11.2 redis asks for async_timeout, the lock was of 3.11.7, and Prefect did not start."""
    here = {name: str(value) for name, value in default_environment().items()}
    here |= {"python_version": python.rpartition(".")[0], "python_full_version": python, "extra": ""}
    lines = CONDITION.findall((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    pinned = {canonicalize_name(pin.name) for pin in map(Requirement, lines) if applies(pin, here)}
    missing = {
        (package, asked.name)
        for package in installed(pinned)
        for asked in map(Requirement, importlib.metadata.requires(package) or [])
        if applies(asked, here) and canonicalize_name(asked.name) not in pinned | {"torch"}
    }
    assert not missing


def installed(pinned: Set[str]) -> Set[str]:
    """Those that this Python has; a few are for another one."""
    there = {canonicalize_name(found.metadata["Name"]) for found in importlib.metadata.distributions()} & pinned
    assert len(there) > 300
    return there


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    """Tell whether a requirement without extras holds there."""
    return requirement.marker is None or requirement.marker.evaluate(environment)


def test_extras_cover_one_another() -> None:
    """`all` has every extra that a user may want, `dev` also has `docs`, which builds the site."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (everything,) = (Requirement(line) for line in extras["all"])
    assert everything.extras == extras.keys() - {"all", "dev", "docs"}
    assert Requirement(extras["dev"][0]).extras == {"all", "docs"}
