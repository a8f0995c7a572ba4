"""Check the docstrings of the public interface: `make lint`.

A public function or method of PUBLIC has a docstring. It has a section

    Args       that names each argument, if there are any
    Returns    or Yields, if it returns something
    Raises     if it raises an error itself
    Example    with `>>>`, its own or that of its class
    Reference  in METHODS, its own or that of its class: author, title, year and address of the publication

Properties and overloads are left out. HELPERS need no reference. `tests/docsite/test_docstrings.py` runs the examples.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from docsite.kept import ROOT

PACKAGE = ROOT / "sentence_distillery"
PUBLIC = (
    "__init__.py",
    "benchmarks/data.py",
    "distillation/distill.py",
    "distillation/sizing.py",
    "domain/texts.py",
    "encoder/compression.py",
    "encoder/interface.py",
    "encoder/precision.py",
    "encoder/similarity.py",
    "encoder/static_encoder.py",
    "evaluation/evaluate.py",
    "evaluation/tasks.py",
    "protocols",
    "training",
)
METHODS = (  # the files that implement published methods
    "distillation/distill.py",
    "encoder/compression.py",
    "encoder/precision.py",
    "encoder/similarity.py",
    "encoder/static_encoder.py",
    "evaluation/tasks.py",
    "protocols",
    "training/losses.py",
    "training/schedules.py",
    "training/trainer.py",
)
# Functions and classes of METHODS without a reference: steps of those that have one, checks, and this project's own.
HELPERS = {
    "Index", "Judgements", "TaskSet", "as_teacher", "check", "check_precision", "checked_scores", "compress",
    "compressed", "constant", "cosine_blocks", "cosines", "distillation_loss", "draws", "halving",
    "kind_of_reference", "linear", "nearest", "own_task", "precisions_of_draws", "predictions", "read_task",
    "refuse_layers", "reordered", "searched", "similarity_pairwise", "texts_to_embed", "token_counts",
    "why_not_predicted", "why_unavailable", "without_cut_dimensions",
}  # fmt: skip
LEFT_OUT = {"property", "cached_property", "Shared", "overload", "abstractmethod"}  # attributes, and interfaces

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(names: tuple[str, ...] = PUBLIC) -> list[Path]:
    """List the files of the public interface, or of some of its names."""
    places = [PACKAGE / name for name in names]
    return sorted(path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place]))


def functions(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the public functions of a module and the methods of its public classes, with their names."""
    for each in node.body:
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            yield from functions(each, f"{prefix}{each.name}.")
        elif isinstance(each, Function) and not each.name.startswith("_"):
            names = {getattr(found, "attr", getattr(found, "id", "")) for found in each.decorator_list}
            if not names & LEFT_OUT:
                yield prefix + each.name, each


def arguments(function: Function) -> list[str]:
    """List the arguments of a function, without `self` and `cls`.

    >>> arguments(ast.parse("def f(self, a, *b, c=1, **d): ...").body[0])
    ['a', 'c', 'b', 'd']
    """
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def problems(function: Function, owner: str = "", published: bool = False) -> Iterator[str]:
    """Yield the sections that a function's docstring lacks; `owner` is the docstring of its class.

    >>> function = ast.parse("def f(a) -> int:\\n  'Say a.'\\n  raise ValueError(a)").body[0]
    >>> list(problems(function))
    ['Args lacks a', 'Returns is missing', 'Raises is missing', 'Example is missing']
    >>> list(problems(function, owner="Example:\\n    >>> f(1)", published=True))[3:]
    ['Reference is missing']
    """
    text = ast.get_docstring(function)
    if text is None:
        yield "a docstring is missing"
        return
    described = re.split(r"^(?:Returns|Yields|Raises|Example|Reference):$", text.partition("Args:\n")[2], flags=re.M)[0]
    for name in arguments(function):
        if not re.search(rf"^ +\*{{0,2}}{name}: ", described, re.M):
            yield f"Args lacks {name}"
    returned = ast.unparse(function.returns) if function.returns else "None"
    if returned not in ("None", "Self") and not re.search(r"^(?:Returns|Yields):$", text, re.M):
        yield "Returns is missing"
    raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    if raised and not re.search(r"^Raises:$", text, re.M):
        yield "Raises is missing"
    if ">>> " not in text + owner:
        yield "Example is missing"
    if published and not re.search(r"^Reference:$", f"{text}\n{owner}", re.M):
        yield "Reference is missing"


def offences(path: Path) -> Iterator[str]:
    """Yield each offence of a file with its line."""
    module, published = ast.parse(path.read_text(encoding="utf-8")), path in files(METHODS)
    owners = {each.name: ast.get_docstring(each) or "" for each in module.body if isinstance(each, ast.ClassDef)}
    for name, function in functions(module):
        first = name.partition(".")[0]
        for problem in problems(function, owners.get(first, ""), published and first not in HELPERS):
            yield f"{path.relative_to(ROOT)}:{function.lineno}: {name}: {problem}"


def main() -> None:
    found = [offence for path in files() for offence in offences(path)]
    if found:
        sys.exit("\n".join(found))
    print(f"sections: {len(files())} files")


if __name__ == "__main__":
    main()
