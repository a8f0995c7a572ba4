"""requirements.lock and requirements-torch.txt, from which `make` fills an empty environment."""

import importlib.metadata
import re
import tomllib

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.workspace import ROOT

PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", re.M)


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


def test_every_pin_but_torch_has_hashes() -> None:
    """A package that was replaced on an index is refused; torch has no hash, since its build depends on the machine."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", text)
    unhashed = [block.split("==")[0] for block in blocks if PIN.match(block) and "--hash=sha256:" not in block]
    assert not unhashed
    assert "torch" not in pins("requirements.lock")
    assert list(pins("requirements-torch.txt")) == ["torch"]


def test_every_pin_installs_on_debians_python() -> None:
    """regression: `make` failed on Debian 12, whose Python is 3.11.2: a package of the site asked for 3.11.5."""
    about = {name: importlib.metadata.metadata(name).json for name in pins("requirements.lock")}
    asked = {name: str(about[name].get("requires_python", "")) for name in about}
    assert not {name: asked[name] for name in asked if not SpecifierSet(asked[name]).contains("3.11.2")}


def test_extras_cover_one_another() -> None:
    """`all` has every extra that a user may want, `dev` also has `docs`, which builds the site."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (everything,) = (Requirement(line) for line in extras["all"])
    assert everything.extras == extras.keys() - {"all", "dev", "docs"}
    assert Requirement(extras["dev"][0]).extras == {"all", "docs"}
