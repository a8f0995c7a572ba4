"""params.yaml as frozen typed models, one for each section.

A key that the file does not have is the default of its options module, on which the stages that read it depend in
dvc.yaml, as they do on the file. What dvc.yaml itself refers to, such as the axes of a matrix, has no default.

`python -m stages.params` checks the file, silently if it is correct; stages/profiles.py writes profiles into it.
"""

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode

from news_crawler import options as crawl
from reproductions.ablations import options as ablations
from reproductions.paper1.word_vectors import options as word_vectors
from reproductions.paper2.pairs import options as pairs
from reproductions.paper2.pairs.options import Combinations, PairCost, PairGrid
from reproductions.paper3.component_focus import options as component_focus
from reproductions.paper3.component_focus.options import AugmentedPairs, ComponentFocus
from reproductions.paper3.syntax import options as syntax
from reproductions.systems import options as systems
from sentence_distillery.corpus import options as corpus
from sentence_distillery.corpus.options import HeldOut
from sentence_distillery.distillation import options as distillation
from sentence_distillery.distillation.options import StudentOptions
from sentence_distillery.domain import options as domain
from sentence_distillery.evaluation.sets import options as sets
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import options_from
from sentence_distillery.io.options import Section, Seed
from sentence_distillery.runtime import options as runtime
from sentence_distillery.teachers import options as teachers
from sentence_distillery.teachers.options import KINDS, Encoders, Teacher, kind_of

PARAMS = Path("params.yaml")
NO_POOL = "conf/held_out/none.csv"
RELEASED = "released"  # the encoder that comes with the library, which git tracks


class Seeds(Section):
    values: list[Seed] = Field(title="further seeds, with which the quick trainings are repeated")

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"{self.values} has a seed twice; name each seed once")
        return self


NAMING = ("teacher", "soft_labels", "simcse", "evaluate")  # sections that may name an encoder of section `encoders`
AnyMatrix = TypeVar("AnyMatrix", PairGrid, PairCost, ComponentFocus, AugmentedPairs)


class Run(Section):
    """What concerns a run as a whole."""

    name: str = Field(title="name of these settings in the report, in model cards and in reports/runs")
    seeds: Seeds


class Params(  # the fields of the last base come first: a check sees those before it
    runtime.Sections,
    component_focus.Sections,
    syntax.Sections,
    pairs.Sections,
    ablations.Sections,
    word_vectors.Sections,
    domain.Sections,
    systems.Sections,
    distillation.Sections,
    teachers.Sections,
    sets.Sections,
    corpus.Sections,
    crawl.Sections,
    Run,
):
    """All sections, and the checks that concern more than one."""

    @model_validator(mode="before")
    @classmethod
    def _named_encoders(cls, content: Any) -> Any:
        known = content.get("encoders") if isinstance(content, dict) else None
        if not isinstance(known, dict):
            return content
        return content | {name: _with_encoders(content[name], known, name) for name in NAMING if name in content}

    @field_validator("pair_grid", "pair_cost", "component_focus", "augmented_pairs")
    @classmethod
    def _encoders_are_known(cls, section: AnyMatrix, info: ValidationInfo) -> AnyMatrix:
        match section:
            case PairCost():
                given = [section.encoder]
            case AugmentedPairs():
                given = [section.teacher]
            case _:
                given = section.encoders
        known: Encoders | None = info.data.get("encoders")
        if known is not None and (unknown := [name for name in given if name not in known]):
            transformers = ", ".join(name for name in known.root if name in known)
            raise ValueError(f"unknown encoder {', '.join(unknown)}; known encoders: {transformers}")
        return section

    @model_validator(mode="after")
    def _only_transformers_are_fine_tuned(self) -> Self:
        tuned = self.fine_tuned_teacher.enabled and self.fine_tuned_student.enabled
        others = [
            each for each in (self.teacher, *self.soft_labels.additional_teachers) if not isinstance(each, Teacher)
        ]
        if tuned and others:
            raise ValueError(
                f"{others[0].reference} is {kind_of(others[0])}, which cannot be fine-tuned; set "
                "fine_tuned_teacher.enabled and fine_tuned_student.enabled to false"
            )
        return self

    @field_validator("held_out")
    @classmethod
    def _pool_is_written(cls, held_out: HeldOut) -> HeldOut:
        if "pool" not in held_out.model_fields_set:
            raise ValueError(f"pool is missing, to which dvc.yaml refers; write pool: {NO_POOL}, or another file")
        return held_out

    @field_validator("student")
    @classmethod
    def _start_is_tracked(cls, student: StudentOptions) -> StudentOptions:
        if student.start_from not in (None, RELEASED):
            raise ValueError(
                f"start_from is {student.start_from!r}, but only {RELEASED} and null are known here, since DVC would "
                "not see another encoder change; `sentence-distillery distill --start-from` takes any"
            )
        return student

    @field_validator("combinations")
    @classmethod
    def _poolings_are_made(cls, combinations: Combinations, info: ValidationInfo) -> Combinations:
        made = info.data["pair_grid"].poolings if "pair_grid" in info.data else combinations.poolings
        if absent := [pooling for pooling in combinations.poolings if pooling not in made]:
            raise ValueError(f"poolings contains {', '.join(absent)}, which is not in pair_grid.poolings; add it there")
        return combinations

    @field_validator("component_focus")
    @classmethod
    def _tasks_are_parsed(cls, focus: ComponentFocus, info: ValidationInfo) -> ComponentFocus:
        parsed = info.data["syntax"].sets if "syntax" in info.data else focus.tasks
        unparsed = [task for task in focus.tasks if task.partition("+")[0] not in parsed]
        if unparsed and focus.weights != [0.0]:
            raise ValueError(
                f"tasks contains {', '.join(unparsed)}, which is not in syntax.sets, the sets to parse; add it there"
            )
        return focus


