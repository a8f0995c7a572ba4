"""Profiles: named sets of parameters, conf/base.yaml with the changes of conf/profile/<name>.yaml on top.

params.yaml is yours: edit it, and every kind of run sees the edit. A profile is written into it only on demand, and
never over an edit that no profile has.

    python -m stages.params use best                       # write a profile into params.yaml; shows what changes
    python -m stages.params use paper --site china-daily   # with a news site of conf/site as its corpus
    python -m stages.params diff                           # the edits of params.yaml
    python -m stages.params save mine                      # keep them as conf/profile/mine.yaml
    python -m stages.params pool                           # keep the held-out texts of the last run
    python -m stages.params new mine --texts my_texts --teacher minilm-l6       # your own text and teacher
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter

from sentence_distillery.corpus.articles import articles_from_texts
from sentence_distillery.corpus.held_out import draw_pool, write_pool
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.schema import HELD_OUT, HELD_OUT_FILE
from sentence_distillery.corpus.tables.formats import COLUMN, SUFFIXES, format_of
from sentence_distillery.corpus.tables.reading import Reading, files_in
from sentence_distillery.distillation.corpus_files import NOTHING, read_articles
from sentence_distillery.io.artifacts import InputError, atomic_directory, atomic_file, read_table
from sentence_distillery.runtime.options import Shards
from sentence_distillery.teachers.options import AnyTeacher, FunctionTeacher, VectorTeacher
from stages import paths
from stages.params import PARAMS, Params, completed, read_params

HEADER = """\
The parameters of a run. This file is yours: edit it, and `dvc repro`, `dvc exp run -S student.epochs=3`, a run from
Prefect's page and a scheduled retraining all see the edit. `python -m stages.params use best` writes a profile of conf/
into it, and refuses to write over an edit; `python -m stages.params save mine` keeps the edits as a profile. A key that
is not here has its default: docs/reference/parameters.md lists all. Add it, or `dvc exp run -S +refine.seed=2`.
"""
REST = """
All other sections, with what the profile changes; {} is all by default. DVC needs each."""
NEW = """\
# A student of your own text, by `make distil`. Keep it in git. After an edit of this file:
# python -m stages.params use {name} --discard, then dvc repro report. All else is as in conf/base.yaml.
"""
SAVED = "# Made by `python -m stages.params save {name}`: what differs from conf/base.yaml.\n"
LONGEST = 80  # characters of a value that is shown
NAME = r"[a-z0-9][a-z0-9_-]*"
EDITED = f"""\
{PARAMS} has edits that are not in a profile:
{{}}
Keep them: `python -m stages.params save <name>`. Or drop them: `python -m stages.params use <profile> --discard`."""
NOT_KEPT = f"""\
{{}} would not have these values. Write them out in {PARAMS}, as conf/base.yaml has others:
{{}}"""
ABSENT = "not there"  # in a difference


def compose(profile: str, site: str | None = None) -> CommentedMap:
    """Return conf/base.yaml, comments and all, with the values of a profile, and of a news site, in their places.

    Sections that neither has are empty, as DVC needs each one.

    Raises InputError: There is no such profile or site, or its file cannot be read.
    """
    layers = [_read(_named("profile", profile))]
    if site is not None:
        layers.append(_read(_named("site", site)))
    return _composed(*layers)


def _composed(*layers: Mapping[str, Any]) -> CommentedMap:
    params = _read(paths.CONF / "base.yaml")
    params.yaml_set_start_comment(HEADER)
    _add_sections(params)
    for layer in layers:
        _lay(params, layer)
    return params


def use(profile: str, site: str | None, discard: bool) -> list[str]:
    """Write a profile into params.yaml, and return the lines that say what changes.

    `profile`: a name in conf/profile; `site`: a name in conf/site, or None; `discard`: whether edits of params.yaml
    that no profile has may be lost. Raises InputError: params.yaml has such edits, or is damaged; or there is no such
    profile or site.
    """
    wanted = compose(profile, site)
    if discard and not _readable():
        write(wanted)
        return [f"{PARAMS} could not be read and is written again."]
    present = read_params()
    if not discard:
        _refuse_edits(present)
    write(wanted)
    return differences(completed(present), completed(plain(wanted)))


def edits(present: Mapping[str, Any]) -> list[str]:
    """Return the differences from the profile `name`, line by line; none if some site makes it equal."""
    name = present.get("name")
    if not isinstance(name, str) or name not in known("profile"):
        return [f"name: {name!r} is not a profile of {paths.CONF / 'profile'}"]
    present = completed(present)
    found = [differences(completed(plain(compose(name, site))), present) for site in (None, *known("site"))]
    return min(found, key=len)


def save(name: str) -> Path:
    """Keep the parameters as the profile `name`, and return its file.

    Raises InputError: The name is not one, there is such a profile, params.yaml cannot be read, or a key is left out
    that conf/base.yaml gives another value than the default, so that a profile cannot leave it out.
    """
    path = _path(name)
    if path.exists():
        raise InputError(f"{path} exists; give another name, or delete it.")
    present = read_params() | {"name": name}
    changed = _changes(completed(plain(_composed())), completed(present))
    made = _composed(changed)
    if lost := differences(_meant(plain(made)), _meant(present)):
        raise InputError(NOT_KEPT.format(path, "\n".join(f"  {line}" for line in lost)))
    write_profile(path, SAVED.format(name=name), changed)
    write(compose(name))
    return path


def _meant(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run, in which encoders stand where they are named."""
    return Params.model_validate(content).model_dump(mode="json", exclude={"encoders"})


