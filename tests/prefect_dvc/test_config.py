"""flows.yaml: what is refused; and how a run changes parameters, none of which reaches a shell."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo
from prefect.utilities.schema_tools.validation import ValidationError, validate

from prefect_dvc.errors import SettingsError
from prefect_dvc.settings.flows_yaml import Config, read_config
from prefect_dvc.settings.parameters import check_words, choices, configure, known_keys
from prefect_dvc.settings.yaml_reader import read_yaml
from stages.params import read_params
from tests.workspace import ROOT

from .conftest import make_repository, write_yaml


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("registy: {}", "flows.yaml has the unknown key 'registy'; did you mean 'registry'?"),
        ("registry: {metric: m.json}", "registry has the unknown key 'metric'; did you mean 'metrics'?"),
        ("paths: {brought: data}", "paths.brought is 'data'; write a list"),
        ("paths: {brought: [../home]}", "paths.brought.0 is '../home'; a path is relative to the repository"),
        ("report: /etc/passwd", "report is '/etc/passwd'; a path is relative to the repository"),
        ("params: {check: [python, x]}", "params.check.0 is ['python', 'x']; Input should be a valid string"),
        ("params: [check]", "flows.yaml: params is ['check']; write values by name"),
        ("[1]", "flows.yaml is [1]; write values by name"),
        ('params: {check: "python \'x"}', """params.check is "python 'x"; No closing quotation"""),
        ("registry: {tolerances: {'*': [1]}}", "registry.tolerances.* is [1]; Input should be a valid number"),
        ("registry: {gains: {'*': true}}", "registry.gains.* is True; Input should be a valid number"),
        ("edition: {limits: {rows: }}", "edition.limits.rows is None; Input should be a valid number"),
        ("registry: {former: {a: 1}}", "registry.former.a is 1; Input should be a valid string"),
        ("params: [", "flows.yaml is not YAML"),
        ('report: "\xe9"', "flows.yaml is not YAML"),
    ],
)
def test_what_is_refused(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "flows.yaml").write_text(content, encoding="latin-1")
    with pytest.raises(SettingsError) as raised:
        read_config(tmp_path)
    assert told in str(raised.value)


def test_without_a_file(tmp_path: Path) -> None:
    assert read_config(tmp_path) == Config()
    assert choices(tmp_path, "profiles") == choices(tmp_path, "sites") == []


def test_our_own_file() -> None:
    """Every path that it names is one of dvc.yaml, of conf/ or of .gitignore."""
    config = read_config(ROOT)
    known = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("dvc.yaml", ".gitignore"))
    named = [config.report, config.registry.metrics[0], config.edition.counters, config.edition.overview]
    assert all(path and path in known for path in named)
    assert all((ROOT / str(folder)).is_dir() for folder in (config.params.profiles, config.params.sites))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Parameters, two profiles, and no command that checks."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "params.yaml").write_text("# Mine\ntrain:\n  rate: 0.5  # a comment\nnames: {}\n", encoding="utf-8")
    write_yaml(tmp_path / "profiles/slow.yaml", {"train": {"rate": 0.25}})
    write_yaml(tmp_path / "profiles/wrong.yaml", {"train": {"speed": 1}})
    write_yaml(tmp_path / "flows.yaml", {"params": {"profiles": "profiles", "open": ["names"]}})
    write_yaml(tmp_path / "dvc.yaml", {"stages": {}})
    return tmp_path


def test_a_profile_replaces_values(scratch: Path) -> None:
    """The comments stay; an override goes on top of it, and a key may be added to an open section."""
    configure(scratch, "slow", {"names.mine": 1})
    text = (scratch / "params.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"train": {"rate": 0.25}, "names": {"mine": 1}}
    assert "# Mine" in text and "# a comment" in text
    configure(scratch, "slow", {"train": {"rate": 2}})
    assert yaml.safe_load((scratch / "params.yaml").read_text(encoding="utf-8"))["train"] == {"rate": 2}


@pytest.mark.parametrize(
    ("profile", "overrides", "site", "told"),
    [
        (None, {"train.rat": 1}, None, "params.yaml has no key 'train.rat'; did you mean 'train.rate'?"),
        (None, {"x": 1}, None, "params.yaml has no key 'x'; its sections are train, names."),
        (None, {"conf/t.yaml:x": 1}, None, "conf/t.yaml does not exist, or no dvc.yaml names it, so x cannot"),
        ("wrong", {}, None, "params.yaml has no key 'train.speed'"),
        ("fast", {}, None, "'fast' is not a profile; the profiles are slow, wrong (`params.profiles` in flows.yaml)."),
        ("slow", {}, "here", "flows.yaml has no command `params.use`"),
    ],
)
def test_what_a_run_may_not_change(
    scratch: Path, profile: str | None, overrides: dict[str, Any], site: str | None, told: str
) -> None:
    before = (scratch / "params.yaml").read_text(encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        configure(scratch, profile, overrides, site)
    assert told in str(raised.value)
    assert (scratch / "params.yaml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(("key", "value"), [("RATE", 0.5), ("NAME", "y"), ("Fit.steps", "all")])
def test_what_dvc_cannot_write(key: str, value: object, scratch: Path) -> None:
    """The run took the old value. DVC replaces ` = 0.001`, and a text without its quotes."""
    (scratch / "p.py").write_text('RATE = 1e-3\nNAME = "x"\nclass Fit:\n    steps = 1\n', encoding="utf-8")
    write_yaml(scratch / "dvc.yaml", {"stages": {"a": {"cmd": "true", "params": [{"p.py": None}]}}})
    configure(scratch, None, {"p.py:Fit.steps": 2})
    with pytest.raises(SettingsError, match=f"cannot set {key} to {value!r} in p.py"):
        configure(scratch, None, {f"p.py:{key}": value})


@pytest.mark.parametrize("use", ["", "touch params.yaml"])
def test_a_run_changes_nothing_outside(use: str, scratch: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It wrote into a file of several repositories, to which params.yaml led."""
    file = tmp_path_factory.mktemp("outside") / "params.yaml"
    (scratch / "params.yaml").rename(file)
    (scratch / "params.yaml").symlink_to(file)
    write_yaml(scratch / "flows.yaml", {"params": {"profiles": "profiles"} | ({"use": use} if use else {})})
    with pytest.raises(SettingsError, match=r"params.yaml is /.*, outside of the repository"):
        configure(scratch, "slow", {})
    with pytest.raises(SettingsError, match=r"params.yaml is /.*, outside of the repository"):
        configure(scratch, None, {"train.rate": 2})


