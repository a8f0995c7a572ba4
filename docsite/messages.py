"""Measure the English of messages, of docstrings' first lines and of comments: `make lint`.

    errors, log lines, printed lines      the arguments of `raise`, `log.…`, `print` and `sys.exit`
    help of commands, parameter titles    the arguments `help`, `description` and `title`
    docstrings                            the first line
    comments                              each, joined with the lines that continue it

A sentence has at most 25 words, a placeholder counting as one, and none of the turns of TURNS. An offence is named with
its file and line.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from docsite.kept import ROOT

FOLDERS = ("sentence_distillery", "stages", "flows", "prefect_dvc", "benchmarks", "docsite")
WORDS = 25
CALLS = {"print", "exit", "error", "debug", "info", "warning", "exception", "critical"}
KEYWORDS = {"help", "description", "title"}
TURNS = {  # pattern -> the better wording
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|better|larger|worse)[a-z]": "'is not a', not 'is no'",
    r"\bwhere there (?:is|are)\b": "'if there is', not 'where there is'",
    r"\bwhat (?:it|he|they|you|one|is|was|were)\b": "a noun, not a clause with 'what'",
    r"\b(?:whoever|whatever)\b": "a noun, not 'whoever' or 'whatever'",
    r"\banew\b": "'again', not 'anew'",
    r"\bjoined pairs?\b": "'cross-encoder', not 'joined pair'",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n")


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each message, docstring and comment of a module, a placeholder as `_`.

    >>> sorted(strings("log.info('Kept %s.', 3)  # a count\\nraise ValueError(f'x is {x}; give 1.')"))
    [(1, 'Kept %s.'), (1, 'a count'), (2, 'x is _; give 1.')]
    """
    yield from _comments(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            yield node.body[0].lineno, docstring.splitlines()[0]
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from _texts(node.exc.args)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield from _texts(node.args if name in CALLS else [])
            yield from _texts([keyword.value for keyword in node.keywords if keyword.arg in KEYWORDS])


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment with its line, one of several lines as one."""
    first, column, found = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if found and token.start != (first + len(found), column):
                yield first, " ".join(found)
                found = []
            if not found:
                first, column = token.start
            found.append(token.string.lstrip("# "))
    if found:
        yield first, " ".join(found)


def _texts(nodes: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "_" for part in node.values]
            yield node.lineno, "".join(parts)


def problems(text: str) -> Iterator[str]:
    """Yield the offences of a message.

    >>> list(problems("x is no directory; give one."))
    ["write 'is not a', not 'is no'"]
    """
    yield from turns(text)
    for sentence in SENTENCE.split(text):
        if (words := len(sentence.split())) > WORDS:
            yield f"a sentence of {words} words, at most {WORDS}; split it"


def turns(text: str) -> Iterator[str]:
    """Yield the better wording for each turn of TURNS in a text."""
    for pattern, better in TURNS.items():
        if re.search(pattern, text):
            yield f"write {better}"


def offences(path: Path) -> Iterator[str]:
    """Yield each offence of a file with its line."""
    for line, text in sorted(strings(path.read_text(encoding="utf-8"))):
        for problem in problems(text):
            yield f"{path.relative_to(ROOT)}:{line}: {problem}: '{' '.join(text.split())[:70]}'"


def files() -> list[Path]:
    """List the modules whose messages are checked."""
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def main() -> None:
    found = [offence for path in files() for offence in offences(path)]
    if found:
        sys.exit("\n".join(found))
    print(f"messages: {len(files())} files")


if __name__ == "__main__":
    main()
