"""dvc.yaml against the code: what a stage imports and reads is what DVC watches, and imports run one way.

Two modules are watched by no stage on purpose: stages/params.py, since DVC tracks parameters key by key, and
stages/progress.py, which only shows how far a stage is.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from stages.params import Params
from tests.workspace import ROOT, demo_params

UNWATCHED = {"stages/params.py", "stages/process.py", "stages/progress.py"}
# Where shards are worked on; the same bytes come out, so a change must not rerun anything.
UNLISTED = {"shards.processes", "shards.dask"}
FOUNDATIONS = {"artifacts", "checkpoint", "device", "machine", "params", "process", "progress"}
FOUNDATIONS |= {"ragged", "shards", "stage"}
SOURCES = sorted(path.relative_to(ROOT) for path in (ROOT / "stages").rglob("*.py"))


def read_yaml(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content


STAGES: dict[str, dict[str, Any]] = read_yaml("dvc.yaml")["stages"]


@functools.cache
def tree(source: Path) -> ast.Module:
    return ast.parse((ROOT / source).read_text(encoding="utf-8"))


def source_of(name: str) -> Path | None:
    """The file of the module with this dotted name, if it is one of ours and no package."""
    path = Path(*name.split(".")).with_suffix(".py")
    return path if path in SOURCES else None


@functools.cache
def imported(source: Path) -> frozenset[str]:
    """Dotted names that a module imports, those of a `from` import with and without the imported name."""
    names: set[str] = set()
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{source}: line {node.lineno} is a relative import"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def closure(source: Path) -> set[Path]:
    """A module and everything of ours that it imports, directly or not."""
    found, left = {source}, [source]
    while left:
        new = {path for name in imported(left.pop()) if (path := source_of(name))} - found
        found |= new
        left += new
    return found


def templates(source: Path) -> Iterator[str]:
    """Directories of templates that a module loads: stages/student/templates for PackageLoader("stages.student")."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "PackageLoader":
            package = ast.literal_eval(node.args[0])
            yield f"{package.replace('.', '/')}/templates"


def module(name: str) -> Path:
    """The module that a stage runs."""
    found = re.match(r"python -m (stages(?:\.\w+)+)(?: |$)", STAGES[name]["cmd"])
    assert found, f"stage {name}: cmd is not `python -m stages.<room>.<module>`"
    source = source_of(found[1])
    assert source, f"stage {name}: {found[1]} does not exist"
    return source


def room(source: Path) -> str:
    """corpus for stages/corpus/clean.py; empty for stages/params.py."""
    return source.parts[1] if len(source.parts) > 2 else ""


def leaves(value: Any, prefix: str = "") -> Iterator[str]:
    """The keys that have no keys of their own, an empty section among them."""
    if not isinstance(value, dict) or not value:
        yield prefix
        return
    for key, part in value.items():
        yield from leaves(part, f"{prefix}.{key}" if prefix else key)


def axes(name: str) -> dict[str, str]:
    """The axes of a stage that is a matrix, each with the parameter that holds its values."""
    return {axis: values[2:-1] for axis, values in STAGES[name].get("matrix", {}).items()}


def cell_names(name: str) -> str:
    """What DVC calls the cells of a matrix, as dvc.yaml would write it; the stage's own name where it is none."""
    cell = "-".join(f"${{item.{axis}}}" for axis in axes(name))
    return f"{name}@{cell}" if cell else name


def expanded(name: str, text: str) -> set[str]:
    """What a line of dvc.yaml says in each cell of the demo profile, parameters filled in."""
    params = demo_params()

    def value(key: str) -> Any:
        found: Any = params
        for part in key.split("."):
            found = found[part]
        return found

    texts = {re.sub(r"\$\{((?!item\.)[\w.]+)\}", lambda found: str(value(found[1])), text)}
    for axis, key in axes(name).items():
        texts = {one.replace(f"${{item.{axis}}}", str(item)) for one in texts for item in value(key)}
    return texts


def own_entry(key: str) -> str:
    """`encoders` for a cell's own entry of it, `encoders.${item.encoder}`; any other key as it is."""
    return key.partition(".${")[0]


def keys_read(source: Path) -> set[str]:
    """Parameters that a module takes from `params`; a section that it hands on counts with all its keys."""
    whole: dict[ast.AST, str] = {}
    keys: set[str] = set()
    for node in ast.walk(tree(source)):
        if not isinstance(node, ast.Attribute):
            continue
        if isinstance(node.value, ast.Name) and node.value.id == "params" and node.attr in Params.model_fields:
            whole.setdefault(node, node.attr)
        elif isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            outer = node.value
            section = Params.model_fields.get(outer.attr) if outer.value.id == "params" else None  # type: ignore[attr-defined]
            fields = getattr(section.annotation, "model_fields", {}) if section else {}
            if node.attr in fields:
                keys.add(f"{outer.attr}.{node.attr}")
                whole[outer] = ""
    for name in filter(None, whole.values()):
        annotation = Params.model_fields[name].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            keys |= {f"{name}.{key}" for key in annotation.model_fields}
        else:
            keys.add(name)
    return keys


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_the_module_of_its_name(name: str) -> None:
    source = module(name)
    assert source.stem == name
    assert [node.name for node in tree(source).body if isinstance(node, ast.FunctionDef)][-1] == "main"
    frames = [
        node.args[0].value
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "stage"
        if isinstance(node.args[0], ast.Constant)
    ]
    assert frames in ([], [name])  # that of a matrix is the name of its cell


