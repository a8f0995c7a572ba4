"""Former names of systems and fields, so that figures in git stay readable under today's names.

Saved files are not changed on disk; `read_results` and `current_content` read it under today's names:

    student, deep                    student, MLP head
    student, gold/stsb/spearman      student, fine-tuned/stsb/spearman        a key of metrics.json

A former name is never reused.
"""

from collections.abc import Mapping
from typing import Any

NAMES = {  # former -> current
    "MyModel": "paper student",
    "student, deep": "student, MLP head",
    "student, gold": "student, fine-tuned",
    "deep": "MLP head",  # in reports/pareto.csv
    "own deep": "own MLP head",  # in reports/bench.json
    "further": "additional",  # teachers, in the config.json of a student
}
FIELDS = {"system"}  # those that hold names


def current(name: str) -> str:
    """Return today's name of a system or a field; a name that never changed is returned unchanged.

    >>> current("student, deep"), current("teacher")
    ('student, MLP head', 'teacher')
    """
    return NAMES.get(name, name)


def current_row(row: Mapping[str, str]) -> dict[str, str]:
    """Return a row of results.csv or pareto.csv with today's names."""
    return {column: current(value) if column in FIELDS else value for column, value in row.items()}


def current_content(content: Any) -> Any:
    """Return the content of a JSON file with today's names, in its keys and in the fields that hold names.

    Keys may have several parts, such as those of metrics.json.

    >>> current_content({"student, deep/lee/mae": 1.2, "teacher": {"further": [{"dimension": 384}]}})
    {'student, MLP head/lee/mae': 1.2, 'teacher': {'additional': [{'dimension': 384}]}}
    """
    if isinstance(content, list):
        return [current_content(value) for value in content]
    if not isinstance(content, dict):
        return content
    return {
        "/".join(map(current, key.split("/"))): current(value)
        if key in FIELDS and isinstance(value, str)
        else current_content(value)
        for key, value in content.items()
    }