@dataclass(frozen=True)
class Own:
    """A corpus and a teacher that a user brings."""

    texts: Path  # a file or a directory; one that is not below data/texts or data/external is copied there
    # a name of section `encoders`, "package:<name>", a directory, a hub id with `revision`, a function module:function,
    # or a Parquet file of vectors; one that is not in either of these folders is copied there
    teacher: str
    revision: str | None = None  # the commit of a hub id, or your version of a function
    text_column: str = "text"  # the column that has the text, in files with columns
    language: str = "en"  # ISO 639-1 code; documents in other languages are dropped
    # what the teacher puts before every text, "" for nothing; None is the default of its files
    prompt: str | None = None
    # an encoder whose token vectors training starts from; None: the teacher's embeddings of words
    start_from: str | None = None


def new(name: str, own: Own) -> tuple[Path, int]:
    """Write the profile of a student of one's own text, use it, and return its file and the number of texts.

    It switches off the variants of the student, two of which need human ratings. A profile that says the same is kept
    as it is.

    Raises InputError: The name is not one, another profile has it, there is no text, the teacher cannot be loaded, or
    params.yaml has edits.
    """
    path, encoders = _path(name), _read(paths.CONF / "base.yaml")["encoders"]
    _refuse_edits(read_params())
    number, place = _readable_texts(own), _place(own.texts, name)
    teacher = _known_teacher(own, encoders) if own.teacher in encoders else _teacher(own, name)
    if own.teacher in encoders:
        _refuse_unfit(encoders[own.teacher])
    pool = paths.POOLS / f"{name}.csv"
    texts = {"path": str(place), "format": None, "columns": {"text": own.text_column}}
    content = {
        "name": name,
        "crawl": {"source": "files", "inputs": [texts], "folder": str(place)},
        "held_out": {"pool": str(pool)},
        "clean": {"language": own.language},
        "teacher": teacher,
        **({"student": {"start_from": own.start_from}} if own.start_from else {}),
        **{section: {"enabled": False} for section in ("mlp_head", "fine_tuned_teacher", "fine_tuned_student")},
    }
    if path.exists() and plain(_read(path)) != content:
        raise InputError(f"{path} exists and differs; give another name, or delete it.")
    if not pool.exists():
        _draw(own, pool)
    _copy(own.texts, place)
    if isinstance(teacher, dict) and "vectors" in teacher:
        _copy(Path(own.teacher), Path(teacher["vectors"]).parent)
    if not path.exists():
        write_profile(path, NEW.format(name=name), content)
    write(compose(name))
    return path, number


def _readable_texts(own: Own) -> int:
    """Read all texts once, so that a wrong column or encoding is said before the first stage; return their number.

    Raises InputError: A file cannot be read, or there is no text.
    """
    if own.texts.is_file() and format_of(own.texts) is None:
        raise InputError(f"{own.texts} has no known suffix; use {', '.join(SUFFIXES)}.")
    reading = Reading(None if own.text_column == COLUMN else own.text_column)
    number = sum(bool(text.strip()) for _, text in read_articles(own.texts, reading))
    if number == 0:
        raise InputError(NOTHING.format(own.texts))
    return number


