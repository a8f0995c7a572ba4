"""The files around the code, each compared with its subject: citation, changelog, workflows, notice, links."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.workspace import ROOT


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_citation_and_changelog() -> None:
    """All keys that the format requires; name, version and licence of pyproject.toml."""
    citation = read_yaml("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])
    assert citation["version"] == project["version"]
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == "Unreleased" and project["version"] in versions


def test_the_workflow_runs_what_anybody_can_run() -> None:
    """The checks of a change on each Python that pyproject.toml allows; the parts of `make nightly` at night."""
    workflows = [read_yaml(f".github/workflows/{name}.yml")["jobs"]["checks"] for name in ("ci", "nightly")]
    commands = [[step["run"] for step in job["steps"] if "run" in step] for job in workflows]
    assert commands[0][-1] == "bash .ci/run" and (ROOT / ".ci/run").is_file()
    assert workflows[0]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]  # unquoted, 3.10 would be 3.1
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = re.search(r"^nightly: ([a-z ]+)$", makefile, re.MULTILINE)
    assert commands[1][-1].startswith("make ${{ matrix.part }}") and parts is not None
    assert workflows[1]["strategy"]["matrix"]["part"] == parts[1].split()


@pytest.mark.parametrize("model", ["released", "syntax"])
def test_notice_names_every_model_that_ships(model: str) -> None:
    assert (ROOT / "models" / model / "README.md").is_file()
    assert f"models/{model}:" in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_notice_agrees_with_the_released_model() -> None:
    """Each teacher's weights, each file of the training text and its terms."""
    notice = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    config = read_yaml("models/released/config.json")
    for teacher in (config["teacher"], *config["teacher"]["additional"]):
        assert teacher["sha256"] in notice
        assert teacher["reference"].removeprefix("package:") in notice
    for path, licence in config["trained_on"].items():
        assert path in notice
        assert licence.replace("none stated,", "no licence stated;") in notice
    assert f"{config['sentences']:,} sentences" in notice


def test_links_between_documents_lead_somewhere() -> None:
    for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "docs/reliability.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if not target.startswith("https://")]
        gone = [target for target in targets if not (ROOT / name).parent.joinpath(target).exists()]
        assert not gone, f"{name} leads to {gone}"
