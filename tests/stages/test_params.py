"""params.yaml: refused values, helpful messages, and profiles that the stages accept."""

import re
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from reproductions.encoders.options import Switchable
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.options import Section
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import FunctionTeacher, Teacher, VectorTeacher
from stages import paths, profiles
from stages.params import Params, completed, load_params, read_params
from tests.workspace import ROOT, demo_params

PROFILES = sorted(path.stem for path in (ROOT / "conf/profile").glob("*.yaml"))


@pytest.fixture(autouse=True)
def conf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiles of the repository, from any directory."""
    monkeypatch.setattr(paths, "CONF", ROOT / "conf")


@cache  # takes a tenth of a second
def composed(profile: str, *overrides: str) -> dict[str, Any]:
    """Compose a profile, with changes as `-S` has them, such as "teacher=mpnet"."""
    params = profiles.plain(profiles.compose(profile))
    for key, _, value in (override.partition("=") for override in overrides):
        *sections, last = key.split(".")
        reduce(dict.__getitem__, sections, params)[last] = yaml.safe_load(value)
    return params


def load(directory: Path, content: object) -> Params:
    path = directory / "params.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return load_params(path)


def problems(directory: Path, content: object) -> list[str]:
    """The message's lines after the first, which says how many they are."""
    with pytest.raises(InputError) as caught:
        load(directory, content)
    first, *lines = str(caught.value).splitlines()
    assert first == f"{directory / 'params.yaml'} has {len(lines)} problem(s):"
    return [line.strip() for line in lines]


def test_params_file_is_the_demo_profile() -> None:
    """As committed; yours may be another one."""
    found = read_params(ROOT / "params.yaml")
    if found.get("name") != "demo":
        pytest.skip(f"params.yaml is {found.get('name')}, not the committed demo")
    assert profiles.edits(found) == [], "`git checkout params.yaml`, or after a change to conf/: use demo --discard"


def test_the_helper_of_other_tests_makes_the_demo_profile() -> None:
    assert demo_params() == completed(composed("demo"))
    assert demo_params(refine={"seed": 7})["refine"] == completed(composed("demo"))["refine"] | {"seed": 7}


def test_encoders_are_named_once(tmp_path: Path) -> None:
    """A name stands for the entry in section `encoders`; keys next to it differ from the entry."""
    changes = ("teacher=mpnet", "simcse.encoder=minilm-l3", "simcse.maximum_length=16", "student.start_from=released")
    params = load(tmp_path, composed("best", *changes))
    small = params.encoders["minilm-l3"]
    assert params.teacher == params.encoders["mpnet"]
    assert params.soft_labels.additional_teachers == [small]
    assert (params.simcse.reference, params.simcse.sha256, params.simcse.maximum_length) == (*pin(small), 16)
    first = params.evaluate.references[0]
    assert (first.name, first.reference, first.sha256) == ("teacher L3", *pin(small))
    assert params.student.start_from == "released"  # another one is refused, below


def pin(encoder: Teacher) -> tuple[str, str | None]:
    return encoder.reference, encoder.sha256


FUNCTION = {"function": "use:embed", "version": None, "sha256": None}
VECTORS = {"vectors": "data/external/vectors.parquet", "sha256": None}


def with_entry(entry: dict[str, Any], *overrides: str) -> dict[str, Any]:
    content = composed("demo", "fine_tuned_teacher.enabled=false", *overrides)
    return content | {"encoders": content["encoders"] | {"mine": entry}}


def test_every_kind_of_teacher(tmp_path: Path) -> None:
    """An entry is recognised by its first key."""
    prompted = composed("demo")["encoders"]["minilm-l6"] | {"prompt": "query: "}
    for entry, kind in ((FUNCTION, FunctionTeacher), (VECTORS, VectorTeacher), (prompted, Teacher)):
        params = load(tmp_path, with_entry(entry, "teacher=mine", "soft_labels.additional_teachers=[minilm-l3, mine]"))
        assert type(params.teacher) is kind
        assert params.soft_labels.additional_teachers[1] == params.teacher
        assert {name: value for name, value in params.teacher.model_dump().items() if name in entry} == entry
    assert isinstance(params.teacher, Teacher) and params.teacher.prompt == "query: "


