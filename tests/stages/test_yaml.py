"""The readers of YAML of the stages and of the flows beside DVC's own."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.utils.serialize import YAMLFileCorruptedError, parse_yaml

from prefect_dvc.settings.yaml_reader import read_yaml
from sentence_distillery.io.artifacts import InputError
from stages.params import load_params, read_params
from tests.workspace import write_params

REFUSED = "refused"
SAME = ["no", "on", "y", "~", "null", "true", "True", "TRUE", "false", "tRUE", "''", "'no'", '"1"', "12:30:45", "1e"]
SAME += ["0b2", "0", "-0", "00", "014", "08", "0o14", "0x1F", "0X1f", "0b11", "1_000", "1__0", "+1", "-12", "0_1"]
SAME += ["9" * 4_000, ".5", "-.5", "1.", "1e5", "1E5", "1e-3", "1.5e3", "010.5", "1_0.5", ".5e3", ".5e+3", "+.inf"]
SAME += ["-.INF", "0.1e-3_0", "[1, [2, {a: no}]]", "{a: 014, b: 0x1F}", "&x [1, 2]", "!!str 1", "|\n  line\n", "1.2.3"]
SAME += ["_1", "- -", "a: b: c", "=", "<<", "*nobody", "!!python/object:os.system x", "[", "@x", "`x", "%x"]
SAME += ["{a: 1, a: 2}", "[&x {a: 1, b: 2}, {<<: *x, b: 3}]"]
ANCHORS = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


def by_flows(text: str) -> Any:
    try:
        return read_yaml(text)
    except (yaml.YAMLError, ValueError):
        return REFUSED


def by_dvc(text: str) -> Any:
    try:
        return parse_yaml(text, "params.yaml")
    except (YAMLFileCorruptedError, ValueError, RecursionError):
        return REFUSED


def by_stages(directory: Path) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        path = directory / "params.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            return read_params(path)
        except InputError as error:
            assert str(path) in str(error) and "git checkout" in str(error)
            return REFUSED

    return read


@pytest.mark.parametrize("value", SAME)
@pytest.mark.fault(44)
def test_one_value_or_one_refusal(value: str, tmp_path: Path) -> None:
    """DVC, the stages and the flows read the same value, of the same type, or all refuse it."""
    text = f"a: {value}\n"
    expected = by_dvc(text)
    for read in (by_flows, by_stages(tmp_path)):
        found = read(text)
        assert found == expected, (read, found)
        assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: " + "[" * 50_000 + "]" * 50_000, id="nested deeply"),
        pytest.param("a: " + "{a: " * 20_000, id="nested mappings"),
        pytest.param(f"a: &a0 [x]\n{ANCHORS}", id="anchors of anchors"),
        pytest.param("a: &a [*a]\n", id="an anchor within itself"),
        pytest.param("a: " + "9" * 5_000, id="an integer of 5,000 digits"),
        pytest.param("a: 0b\n_: 0x\nb: !!int 0x\n", id="an integer without digits"),
    ],
)
@pytest.mark.fault(44)
def test_bombs_are_refused(text: str, tmp_path: Path) -> None:
    """By the stages and the flows, before anything runs, without a traceback and without their memory."""
    assert by_flows(text) == REFUSED
    assert by_stages(tmp_path)(text) == REFUSED


@pytest.mark.parametrize("day", ["2026-01-05", "2026-1-5 10:00:00", "2026-11-21T10:00:00Z"])
@pytest.mark.fault(44)
def test_a_day_without_quotes(day: str, tmp_path: Path) -> None:
    """DVC makes a date of it and then refuses it; the check of params.yaml says what to do, at once."""
    assert isinstance(by_dvc(f"a: {day}")["a"], date)
    path = tmp_path / "params.yaml"
    write_params(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("since: null", f"since: {day}"), encoding="utf-8")
    with pytest.raises(InputError, match=rf"params\.yaml cannot be read: put {day} in quotes, as '{day}'"):
        load_params(path)