@pytest.mark.parametrize("name", STAGES)
def test_code_deps_are_what_the_stage_imports(name: str) -> None:
    """fault 14: a change to any module that a stage imports, or template that it loads, and to no other reruns it."""
    sources = closure(module(name))
    wanted = {str(source) for source in sources} - UNWATCHED
    wanted |= {directory for source in sources for directory in templates(source)}
    listed = {dep for dep in STAGES[name]["deps"] if dep.startswith("stages/")}
    assert listed == wanted


def test_packages_hold_no_code() -> None:
    """fault 14: an __init__.py runs with every import of its room, and no stage lists it."""
    assert not [str(source) for source in SOURCES if source.name == "__init__.py" and (ROOT / source).stat().st_size]


def test_all_package_data_is_watched() -> None:
    """fault 14: a file that is no module (a template) is a dependency of some stage."""
    data = {path.relative_to(ROOT) for path in (ROOT / "stages").rglob("*") if path.is_file()}
    data = {path for path in data if path.suffix not in (".py", ".pyc")}
    watched = {Path(dep) for stage in STAGES.values() for dep in stage["deps"]}
    assert not [str(path) for path in data if not watched & {path, *path.parents}]


@pytest.mark.parametrize("name", STAGES)
def test_params_are_leaves(name: str) -> None:
    """fault 14: keys one by one, so that a change to one key reruns only the stages that read it; an encoder is one."""
    listed, params = STAGES[name]["params"], demo_params()
    assert len(set(listed)) == len(listed)
    known = {*leaves(params), *(f"encoders.{encoder}" for encoder in params["encoders"])}
    assert {one for key in listed for one in expanded(name, key)} <= known


@pytest.mark.parametrize("name", STAGES)
def test_params_are_what_the_stage_reads(name: str) -> None:
    """fault 14: exactly the keys that the stage's module, or a module that it hands all of `params` to, reads."""
    read = keys_read(module(name))
    for source in closure(module(name)) - {Path(other) for other in map(module, STAGES)}:
        functions = (node for node in ast.walk(tree(source)) if isinstance(node, ast.FunctionDef))
        arguments = (argument for function in functions for argument in function.args.args)
        if any(
            isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Params" for argument in arguments
        ):
            read |= keys_read(source)
    assert {own_entry(key) for key in STAGES[name]["params"]} == read - UNLISTED


def test_every_parameter_is_read_by_a_stage() -> None:
    """fault 14: a parameter that no stage lists would change nothing, and nobody would notice."""
    listed = {own_entry(key) for stage in STAGES.values() for key in stage["params"]}
    listed |= {key for name in STAGES for key in axes(name).values()}
    known = {"encoders" if key.startswith("encoders.") else key for key in leaves(demo_params())}
    assert listed == known - UNLISTED


def test_stages_that_profit_from_a_gpu_say_so() -> None:
    marked = {name for name, stage in STAGES.items() if stage.get("meta", {}).get("resources") == "gpu"}
    assert {"soft_labels", "student"} <= marked
    for name in marked:
        assert Path("stages/device.py") in closure(module(name)), f"{name} is marked, but never asks for a device"
        assert "DISTILLERY_DEVICE" not in STAGES[name]["cmd"], f"{name}: the device belongs to the environment"


def test_every_output_is_written_by_one_stage() -> None:
    outputs = [
        path
        for stage in STAGES.values()
        for out in (*stage.get("outs", []), *stage.get("metrics", []))
        for path in ([out] if isinstance(out, str) else out)
    ]
    assert len(outputs) == len(set(outputs))
    assert {f"reports/counters/{cell_names(name)}.json" for name in STAGES} <= set(outputs)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_imports_run_one_way(source: Path) -> None:
    """Stages know neither flows nor Prefect nor DVC; the foundations know no room; evaluation stands on all others."""
    names = imported(source)
    assert not {"flows", "prefect", "dvc"} & {name.split(".")[0] for name in names}
    rooms = {room(path) for name in names if (path := source_of(name))} - {""}
    if room(source) == "":
        assert source.stem in FOUNDATIONS | {"__init__"}
        assert not rooms
    if room(source) != "evaluation":
        assert "evaluation" not in rooms


def test_imports_have_no_cycle() -> None:
    for source in SOURCES:
        behind = {path for name in imported(source) if (path := source_of(name)) and path != source}
        assert not [str(path) for path in behind if source in closure(path)]
