"""params.yaml as frozen typed models, one for each section.

No field has a default, so every value that changes a result is in the file that DVC tracks. `python -m stages.params`
checks the file and prints nothing if it is correct; stages/profiles.py writes profiles into it.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from reproductions.ablations.options import FineTunedStudent, FineTunedTeacher, MlpHead
from reproductions.paper1.word_vectors.options import (
    Contrastive,
    Fasttext,
    PaperStudentOptions,
    Refine,
    Repulsion,
    Skipgram,
)
from reproductions.paper2.pairs.options import (
    Combinations,
    Intermediate,
    MetricLearning,
    ModernLearning,
    PairCost,
    PairGrid,
    Pairs,
    Simcse,
)
from reproductions.paper3.component_focus.options import AugmentedPairs, ComponentFocus, ComponentTraining
from reproductions.paper3.syntax.options import Syntax
from reproductions.systems.options import Evaluate
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.crawl.options import Crawl, Web
from sentence_distillery.distillation.options import (
    SearchStudent,
    Size,
    SoftLabels,
    Student,
)
from sentence_distillery.domain.options import Domain
from sentence_distillery.evaluation.sets.options import Benchmarks
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import options_from
from sentence_distillery.io.options import Section, Seed
from sentence_distillery.runtime.options import Shards
from sentence_distillery.teachers.options import KINDS, AnyTeacher, Encoders, Teacher, kind_of

PARAMS = Path("params.yaml")
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


class Params(Section):
    name: str = Field(title="name of these settings in the report, in model cards and in reports/runs")
    crawl: Crawl
    web: Web
    clean: Clean
    held_out: HeldOut
    benchmarks: Benchmarks
    skipgram: Skipgram
    fasttext: Fasttext
    refine: Refine
    contrastive: Contrastive
    repulsion: Repulsion
    teacher: AnyTeacher
    soft_labels: SoftLabels
    simcse: Simcse
    student: Student
    size: Size
    paper_student: PaperStudentOptions
    mlp_head: MlpHead
    search_student: SearchStudent
    fine_tuned_teacher: FineTunedTeacher
    fine_tuned_student: FineTunedStudent
    seeds: Seeds
    evaluate: Evaluate
    domain: Domain
    encoders: Encoders
    pairs: Pairs
    pair_grid: PairGrid
    metric_learning: MetricLearning
    modern_learning: ModernLearning
    intermediate: Intermediate
    combinations: Combinations
    pair_cost: PairCost
    syntax: Syntax
    component_focus: ComponentFocus
    component_training: ComponentTraining
    augmented_pairs: AugmentedPairs
    shards: Shards

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
            transformers = ", ".join(known.transformers())
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

    @field_validator("student")
    @classmethod
    def _start_is_tracked(cls, student: Student) -> Student:
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


class _Loader(yaml.SafeLoader):
    """Load YAML by the core schema of version 1.2, as DVC does: 1e-05 is a number and `no` a string."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that is there twice, as DVC does: one of both values would be lost."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        if twice := [key for row, key in enumerate(keys) if key in keys[:row]]:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]} occurs twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


_Loader.yaml_implicit_resolvers = {}  # without those of YAML 1.1
for _tag, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)"),
    ("float", r"[-+]?[0-9][0-9_]*(\.[0-9_]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"),
    ("float", r"[-+]?\.[0-9_]+([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
    ("merge", "<<"),
    ("value", "="),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    """Read 0o14, 0x1F, 0b11, 1_000 and 014 as DVC does: 12, 31, 3, 1000 and 14."""
    text = node.value.replace("_", "")
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.removeprefix("+"))
    base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2], 10)
    try:
        return int(sign + (digits[2:] if base != 10 else digits), base)
    except ValueError as error:  # thousands of digits, or none
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def _size(value: Any, seen: tuple[int, ...] = ()) -> int:
    """Count the values below one as often as they are named; raises YAMLError if there are too many, or no end."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) in seen:
        raise yaml.YAMLError("an anchor is named within itself")
    total = 1
    for each in value.values() if isinstance(value, dict) else value:
        total += _size(each, (*seen, id(value)))
        if total > MOST_VALUES:
            raise yaml.YAMLError(f"its anchors expand to more than {MOST_VALUES:,} values")
    return total


class _ParamsLoader(_Loader):
    """The same, but a day without quotes is refused: DVC makes a date of it, which it cannot keep."""


def _refuse_day(loader: _Loader, node: yaml.ScalarNode) -> None:
    raise yaml.constructor.ConstructorError(
        None, None, f"put {node.value} in quotes, as '{node.value}'", node.start_mark
    )


_DAY = re.compile(r"^[0-9]{4}-(?:[0-9]{2}-[0-9]{2}|[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9:.]+.*)$")
_ParamsLoader.add_implicit_resolver("!day", _DAY, None)
_ParamsLoader.add_constructor("!day", _refuse_day)


def read_params(path: Path = PARAMS, loader: type[_Loader] = _Loader) -> dict[str, Any]:
    """Read the file without a change; raise an InputError if it is not YAML, or has no sections."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), loader)
        _size(content)
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply. Restore it with `git checkout {path}`.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {error}. Restore it with `git checkout {path}`.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} has no sections. Restore it with `git checkout {path}`.")
    return content


def load_params(path: Path = PARAMS) -> Params:
    """Read and check the whole file; raise an InputError that lists every problem."""
    content = read_params(path, _ParamsLoader)
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        problems = "\n".join(f"  {_problem(dict(detail))}" for detail in error.errors())
        raise InputError(f"{path} has {error.error_count()} problem(s):\n{problems}") from error


def _problem(detail: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"] if part not in KINDS)
    if detail["type"] == "extra_forbidden":
        return f"{place}: unknown key{_suggestion(detail['loc'])}"
    if detail["type"] == "missing":
        return f"{place}: missing"
    if detail["type"] == "value_error":  # concerns a whole section
        return f"{place}: {detail['ctx']['error']}" if place else str(detail["ctx"]["error"])
    return f"{place} = {detail['input']!r}: {detail['msg']}"


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