def _draw(own: Own, pool: Path) -> None:
    """Draw the held-out texts, which stay the same in later editions; raises InputError."""
    base = plain(_composed())
    options = Clean.model_validate(base["clean"] | {"language": own.language})
    reading = Reading(None if own.text_column == COLUMN else own.text_column)
    articles = articles_from_texts(text for _, text in read_articles(own.texts, reading) if text.strip())
    held_out, where = HeldOut.model_validate(base["held_out"]), Shards.model_validate(base.get("shards", {}))
    draw_pool(articles, options, held_out, pool, where)


def keep_pool() -> Path:
    """Write the held-out texts of data/corpus as the pool of the present name, name it in params.yaml, and return it.

    Raises InputError: There is such a pool, or nothing is held out.
    """
    params = _read(PARAMS)
    pool = paths.POOLS / f"{params['name']}.csv"
    if pool.exists():
        raise InputError(f"{pool} exists, and its figures are of these texts; delete it to have other ones.")
    held_out = read_table(paths.SENTENCES / HELD_OUT_FILE, HELD_OUT)
    if not len(held_out):
        raise InputError(f"{paths.SENTENCES} has no held-out texts; set held_out.share, and run `dvc repro clean`.")
    write_pool(held_out, pool)
    params["held_out"]["pool"] = str(pool)
    write(params)
    return pool


def _known_teacher(own: Own, encoders: Mapping[str, Any]) -> Any:
    """Return the name of an entry of `encoders`, or the entry with another prompt."""
    return own.teacher if own.prompt is None else {**plain(encoders[own.teacher]), "prompt": own.prompt}


def _teacher(own: Own, name: str) -> dict[str, Any]:
    """Return the options of a teacher that is not an entry of `encoders`; raises InputError if it cannot be loaded.

    The hash of a function's source and of a file of vectors is pinned: it is how DVC notices another one.
    """
    from sentence_distillery.distillation.distill import as_teacher  # takes two seconds
    from sentence_distillery.teachers.functions import load_function_encoder
    from sentence_distillery.teachers.teachers import refuse_unfit
    from sentence_distillery.teachers.vectors import check_vectors

    teacher = as_teacher(own.teacher, own.revision, None, own.prompt)
    refuse_unfit(teacher)
    if isinstance(teacher, FunctionTeacher):
        return teacher.model_dump() | {"sha256": load_function_encoder(teacher).sha256}
    if isinstance(teacher, VectorTeacher):
        place = _place(Path(own.teacher), f"{name}-teacher")
        place = place if place.suffix else place / Path(own.teacher).name
        return {"vectors": str(place), "sha256": check_vectors(teacher)}
    prompt = {} if own.prompt is None else {"prompt": own.prompt}
    return {"reference": own.teacher, "revision": own.revision} | prompt


def _refuse_unfit(teacher: Mapping[str, Any]) -> None:
    """Look at the teacher's files now, not after the corpus was cleaned; raises InputError."""
    from sentence_distillery.teachers.teachers import refuse_unfit  # takes two seconds

    adapter: TypeAdapter[AnyTeacher] = TypeAdapter(AnyTeacher)
    refuse_unfit(adapter.validate_python(plain(teacher)))


def _path(name: str) -> Path:
    """Return the file of a new profile; raises InputError if its name is not one."""
    if not re.fullmatch(NAME, name):
        raise InputError(f"{name!r} is not a name; use small letters, digits, - and _, as in my-texts.")
    return paths.CONF / "profile" / f"{name}.yaml"


def _refuse_edits(present: Mapping[str, Any]) -> None:
    """Raise InputError if parameters have edits that no profile has."""
    if lost := edits(present):
        raise InputError(EDITED.format("\n".join(f"  {line}" for line in lost)))


def _place(texts: Path, name: str) -> Path:
    """Return the place of the texts, now or after copying."""
    return Path(os.path.relpath(texts.resolve(), Path.cwd())) if _is_watched(texts) else paths.TEXTS / name


def _is_watched(texts: Path) -> bool:
    """Return whether texts lie where they may stay."""
    return any(texts.resolve().is_relative_to(place.resolve()) for place in (paths.TEXTS, paths.EXTERNAL))


