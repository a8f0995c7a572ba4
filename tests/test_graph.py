"""dvc.yaml lists the code folders, data and parameter sections of every stage; the code agrees.

There is no cycle between folders. `[tool.importlinter]` of pyproject.toml has the layers of packages and rooms.
"""

import ast
import functools
import graphlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stages.params import NAMING, Params
from tests.workspace import ROOT, demo_params

LIBRARY = "sentence_distillery"
PACKAGES = (LIBRARY, "news_crawler", "reproductions")
# They cannot change a result: params.py puts sections together, whose defaults are in options; the rest is the frame.
UNWATCHED = {f"stages/{name}.py" for name in ("lock", "params", "paths", "places", "stage")}
# The place where shards are computed. The bytes are the same, so a change must not rerun anything.
UNLISTED = {"shards"}
SOURCES = sorted(path.relative_to(ROOT) for top in (*PACKAGES, "stages") for path in (ROOT / top).rglob("*.py"))
ENGINE = sorted(path.relative_to(ROOT) for path in (ROOT / "prefect_dvc").rglob("*.py"))
CORE = {"io", "runtime", "encoder"}


def read_yaml(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content


REGISTRY = Path("reproductions/registry.py")  # it finds the modules paper.py
STAGES: dict[str, dict[str, Any]] = read_yaml("dvc.yaml")["stages"]


@functools.cache
def tree(source: Path) -> ast.Module:
    return ast.parse((ROOT / source).read_text(encoding="utf-8"))


def source_of(name: str) -> Path | None:
    """The file of the module with this dotted name, if it is one of ours and not a package."""
    path = Path(*name.split(".")).with_suffix(".py")
    return path if path in SOURCES or path in ENGINE else None


@functools.cache
def imported(source: Path) -> frozenset[str]:
    """List the dotted names that a module imports; for a `from` import with and without the imported name."""
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
    """A module and everything of ours that it imports, directly or not; nothing behind the frame.

    Options have constants, and import others' options and the bounds of values, which change no result.
    """
    found, left = {source}, [source]
    while left:
        last = left.pop()
        new = {path for name in imported(last) if (path := source_of(name))} - found
        if last == REGISTRY:
            new |= {path for path in SOURCES if path.match("reproductions/*/paper.py")} - found
        new = {
            path for path in new if str(path) not in UNWATCHED and (path.stem == "options" or last.stem != "options")
        }
        found |= new
        left += new
    return found


def module(name: str) -> Path:
    """The module that a stage runs."""
    found = re.match(r"python -m (stages(?:\.\w+)+)(?: |$)", STAGES[name]["cmd"])
    assert found, f"stage {name}: cmd is not `python -m stages.<room>.<module>`"
    source = source_of(found[1])
    assert source, f"stage {name}: {found[1]} does not exist"
    return source


def folder(source: Path) -> str:
    """sentence_distillery/corpus for sentence_distillery/corpus/text.py."""
    return source.parent.as_posix()


def axes(name: str) -> dict[str, str]:
    """The axes of a stage that is a matrix, each with the parameter that holds its values."""
    return {axis: values[2:-1] for axis, values in STAGES[name].get("matrix", {}).items()}


def cell_names(name: str) -> str:
    """Return DVC's names of the cells of a matrix, as in dvc.yaml; the stage's own name if it is not a matrix."""
    cell = "-".join(f"${{item.{axis}}}" for axis in axes(name))
    return f"{name}@{cell}" if cell else name


def section(key: str) -> str:
    """`encoders` for `encoders.${item.encoder}`, since a cell depends only on its own entry."""
    return key.partition(".")[0]


def sections_read(source: Path) -> set[str]:
    """List the sections that a stage reads from `params`; one that may name an encoder is read with `encoders`."""
    read = {
        node.attr
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "params"
        if node.attr in Params.model_fields
    }
    return read | {"encoders"} if read & set(NAMING) else read


def options_read(source: Path) -> set[Path]:
    """The options modules that have the defaults of a stage: of the sections that it reads, and those they import."""
    kinds = {name: field.annotation for name, field in Params.model_fields.items()}
    modules = {
        source_of(kinds[name].__module__)
        for name in sections_read(source) - UNLISTED
        if hasattr(kinds[name], "model_fields")
    }
    return {path for first in modules if first and str(first) not in UNWATCHED for path in closure(first)}


def code(name: str) -> set[str]:
    """The code that a stage depends on: modules of stages, folders of the library, options of other folders."""
    used = closure(module(name)) | options_read(module(name))
    folders = {folder(path) for path in used if path.parts[0] in PACKAGES and path.stem != "options"}
    wanted = {one for one in folders if not folders & {parent.as_posix() for parent in Path(one).parents}}
    wanted |= {
        str(path) for path in used if path.stem == "options" and not folders & {p.as_posix() for p in path.parents}
    }
    return wanted | {str(path) for path in used if path.parts[0] == "stages"}


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.fault(14)
def test_code_deps_are_what_the_stage_imports(name: str) -> None:
    """A change to any folder of code that a stage imports, or to a default, and to no other, reruns it."""
    assert {dep for dep in STAGES[name]["deps"] if Path(dep).parts[0] in (*PACKAGES, "stages")} == code(name)


@pytest.mark.fault(14)
def test_packages_hold_no_code() -> None:
    """An __init__.py runs with every import of its folder, and no stage lists it.

    That of the stages says how threads wait, on which no result depends.
    """
    packages = {str(source) for source in SOURCES if source.name == "__init__.py" and (ROOT / source).stat().st_size}
    assert packages <= {f"{LIBRARY}/__init__.py", "stages/__init__.py"}


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.fault(14)
def test_params_are_sections_that_the_stage_reads(name: str) -> None:
    """A change to a section reruns the stages that read it, and no other."""
    listed = STAGES[name]["params"]
    assert len(set(listed)) == len(listed)
    axis_sections = {section(key) for key in axes(name).values()}
    assert sections_read(module(name)) - UNLISTED <= {section(key) for key in listed} | axis_sections
    assert {section(key) for key in listed} <= sections_read(module(name))


@pytest.mark.fault(14)
def test_every_section_is_read_by_a_stage() -> None:
    """A section that no stage lists would change nothing, and nobody would notice."""
    listed = {section(key) for stage in STAGES.values() for key in stage["params"]}
    listed |= {section(key) for name in STAGES for key in axes(name).values()}
    assert listed == set(demo_params()) - UNLISTED


def test_stages_that_profit_from_a_gpu_say_so() -> None:
    marked = {name for name, stage in STAGES.items() if stage.get("meta", {}).get("resources") == "gpu"}
    assert {"soft_labels", "student"} <= marked
    for name in marked:
        device = Path(LIBRARY, "runtime/device.py")
        assert device in closure(module(name)), f"{name} is marked, but never asks for a device"
        assert "DISTILLERY_DEVICE" not in STAGES[name]["cmd"], f"{name}: the device belongs to the environment"


def outputs() -> Iterator[str]:
    for stage in STAGES.values():
        for out in (*stage.get("outs", []), *stage.get("metrics", [])):
            yield from [out] if isinstance(out, str) else out


def test_every_output_is_written_by_one_stage() -> None:
    found = list(outputs())
    assert len(found) == len(set(found))
    assert {f"reports/counters/{cell_names(name)}.json" for name in STAGES} <= set(found)


def imports(sources: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each module with each module of ours that it imports, also within a function."""
    for source in sources:
        yield from ((source, other) for name in imported(source) if (other := source_of(name)))


def refuse_circle(edges: Iterable[tuple[object, object]]) -> None:
    """Raise a CycleError if what one imports leads back to it."""
    sorter = graphlib.TopologicalSorter[object]()
    for one, other in edges:
        if one != other:
            sorter.add(one, other)
    sorter.prepare()


def test_no_circle_in_the_engine() -> None:
    """Neither among its modules nor among its folders; prefect_dvc itself has what is above and below all."""
    edges = list(imports(ENGINE))
    refuse_circle(edges)
    pairs = ((folder(one), folder(other)) for one, other in edges)
    refuse_circle(pair for pair in pairs if "prefect_dvc" not in pair)


def test_no_circle_between_folders() -> None:
    """The encoder counts with its folders: it reads and writes file formats, and they make encoders."""

    def room(source: Path) -> str:
        encoder = f"{LIBRARY}/encoder"
        return encoder if folder(source).startswith(encoder) else folder(source)

    refuse_circle((room(one), room(other)) for one, other in imports(SOURCES))


def test_the_encoder_needs_the_core_alone() -> None:
    """`load` imports only the three packages of the core."""
    allowed = {"numpy", "safetensors", "tokenizers", LIBRARY, "torch", "tqdm"}
    outside = {"torch", "tqdm"}  # imported when a caller asks for tensors or for a progress bar
    for source in closure(Path(LIBRARY, "encoder/static_encoder.py")):
        assert source.parts[1] in CORE, source
        for node in tree(source).body:
            names = {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {node.module.split(".")[0]}
            assert not names & outside, source
            assert names <= allowed | set(__import__("sys").stdlib_module_names), source


def test_the_library_knows_no_path_of_the_repository() -> None:
    """Only stages/paths.py has paths of data, models and reports."""
    for source in SOURCES:
        if source.parts[0] not in PACKAGES:
            continue
        for node in ast.walk(tree(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Path" and node.args:
                text = ast.unparse(node.args[0]).strip("'\"")
                assert not text.startswith(("data/", "models/", "reports/", "params.yaml")), f"{source}: {text}"
