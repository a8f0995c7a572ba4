"""The files around the code: licence, citation, YAML for GitHub and pre-commit.

Documents go out of date unnoticed, so each is compared with its subject: the citation with pyproject.toml, LICENSE with
the published text.
"""

import hashlib
import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.workspace import ROOT

TESTS = ROOT / "tests"
# Of the licence as apache.org has it, appendix included.
APACHE_BYTES = 11_358
APACHE_SHA256 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
# A group or a braced part that is repeated possessively: `(?:…)*+`, `{CITED}*+`.
POSSESSIVE_GROUP = re.compile(r"[)}](?:[*+?]|\{\d*,?\d*\})\+")
GITHUB_FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*.yml"))


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_citation() -> None:
    """All keys that the format requires; name, version and licence of pyproject.toml."""
    citation = read_yaml("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])
    assert citation["version"] == project["version"]
    assert all(author["name"] for author in citation["authors"])


def test_the_changelog_has_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert read_yaml("CITATION.cff")["version"] in versions


@pytest.mark.parametrize("name", GITHUB_FILES)
def test_yaml_of_github(name: str) -> None:
    assert isinstance(read_yaml(name), dict)


def test_the_workflow_runs_what_anybody_can_run() -> None:
    workflow = read_yaml(".github/workflows/ci.yml")
    assert [step["run"] for step in workflow["jobs"]["checks"]["steps"] if "run" in step][-1] == "bash .ci/run"
    assert (ROOT / ".ci/run").is_file()
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    versions = {step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", "")}
    assert versions == {"3.11"}  # unquoted, 3.10 would be read as 3.1


@pytest.mark.parametrize("name", ["bug_report", "feature_request"])
def test_issue_forms(name: str) -> None:
    """GitHub's requirements for a form: a name, a description, and questions with unique ids."""
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form["name"] and form["description"]
    questions = [element for element in form["body"] if element["type"] != "markdown"]
    assert all(question["attributes"]["label"] for question in questions)
    assert len({question["id"] for question in questions}) == len(questions) > 0


def test_hooks_fetch_nothing() -> None:
    """Each calls a tool of the environment that `make lint` calls, too."""
    repositories = read_yaml(".pre-commit-config.yaml")["repos"]
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    assert {repository["repo"] for repository in repositories} == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lint = re.search(r"^lint:.*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    assert lint is not None
    assert {hook["entry"].split()[0] for hook in hooks} == {line.split()[0] for line in lint[1].splitlines()}


def test_the_licence_is_the_whole_apache_text() -> None:
    content = (ROOT / "LICENSE").read_bytes()
    lines = content.decode("ascii").strip().splitlines()
    assert len(content) == APACHE_BYTES
    assert lines[0].strip() == "Apache License"
    assert lines[-1].strip() == "limitations under the License."
    assert hashlib.sha256(content).hexdigest() == APACHE_SHA256


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


def test_no_group_is_repeated_possessively() -> None:
    """regression: Python before 3.11.5 loses its place in `(?:…)*+`, so sentences ended elsewhere on Debian's 3.11.2.

    An atomic group, `(?>(?:…)*)`, is right on all. The fault: https://github.com/python/cpython/issues/106052.
    """
    sources = [
        path
        for folder in ("sentence_distillery", "stages", "flows", "prefect_dvc")
        for path in (ROOT / folder).rglob("*.py")
    ]
    lines = [(path.name, line) for path in sources for line in path.read_text(encoding="utf-8").splitlines()]
    assert any("(?>" in line for _, line in lines)
    assert not [(name, line) for name, line in lines if POSSESSIVE_GROUP.search(line)]
