"""The generated pages: nothing of the parser, of the models and of dvc.yaml is left out."""

import re

import yaml

import sentence_distillery as sd
from docsite.graph import columns, needs, picture, stages
from docsite.reference import PARTS, command_line, parameters, stage_pages
from sentence_distillery import cli
from tests.workspace import ROOT


def test_every_command_and_option() -> None:
    page = command_line()
    assert all(f"## {name}\n" in page for name in cli.commands())
    assert "  --held-out SHARE" in page
    assert "  --scale LOW HIGH" in page
    assert "Needs the extra `distill`." in page
    assert "`distill` for `--megabytes`, and `onnx` for `--format onnx`." in page


def test_every_parameter() -> None:
    """With its value in conf/base.yaml and its range."""
    base = yaml.safe_load((ROOT / "conf/base.yaml").read_text(encoding="utf-8"))
    page = parameters()
    assert all(f"## {name}\n" in page for name in base)
    assert "| `warm_up` | `0.1` | number ≥ 0, ≤ 1 |" in page or "| `warm_up` | `0.1` | number ≥ 0, < 1 |" in page
    assert "| `relational_weight` | `0.3` | number ≥ 0 | weight of the in-batch Kullback-Leibler divergence |" in page
    assert len([line for line in page.splitlines() if line.startswith("| `") and line.count(" | ") == 3]) > 150
    assert "package:&lt;name&gt;, a local path" in page, "a placeholder is no HTML"


def test_every_stage_and_what_it_needs() -> None:
    assert needs()["student"] == {"benchmarks", "clean", "soft_labels"}
    assert needs()["benchmarks"] == set()
    main_job = {"benchmarks", "crawl", "clean", "soft_labels", "student", "domain", "evaluate", "seeds"}
    assert needs()["report"] == main_job
    assert "cross_encoder" in needs()["paraphrase"]  # a path of a matrix's cell in that of another
    assert "student" not in needs()["clean"]
    place = {name: number for number, column in enumerate(columns()) for name in column}
    assert place.keys() == stages().keys()
    assert all(place[other] < place[name] for name, others in needs().items() for other in others)
    drawn, page = picture(), stage_pages()
    assert all(f'href="#{name}"' in drawn and f"## {name}\n" in page for name in stages())


def test_every_parameter_and_argument_has_a_meaning() -> None:
    for page in PARTS.values():
        assert [line for line in page().splitlines() if line.startswith("|") and line.endswith("|  |")] == []


def test_the_python_reference_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: sentence_distillery(?:\.[\w.]+)?\.(\w+)$", page, re.M)
    assert set(sd.__all__) - {"__version__"} <= set(shown)