def _with_encoders(value: Any, known: dict[str, Any], place: str) -> Any:
    """Put the entries of section `encoders` in place of their names.

    `teacher` and each of `additional_teachers` may be a name; a section may have the key `encoder`, next to keys that
    differ from the entry.
    """

    def entry(name: Any, where: str) -> dict[str, Any]:
        if name not in known:
            raise ValueError(f"{where}: unknown encoder {name!r}; known encoders: {', '.join(known)}")
        return dict(known[name])

    if isinstance(value, str):
        return entry(value, place)
    if isinstance(value, list):
        return [_with_encoders(each, known, f"{place}.{row}") for row, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    own = {key: value[key] for key in value if key != "encoder"}
    own |= {
        key: _with_encoders(own[key], known, f"{place}.{key}")
        for key in ("additional_teachers", "references")
        if isinstance(own.get(key), list)
    }
    return entry(value["encoder"], f"{place}.encoder") | own if "encoder" in value else own


MOST_VALUES = 200_000


class _Constructor(SafeConstructor):
    """That of DVC, but a day without quotes is refused: DVC makes a date of it, which it cannot keep."""


def _refuse_day(constructor: _Constructor, node: ScalarNode) -> None:
    raise ConstructorError(None, None, f"put {node.value} in quotes, as '{node.value}'", node.start_mark)


_Constructor.add_constructor("tag:yaml.org,2002:timestamp", _refuse_day)


def _size(value: Any, seen: tuple[int, ...] = ()) -> int:
    """Count the values below one as often as they are named; raises YAMLError if there are too many, or no end."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) in seen:
        raise YAMLError("an anchor is named within itself")
    total = 1
    for each in value.values() if isinstance(value, dict) else value:
        total += _size(each, (*seen, id(value)))
        if total > MOST_VALUES:
            raise YAMLError(f"its anchors expand to more than {MOST_VALUES:,} values")
    return total


def read_params(path: Path = PARAMS) -> dict[str, Any]:
    """Read the file as DVC does, by YAML 1.2; raise an InputError if it is not YAML, or has no sections."""
    reader = YAML(typ="safe", pure=True)  # the reader in C ends the process at 50,000 brackets
    reader.Constructor = _Constructor
    try:
        content = reader.load(path.read_text(encoding="utf-8"))
        _size(content)
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply. Restore it with `git checkout {path}`.") from error
    except (OSError, ValueError, YAMLError) as error:  # no text, a number of thousands of digits, or no YAML
        raise InputError(f"{path} cannot be read: {error}. Restore it with `git checkout {path}`.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} has no sections. Restore it with `git checkout {path}`.")
    return content


def load_params(path: Path = PARAMS) -> Params:
    """Read and check the whole file; raise an InputError that lists every problem."""
    content = read_params(path)
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        problems = "\n".join(f"  {_problem(dict(detail))}" for detail in error.errors())
        raise InputError(f"{path} has {error.error_count()} problem(s):\n{problems}") from error


def completed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return params.yaml as it is written, with the default of each key and section that it does not have.

    >>> completed({"size": {"megabytes": 8.0}})["size"]
    {'megabytes': 8.0, 'vocabulary': None, 'precision': None}
    """
    found = dict(content)
    for name, field in Params.model_fields.items():
        value = content.get(name)
        if name == "encoders" and isinstance(value, Mapping):
            found[name] = {each: _completed(entry, KINDS[kind_of(entry)]) for each, entry in value.items()}
        elif name == "teacher" and isinstance(value, Mapping):
            found[name] = _completed(value, KINDS[kind_of(value)])
        elif isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            found[name] = _completed(content.get(name, {}), field.annotation)
    return found


def _completed(value: Any, model: Any) -> Any:
    """Return a section with its defaults; what an encoder has follows from the entry that it is named by."""
    if not isinstance(value, Mapping):
        return value
    fields = dict(model.model_fields)
    if "encoder" in value and issubclass(model, Teacher):
        fields = {key: field for key, field in fields.items() if key not in Teacher.model_fields}
    return {key: field.get_default() for key, field in fields.items() if not field.is_required()} | dict(value)


def _problem(detail: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"] if part not in KINDS)
    if detail["type"] == "extra_forbidden":
        return f"{place}: unknown key{_suggestion(detail['loc'])}"
    if detail["type"] == "missing":
        return f"{place}: missing{_empty(detail['loc'])}"
    if detail["type"] == "value_error":  # concerns a whole section
        return f"{place}: {detail['ctx']['error']}" if place else str(detail["ctx"]["error"])
    return f"{place} = {detail['input']!r}: {detail['msg']}{_empty(detail['loc'])}"


def _empty(location: tuple[str | int, ...]) -> str:
    """Say how a whole section is left to its defaults, if all its values have one."""
    kind: Any = Params.model_fields[str(location[0])].annotation if len(location) == 1 else None
    if not hasattr(kind, "model_fields") or any(field.is_required() for field in kind.model_fields.values()):
        return ""
    return f"; write `{location[0]}: {{}}` for its defaults"


def _suggestion(location: tuple[str | int, ...]) -> str:
    """Suggest the known key nearest to the unknown one at `location`."""
    model: Any = Params
    for part in location[:-1]:
        if part in KINDS:
            model = KINDS[str(part)]
            continue
        field = model.model_fields.get(part) if isinstance(part, str) else None
        model = field.annotation if field else model
        model = model if hasattr(model, "model_fields") else model.__args__[0]
    known = list(model.model_fields)
    nearest = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else f"; known keys are {', '.join(known)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m stages.params", description="Check params.yaml, or change it.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("diff", help="list the edits, the differences from the profile that `name` names")
    using = commands.add_parser("use", help="write a profile of conf/profile into params.yaml")
    using.add_argument("profile")
    using.add_argument("--site", help="a news site of conf/site as the corpus")
    using.add_argument("--discard", action="store_true", help="overwrite edits that are not in a profile")
    saving = commands.add_parser("save", help="keep the edits as a new profile")
    saving.add_argument("profile")
    commands.add_parser("pool", help="keep the held-out texts of the last run for all later editions")
    making = commands.add_parser("new", help="make and use a profile for your own text and teacher")
    making.add_argument("profile")
    making.add_argument("--texts", type=Path, required=True, help="file or directory: .txt, .md, .csv, .jsonl, ...")
    making.add_argument(
        "--teacher", required=True, help="a name of `encoders`, package:<name>, a directory, or a hub id"
    )
    making.add_argument("--revision", help="commit of a hub id")
    making.add_argument("--text-column", default="text", help="column of tables that holds the text (text)")
    making.add_argument(
        "--prompt", help="prompt before every text that the teacher embeds (default: the one in its files)"
    )
    making.add_argument(
        "--start-from",
        choices=[RELEASED],
        help="encoder whose token vectors training starts from (the teacher's embeddings of words)",
    )
    making.add_argument("--language", default="en", help="ISO 639-1 code; other languages are dropped (en)")
    options = parser.parse_args(arguments)
    try:
        with options_from("command line"):
            _run(options)
        load_params()
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("Interrupted; no file is half-written. Run the command again.", file=sys.stderr)
        sys.exit(130)  # 128 + SIGINT, as a shell has it


def _run(options: argparse.Namespace) -> None:
    if options.command is None:
        return
    if options.command in ("new", "save"):
        load_params()  # a mistyped key would be taken for an edit
    from stages import profiles  # imports this module

    match options.command:
        case "diff":
            print("\n".join(profiles.edits(read_params())) or "No edits.")
        case "use":
            print("\n".join(profiles.use(options.profile, options.site, options.discard)) or "Nothing changes.")
        case "new":
            given = {name: value for name, value in vars(options).items() if name not in ("command", "profile")}
            path, texts = profiles.new(options.profile, profiles.Own(**given))
            print(f"{texts:,} texts. {path} has the parameters of this run.")
        case "pool":
            print(f"{profiles.keep_pool()} has the held-out texts; params.yaml names it.")
        case "save":
            print(f"{profiles.save(options.profile)} has the edits.")


if __name__ == "__main__":
    main()