@pytest.mark.parametrize(
    ("entry", "overrides", "problem"),
    [
        (FUNCTION | {"version": 1}, [], "encoders.mine.version = 1: Input should be a valid string"),
        (FUNCTION | {"revision": None}, [], "encoders.mine.revision: unknown key; did you mean 'version'?"),
        (FUNCTION | {"function": "embed"}, [], "encoders.mine.function = 'embed': String should match pattern"),
        ({"vectors": "a.parquet"}, [], "encoders.mine.sha256: missing"),
        ({"refrence": "a"}, [], "encoders.mine.reference: missing"),
        (FUNCTION, ["pair_cost.encoder=mine"], "pair_cost: unknown encoder mine; known encoders: "),
        (
            VECTORS,
            ["teacher=mine", "fine_tuned_teacher.enabled=true"],
            "data/external/vectors.parquet is a file of vectors, which cannot be fine-tuned; set fine_tuned_te",
        ),
    ],
)
def test_teachers_that_cannot_be(entry: dict[str, Any], overrides: list[str], problem: str, tmp_path: Path) -> None:
    assert any(found.startswith(problem) for found in problems(tmp_path, with_entry(entry, *overrides)))


# The nearest known key is in the section of the unknown one.
COLUMNS = {"text": "text", "title": None, "url": None, "published": None, "source": None, "sorce": "site"}
INPUTS = [{"path": "data/external/news", "format": None, "columns": COLUMNS}]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"clean": {"minimum_token": 4}}, "clean.minimum_token: unknown key; did you mean 'minimum_tokens'?"),
        ({"studnet": {"epochs": 5}}, "studnet: unknown key; did you mean 'student'?"),
        ({"benchmarks": {"zzz": 1}}, "benchmarks.zzz: unknown key; known keys are sets, own"),
        ({"skipgram": {"epochs": "20"}}, "skipgram.epochs = '20': Input should be a valid integer"),
        ({"skipgram": {"tokens": "some"}}, "skipgram.tokens = 'some': Input should be 'all' or 'content'"),
        ({"clean": {"language": "english"}}, "clean.language = 'english': String should match pattern '^[a-z]{2}$'"),
        ({"refine": {"learning_rate": float("nan")}}, "refine.learning_rate = nan: Input should be a finite number"),
        ({"refine": {"seed": 2**32}}, "refine.seed = 4294967296: Input should be less than 4294967296"),
        ({"web": {"contact": "nobody"}}, "web.contact = 'nobody': String should match pattern"),
        ({"web": {"since": "2024-02-30"}}, "web.since: '2024-02-30' is not a valid date; write it as in '2024-05-01'"),
        (
            {"web": {"since": "2024-03-01", "until": "2024-02-01"}},
            "web: since = 2024-03-01 is after until = 2024-02-01",
        ),
        (
            {"mlp_head": {"units": 0}},
            "mlp_head: units = 0 no longer switches the stage off; set mlp_head.enabled to false and mlp_head.un",
        ),
        ({"clean": 3}, "clean = 3: Input should be a valid dictionary or instance of Clean"),
        ({"clean": None}, "clean = None: Input should be a valid dictionary or instance of Clean; write `clean: {}`"),
        ({"component_focus": {"weights": [0.0, 1]}}, "component_focus.weights: write 1.0 instead of 1"),
        ({"component_focus": {"weights": [0.5, 0.5]}}, "component_focus.weights: [0.5, 0.5] has a weight twice; name"),
        (
            {"pair_grid": {"encoders": ["minilm-l33"]}},
            "pair_grid: unknown encoder minilm-l33; known encoders: albert, ",
        ),
        ({"component_focus": {"tasks": ["stsb+silvr"]}}, "component_focus.tasks.0 = 'stsb+silvr': String should match"),
        (
            {"component_focus": {"functions": {"use": "use.embed"}}},
            "component_focus.functions.use = 'use.embed': String should match pattern",
        ),
        (
            {"component_focus": {"functions": {"minilm-l3": "use:embed"}}},
            "component_focus.functions: 'minilm-l3' is the name of another encoder",
        ),
        (
            {"component_focus": {"tasks": ["samples", "sick+labels"]}},
            "component_focus: tasks contains sick+labels, which is not in syntax.sets, the sets to parse; add it there",
        ),
        (
            {"combinations": {"poolings": ["mean", "cls"]}},
            "combinations: poolings contains cls, which is not in pair_grid.poolings; add it there",
        ),
        ({"clean": {"minimum_tokens": 900}}, "clean: minimum_tokens = 900 is above maximum_tokens = "),
        ({"crawl": {"inputs": INPUTS}}, "crawl.inputs.0.columns.sorce: unknown key; did you mean 'source'?"),
        (
            {"student": {"start_from": "models/mine"}},
            "student: start_from is 'models/mine', but only released and null",
        ),
        ({"teacher": "l6"}, "teacher: unknown encoder 'l6'; known encoders: "),
        ({"soft_labels": {"additional_teachers": ["l6"]}}, "soft_labels.additional_teachers.0: unknown encoder 'l6'"),
        ({"simcse": {"encoder": "l6"}}, "simcse.encoder: unknown encoder 'l6'; known encoders: "),
        (
            {"evaluate": {"references": [{"name": "A", "encoder": "l6"}]}},
            "evaluate.references.0.encoder: unknown encoder 'l6'; known",
        ),
    ],
)
@pytest.mark.fault(13)
def test_one_wrong_value(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    """An unknown key with the nearest known one, a wrong type, a value out of range."""
    found = problems(tmp_path, demo_params(**changes))
    assert len(found) == 1
    assert found[0].startswith(problem)


def sections(base: type[Section]) -> dict[str, Any]:
    """Return the sections whose options are derived from `base`, by name."""
    kinds = {name: field.annotation for name, field in Params.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, base)}