def _copy(texts: Path, target: Path) -> None:
    """Copy texts, in place of those of an earlier call, unless they may stay."""
    if _is_watched(texts):
        return
    with atomic_directory(target) as partial:
        for file in files_in(texts):
            place = partial / (file.relative_to(texts) if texts.is_dir() else file.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)


def write_profile(path: Path, comment: str, content: Mapping[str, Any]) -> None:
    """Write a profile: its comment, then its values."""
    text = StringIO()
    _yaml().dump(dict(content), text)
    with atomic_file(path) as partial:
        partial.write_text(comment + text.getvalue(), encoding="utf-8")


def write(params: CommentedMap) -> None:
    """Write params.yaml."""
    with atomic_file(PARAMS) as partial, partial.open("w", encoding="utf-8") as file:
        _yaml().dump(params, file)


def known(kind: str) -> list[str]:
    """List the names of profiles or sites, sorted; `kind` is "profile" or "site"."""
    return sorted(file.stem for file in (paths.CONF / kind).glob("*.yaml"))


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List the values that differ, as in "student.epochs: 5 -> 8", in the order of `old`."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    return [
        f"{key}: {_cut(before.get(key, ABSENT))} -> {_cut(after.get(key, ABSENT))}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key, ABSENT) != after.get(key, ABSENT)
    ]


def plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as plain types, as `read_params` would read them."""

    def convert(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): convert(each) for key, each in value.items()}
        if isinstance(value, list):
            return [convert(each) for each in value]
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return value

    return {str(key): convert(value) for key, value in params.items()}


def _changes(base: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `params` that differ from `base`, nested as they are."""
    changed: dict[str, Any] = {}
    for key, value in params.items():
        known = base.get(key)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            if inner := _changes(known, value):
                changed[key] = inner
        elif value != known or key not in base:
            changed[key] = value
    return changed


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _shown(value)


def _shown(value: Any) -> str:
    text = StringIO()
    flow = YAML(typ="safe", pure=True)
    flow.default_flow_style, flow.width = True, 10_000
    flow.dump(value, text)
    return text.getvalue().removesuffix("...\n").strip()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _lay(params: CommentedMap, layer: Mapping[str, Any]) -> None:
    """Put the values of `layer` into `params`, section by section; comments of `params` stay, and no others come in."""
    for key, value in layer.items():
        if isinstance(value, Mapping) and isinstance(params.get(key), CommentedMap):
            _lay(params[key], value)
        elif key in params:
            params[key] = _bare(value)
        else:  # in a section of several lines before the last key, whose comment goes on to the next section
            params.insert(len(params) - (not params.fa.flow_style()), key, _bare(value))


def _bare(value: Any) -> Any:
    """Return a copy without comments, which would break a section of one line."""
    if not isinstance(value, CommentedMap | CommentedSeq):
        return value
    if isinstance(value, CommentedMap):
        copy: CommentedMap | CommentedSeq = CommentedMap({key: _bare(each) for key, each in value.items()})
    else:
        copy = CommentedSeq(map(_bare, value))
    if value.fa.flow_style():
        copy.fa.set_flow_style()
    return copy


def _add_sections(params: dict[str, Any]) -> None:
    """Add each section that is missing, empty; with comments, in one line, below a line that says so."""
    missing = [name for name, field in Params.model_fields.items() if name not in params and field.is_required()]
    for name in missing:
        params[name] = CommentedMap()
        params[name].fa.set_flow_style()
    if missing and isinstance(params, CommentedMap):
        params.yaml_set_comment_before_after_key(missing[0], before=REST)


def _named(kind: str, name: str) -> Path:
    if name not in known(kind):
        raise InputError(f"'{name}' is not a {kind}; {paths.CONF / kind} has {', '.join(known(kind))}.")
    return paths.CONF / kind / f"{name}.yaml"


def _readable() -> bool:
    try:
        read_params()
    except InputError:
        return False
    return True


def _read(path: Path) -> CommentedMap:
    try:
        content = _yaml().load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"{path} cannot be read: {error}. Restore it with `git checkout {path}`.") from error
    if not isinstance(content, CommentedMap):
        raise InputError(f"{path} has no sections. Restore it with `git checkout {path}`.")
    return content


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 118
    yaml.preserve_quotes = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(type(None), _null)
    return yaml


def _null(representer: RoundTripRepresenter, _: None) -> ScalarNode:
    """Write None as null; ruamel leaves the place empty."""
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")
