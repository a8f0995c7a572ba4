"""The Python reference as text, from signatures and docstrings: docs/reference/python.md asks for it by marks.

    <!-- reference: sentence_distillery.load -->
    (what `described` returns)
    <!-- end of reference -->

Docstrings are read by griffe, as docsite.docstrings prepares them.
"""

from collections.abc import Iterator
from functools import cache
from textwrap import indent

import griffe

from docsite.docstrings import Examples
from docsite.reference import cell
from sentence_distillery.io.artifacts import InputError

PACKAGE = "sentence_distillery"
OPTIONS = {"returns_multiple_items": False, "returns_named_value": False}
WIDTH = 88  # of a signature, which takes a line for each parameter if it is longer
STARS = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
TITLES = {"parameters": "argument", "attributes": "attribute", "raises": "error"}


@cache
def _package() -> griffe.Module:
    found = griffe.load(PACKAGE, extensions=griffe.load_extensions(Examples), docstring_parser="google")
    assert isinstance(found, griffe.Module)
    return found


def described(path: str) -> str:
    """Describe an object by its dotted path: a function, a class with its methods, or a module with its functions.

    Raises:
        InputError: If there is no such object.
    """
    try:
        found = _package()[path.removeprefix(f"{PACKAGE}.")]
    except KeyError:
        raise InputError(f"The Python reference asks for {path}, which does not exist.") from None
    return "\n".join(_described(found.final_target if found.is_alias else found, "###"))


def _described(found: griffe.Object, level: str) -> Iterator[str]:
    yield from (f"{level} {found.name}", "")
    if isinstance(found, griffe.Class | griffe.Function):
        yield from _signature(found)
    yield from _sections(found)
    for member in _members(found):
        yield from _described(member, f"{level}#")


def _members(found: griffe.Object) -> list[griffe.Object]:
    """Return a module's own functions and classes, or a class's methods and properties, then those that it inherits."""
    if not isinstance(found, griffe.Module | griffe.Class):
        return []
    members = [*found.members.values(), *found.inherited_members.values()]
    own = [member for member in members if isinstance(found, griffe.Class) or not member.is_alias]
    targets = [member.final_target if isinstance(member, griffe.Alias) else member for member in own]
    return [member for member in targets if not member.name.startswith("_") and member.docstring and _is_shown(member)]


def _is_shown(member: griffe.Object) -> bool:
    return isinstance(member, griffe.Function | griffe.Class) or "property" in member.labels


def _signature(found: griffe.Class | griffe.Function) -> list[str]:
    """Write a definition as Python, of a class by its `__init__`; a long one takes a line for each parameter."""
    is_class = isinstance(found, griffe.Class)
    written = list(_parameters(found))
    result = f" -> {found.returns}" if isinstance(found, griffe.Function) and found.returns else ""
    name = "__init__" if is_class else found.name
    code = f"def {name}({', '.join(written)}){result}: ..."
    if len(code) > WIDTH:
        code = "\n".join([f"def {name}(", *(f"    {each}," for each in written), f"){result}: ..."])
    if is_class:
        code = f"class {found.name}:\n{indent(code, '    ')}"
    return ["```python", code.replace("'", '"'), "```", ""]


def _parameters(found: griffe.Class | griffe.Function) -> Iterator[str]:
    star = False  # whether parameters by name alone have begun
    if isinstance(found, griffe.Class) and found.parameters[0].name != "self":
        yield "self"  # a dataclass
    for parameter in found.parameters:
        if parameter.kind is griffe.ParameterKind.keyword_only and not star:
            yield "*"
        star |= parameter.kind in (griffe.ParameterKind.keyword_only, griffe.ParameterKind.var_positional)
        kind = f": {parameter.annotation}" if parameter.annotation else ""
        default = "" if parameter.default is None or parameter.kind in STARS else f" = {parameter.default}"
        yield f"{STARS.get(parameter.kind, '')}{parameter.name}{kind}{default}"


def _sections(found: griffe.Object) -> Iterator[str]:
    """Write the sections of a docstring: paragraphs, tables, code."""
    for section in found.docstring.parse("google", **OPTIONS) if found.docstring else ():
        kind = section.kind.value
        if kind == "text":
            yield from (section.value, "")
        elif kind == "examples":
            code = "\n\n".join(text for _, text in section.value)
            yield from ("```pycon", code, "```", "")
        elif kind in TITLES:
            yield from (f"| {TITLES[kind]} | meaning |", "| --- | --- |")
            for item in section.value:
                name = item.annotation if kind == "raises" else item.name
                yield f"| `{name}` | {cell(item.description)} |"
            yield ""
        elif kind in ("returns", "yields"):
            yield from (f"{kind.title()}: {' '.join(item.description for item in section.value)}", "")
        else:
            raise ValueError(f"{found.path}: a section '{kind}' of a docstring has no form in the reference.")
