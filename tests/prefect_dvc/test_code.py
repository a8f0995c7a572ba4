"""Static checks of prefect_dvc/: how its modules import one another, and how they call git."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "prefect_dvc"
SOURCES = sorted(PACKAGE.rglob("*.py"))
VALUE_FOLLOWS = {"-p", "-m", "--branch", "--points-at"}  # git reads the next argument as their value, hyphen or not


def parse(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))


def module(source: Path) -> str:
    return ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def git_calls(source: Path) -> Iterator[ast.Call]:
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "git":
            yield node


def git_lists(source: Path) -> Iterator[list[ast.expr]]:
    """List the arguments of every call of git: of `git(root, ...)`, and of lists that become such a call."""
    for call in git_calls(source):
        yield call.args[1:]
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.List) and any(isinstance(part, ast.Name) and part.id == "END" for part in node.elts):
            yield node.elts


def unguarded(arguments: list[ast.expr]) -> list[str]:
    """List the arguments that git could read as an option: values without `--end-of-options` or `--` before them."""
    found: list[str] = []
    before = ""
    for argument in arguments:
        if ast.unparse(argument) in ("END", "'--'"):
            break
        literal = argument.value if isinstance(argument, ast.Constant) else None
        prefix = isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant)
        if literal is None and not prefix and before not in VALUE_FOLLOWS:
            found.append(ast.unparse(argument))
        before = str(literal)
    return found


# Lists of a checked form, spread into a call.
SPREAD = {"*put", "*remove", "*push", "*options", "*listed", "*where", "*arguments"}


@pytest.mark.parametrize("source", SOURCES, ids=module)
@pytest.mark.fault(33)
def test_git_takes_no_value_for_an_option(source: Path) -> None:
    """Every value from outside, or computed, follows `--end-of-options`."""
    wrong = [value for arguments in git_lists(source) for value in unguarded(arguments)]
    assert set(wrong) <= SPREAD


def test_the_rule_finds_an_unguarded_value() -> None:
    bad, good = ast.parse('git(r, "fetch", order.code)\ngit(r, "fetch", END, order.code)').body
    assert isinstance(bad, ast.Expr) and isinstance(bad.value, ast.Call)
    assert isinstance(good, ast.Expr) and isinstance(good.value, ast.Call)
    assert unguarded(bad.value.args[1:]) == ["order.code"]
    assert unguarded(good.value.args[1:]) == []
