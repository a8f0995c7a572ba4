"""The properties of tests/properties.csv, and the tests that hold each, by their mark `@pytest.mark.fault(17)`."""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable

from docsite.saved import ROOT
from reproductions.docs.tables.cells import grid
from sentence_distillery.io.artifacts import InputError, read_rows

TESTS = ROOT / "tests"


def marked() -> dict[int, Counter[str]]:
    """Count the marks by number and file, relative to tests."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
                for number in map(ast.literal_eval, node.args):
                    found[number][path.relative_to(TESTS).as_posix()] += 1
    return found


def properties() -> list[str]:
    """List each property with its tests; raises InputError if a mark has no property, or a property no test."""
    listed = {int(row["number"]): row for row in read_rows(TESTS / "properties.csv", {})}
    found = marked()
    if unlike := found.keys() ^ listed.keys():
        raise InputError(f"tests/properties.csv and the marks `fault` differ in {sorted(unlike)}; add a row or a test.")
    rows = []
    for number, row in listed.items():
        (path, _), *others = found[number].most_common()
        more = f" and {len(others)} more" if others else ""
        rows.append([str(number), row["property"], f"`{path}`{more}"])
    return grid(["no.", "property", "tests"], rows, words=3)


TABLES: dict[str, Callable[[], list[str]]] = {"properties": properties}