@pytest.mark.parametrize("name", sections(Switchable))
def test_a_stage_that_can_be_switched_off(name: str, tmp_path: Path) -> None:
    """`enabled` comes first, and the reason has the name of the section; a profile gives a number of at least 1."""
    kind = sections(Switchable)[name]
    assert (kind.name, next(iter(kind.model_fields))) == (name, "enabled")
    assert all(completed(composed(profile))[name][kind.number] >= 1 for profile in PROFILES)
    off, on = (getattr(load(tmp_path, demo_params(**{name: {"enabled": value}})), name) for value in (False, True))
    assert off.switched_off() == Unavailable(f"switched off in this run: {name}.enabled is false")
    assert on.switched_off() is None


@pytest.mark.fault(13)
def test_a_missing_key_and_a_missing_section(tmp_path: Path) -> None:
    """A key has its default; DVC needs every section, even an empty one, and some keys. All are named at once."""
    content = demo_params()
    del content["clean"]["language"], content["shards"]
    assert load(tmp_path, content) == load(tmp_path, demo_params())
    del content["teacher"], content["refine"], content["crawl"]["folder"]
    content["skipgram"] |= {"window": 0, "dimensions": 50}
    wrong, unknown, *missing = sorted(problems(tmp_path, content), key=lambda problem: "missing" in problem)
    assert wrong.startswith("skipgram.window = 0: ") and unknown.startswith("skipgram.dimensions: unknown key; ")
    assert sorted(missing) == [
        "crawl.folder: missing",
        "refine: missing; write `refine: {}` for its defaults",
        "teacher: missing",
    ]


REFERENCES = re.findall(r"\$\{((?!item\b)\w+\.\w+)\}", (ROOT / "dvc.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("key", sorted(set(REFERENCES)))
def test_a_key_that_dvc_puts_into_the_graph(key: str, tmp_path: Path) -> None:
    """It is refused if it is missing, since DVC knows no default."""
    content = composed("demo")
    section, _, name = key.partition(".")
    (problem,) = problems(tmp_path, content | {section: {k: v for k, v in content[section].items() if k != name}})
    assert problem.startswith((f"{key}: missing", f"{section}: {name} is missing, to which dvc.yaml refers; write "))


@pytest.mark.parametrize("name", sections(Section))
def test_every_default_is_valid(name: str, tmp_path: Path) -> None:
    """pydantic does not look at defaults."""
    kind = sections(Section)[name]
    defaults = {key: field.get_default() for key, field in kind.model_fields.items() if not field.is_required()}
    section = getattr(load(tmp_path, demo_params()), name)
    assert kind.model_validate(section.model_dump() | defaults).model_dump(include=set(defaults)) == defaults


def test_what_base_yaml_shows_is_the_default() -> None:
    """One truth: the options; simcse differs from the encoder that it names, and a pool is a file of the repository."""
    base = read_params(ROOT / "conf/base.yaml")
    shown = {
        f"{name}.{key}": (base[name][key], kind.model_fields[key].get_default())
        for name, kind in sections(Section).items()
        for key in base.get(name, {}).keys() & kind.model_fields.keys()
        if not kind.model_fields[key].is_required()
    }
    different = {key for key, (value, default) in shown.items() if repr(value) != repr(default)}
    assert different == {"simcse.maximum_length", "held_out.pool"} and len(shown) > 15


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no sections"),
        (b"- clean\n", "has no sections"),
        (b"clean: [", "cannot be read: "),
        (b"\xff\xfe\x00", "cannot be read: "),
        (None, "cannot be read: "),
    ],
)
@pytest.mark.fault(13)
def test_no_sections(content: bytes | None, message: str, tmp_path: Path) -> None:
    """An empty file, a list, and one that is not YAML, not UTF-8, or not there; the error has the remedy."""
    path = tmp_path / "params.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"(?s)params\.yaml {message}.*Restore it with `git checkout"):
        load_params(path)