@pytest.mark.parametrize(
    ("overrides", "unknown"),
    [
        ({}, None),
        ({"train.rate": 1, "names.mine": {"any": 1}, "names": {"other": 2}}, None),
        ({"train": {"rate": 1, "deep": {"depth": 2}, "deep.depth": 3}, "train.deep": {"depth": 4}}, None),
        ({"train": {"opens": {"mine": 1}, "opens.other": 2}}, None),
        ({"trane": {"rate": 1}}, "trane"),
        ({"train.rat": 1}, "train.rat"),
        ({"train.deep.dept": 2}, "train.deep.dept"),
        ({"train.open.mine": 2}, "train.open.mine"),
        ({"train.rate": 2**63}, "9223372036854775808"),
        ({"names": {"mine": [{"seeds": [-(2**64)]}]}}, "-18446744073709551616"),
    ],
)
def test_what_the_form_refuses(scratch: Path, overrides: dict[str, Any], unknown: str | None) -> None:
    """Prefect checks the names by this schema when the form is submitted; what stands in a section, the run does."""
    params = {"train": {"rate": 0.5, "deep": {"depth": 1}, "opens": {"ours": 1}}, "names": {"ours": 1}}
    write_yaml(scratch / "params.yaml", params)
    write_yaml(scratch / "flows.yaml", {"params": {"open": ["names", "train.opens"]}})
    schema = {"type": "object", "properties": {"overrides": known_keys(scratch)}}
    if unknown is None:
        validate({"overrides": overrides}, schema, raise_on_error=True)
    else:
        with pytest.raises(ValidationError, match=rf"'?{re.escape(unknown)}'? is (not|greater|less)"):
            validate({"overrides": overrides}, schema, raise_on_error=True)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ("no-such-program", "`no-such-program` cannot be started: No such file"),
        ("python -c 'raise SystemExit(3)'", "ended with status 3"),
    ],
)
def test_commands_of_the_repository(check: str, told: str, scratch: Path) -> None:
    write_yaml(scratch / "flows.yaml", {"params": {"check": check}})
    with pytest.raises(SettingsError, match=told):
        configure(scratch, None, {})


@pytest.mark.parametrize(("text", "told"), [("[1, 2]", "has no values by name"), ("train: [", "is not YAML: ")])
def test_parameters_that_are_none(scratch: Path, text: str, told: str) -> None:
    """regression: a traceback, also at the start of a flow, which shows the parameters in its form."""
    (scratch / "params.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"params.yaml {told}"):
        configure(scratch, None, {"train.rate": 1})
    with pytest.raises(SettingsError, match=rf"params.yaml {told}"):
        known_keys(scratch)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """A stage with a cell for each value of a parameter, which becomes a word of its command."""
    cell: dict[str, Any] = {"matrix": {"it": "${stages.m.value}"}, "cmd": "echo ${item.it}", "params": ["stages.m"]}
    root = make_repository(tmp_path / "workspace", {"m": cell})
    write_yaml(root / "params.yaml", {"profile": "demo", "stages": {"m": {"value": ["one", "two"]}}})
    return root


def set_values(root: Path, overrides: dict[str, Any]) -> None:
    """Change parameters, and check what reaches a shell."""
    configure(root, None, overrides)
    with Repo(str(root)) as repo:
        check_words(repo, overrides)


@pytest.mark.parametrize("value", ["x; touch y", "$(touch y)", "`touch y`", "x\ntouch y", "a b", "a'b", "--help"])
def test_a_command_gets_words_alone(matrix: Path, value: str) -> None:
    with pytest.raises(SettingsError, match=r"stages.m.value has .*, which dvc.yaml puts into a command"):
        set_values(matrix, {"stages.m.value": ["one", value]})


@pytest.mark.parametrize("text", ["no", "on", "1e-05", "012", "1_000", "12:30", "~", ".5", "true"])
@pytest.mark.fault(44)
def test_one_reader(text: str, tmp_path: Path) -> None:
    """The flows and the stages read the same value; a day without quotes is refused by the stages."""
    file = tmp_path / "params.yaml"
    file.write_text(f"a: {text}\n", encoding="utf-8")
    assert read_yaml(file.read_text(encoding="utf-8")) == read_params(file)


def test_words_pass(matrix: Path) -> None:
    """Numbers and paths, too; and what params.yaml has itself, though it be a title, if no run has set it."""
    set_values(matrix, {"stages.m.value": ["minilm-l3", "sick+labels", 0.2, 1e-05, True, "raw/in.csv", "s3://a/b"]})
    write_yaml(
        matrix / "params.yaml", {"profile": "demo", "stages": {"m": {"value": ["two words"]}, "n": {"value": 1}}}
    )
    set_values(matrix, {"stages.n.value": 2})
