"""The comparison of an engine with `dvc repro`: it finds what is equal, and what is not."""

import subprocess
import sys
from pathlib import Path

import pytest

from measurements.graphs.__main__ import main
from measurements.graphs.change import Change, choose
from measurements.graphs.compare import Comparison, as_yaml, compared, outcomes
from measurements.graphs.graph import DeclaredStage, Dependency, Output
from measurements.graphs.names import NamesError, Project, read_names
from measurements.graphs.rewrite import rewritten
from measurements.graphs.table import read_results

GRAPH = """\
vars:
- sizes: [1, 2]
stages:
  prepare:
    cmd: python prepare.py --rate ${rate}
    deps: [raw.csv, prepare.py]
    params: [rate]
    outs: [clean]
  train:
    foreach: ${sizes}
    do:
      cmd:
      - echo begin
      - python train.py ${item}
      deps: [clean, third/lib]
      outs:
      - out/${item}.bin
      metrics:
      - out/${item}.json: {cache: false}
"""
SUBMODULE = '[submodule "lib"]\n\tpath = third/lib\n\turl = https://localhost/lib\n'
IMPORT = """\
frozen: true
deps:
- path: data/raw.csv
  repo: {url: 'https://localhost/registry', rev_lock: 1111111111111111111111111111111111111111}
outs:
- {md5: 22222222222222222222222222222222, size: 3, path: raw.csv}
"""
FILES = {
    "dvc.yaml": GRAPH,
    "params.yaml": "rate: 0.5\nother: 1\n",
    "prepare.py": "",
    ".gitmodules": SUBMODULE,
    ".gitignore": "/raw.csv\n",
    "raw.csv.dvc": IMPORT,
}

# An engine which is DVC itself, with lines as the flows write them.
ENGINE = """\
import re, subprocess, sys
done = subprocess.run([sys.executable, "-m", "dvc", "repro", "-P"], capture_output=True, text=True)
for number, line in enumerate(done.stdout.splitlines(), 1):
    if found := re.match(r"Running stage '(.*)':", line):
        print(f"[ {number}/9] {found[1]}: Ran, its command ran (1 s)")
    if found := re.match(r"Stage '(.*)' didn't change", line):
        print(f"{found[1]}: Cached, nothing has changed (0 s)")
"""
FAULT = "open('out/2.bin', 'a').write('more')\n"
END = "sys.exit(done.returncode)\n"


def mirrored(mirror: Path, name: str, files: dict[str, str]) -> None:
    """Commit `files` to a repository of the mirror."""
    root = mirror / name / "repo"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    author = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init"], ["add", "--all", "--force"], ["commit", "--message", "x"]):
        subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True)


def build_and_run(tmp_path: Path, name: str, files: dict[str, str], *how: str) -> None:
    """Build a project with these files from a mirror, and run it."""
    mirrored(tmp_path / "mirror", f"me+{name}", files)
    names = tmp_path / f"{name}.txt"
    names.write_text(f"# tiny\nme/{name}\n", encoding="utf-8")
    places = ["--names", str(names), "--work", str(tmp_path / "work")]
    main(["build", *places, "--mirror", str(tmp_path / "mirror")])
    main(["run", *places, *how])


@pytest.mark.slow
def test_it_tells_an_equal_engine_from_one_that_changes_an_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    wrong_files = {"dvc.yaml": GRAPH, "params.yaml": "rate: 0.5\n"}
    for name, files, engine, runs in (
        ("right", FILES, ENGINE + END, "3"),
        ("wrong", wrong_files, ENGINE + FAULT + END, "1"),
    ):
        script = tmp_path / f"{name}.py"
        script.write_text(engine, encoding="utf-8")
        build_and_run(tmp_path, name, files, "--command", f"{sys.executable} {script}", "--runs", runs)
    right, wrong = read_results(work)
    assert right.verdict == "same"
    assert right.features == "foreach, vars, metrics, cache: false, 1 .dvc, 1 imports, 1 submodules"
    assert right.steps["first"].by_command == ["prepare", "train@1", "train@2"]
    assert (right.steps["second"].by_command, right.changed) == ([], "params.yaml:rate")
    assert right.steps["changed"].by_command == ["prepare", "train@1", "train@2"]
    assert wrong.verdict == "differ"
    assert wrong.steps["first"].files == ["out/2.bin"]
    capsys.readouterr()
    main(["table", "--work", str(work)])
    printed = capsys.readouterr().out
    assert "| out/2.bin |" in printed
    assert "2 built: 1 same, 0 same but for line breaks" in printed


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("a: {b: 1, c: 2}", "a: {b: 1, c: 2}", "same"),
        ("a: 'one\n  two'", "a: 'one two'", "layout"),
        ("a: [2.448519270213932e-07]", "a: [2.448519270213933e-07]", "layout"),
        ("a: {b: 1, c: 2}", "a: {c: 2, b: 1}", "order"),
        ("a: {b: 1, c: 2}", "a: {b: 1, c: 3}", "CONTENT"),
    ],
)
def test_how_two_locks_differ(one: str, other: str, kind: str) -> None:
    assert compared({"dvc.lock": one.encode()}, {"dvc.lock": other.encode()}, "dvc.lock", as_yaml) == kind


def test_a_checkout_that_is_gone_gives_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """regression: the command imported the installed engine, and its results were taken for those of the checkout."""
    (tmp_path / "names.txt").write_text("me/one\n", encoding="utf-8")
    (tmp_path / "me+one").mkdir()
    (tmp_path / "me+one/info.json").write_text(
        '{"stages": [], "base": "", "features": "", "notes": [], "ignored": []}', encoding="utf-8"
    )
    monkeypatch.setattr(Comparison, "run", lambda comparison: comparison.result)
    names = ["--names", str(tmp_path / "names.txt"), "--work", str(tmp_path)]
    main(["run", *names, "--code", str(tmp_path / "gone")])
    assert "gone is not a directory: there is no result" in capsys.readouterr().err
    assert list((tmp_path / "results").iterdir()) == []


def test_the_outcomes_in_an_engine_s_output() -> None:
    text = (
        "sub/dvc.yaml:a | Ran, not an outcome: Ran, x\n"
        "[ 3/15] sub/dvc.yaml:a: Ran, its command ran (1 s)\n"
        "b: Ran on GPU worker, its command rantrain@1: Restored, an earlier run\n"
        "Cached: c; Ran: b\n"
    )
    expected = {"sub/dvc.yaml:a": "Ran", "b": "Ran on GPU worker", "train@1": "Restored"}
    assert outcomes(text, ["b", "c", "sub/dvc.yaml:a", "train@1"]) == expected


def test_a_command_keeps_its_templates_and_its_lines() -> None:
    graph = b"stages:\n  a:\n    cmd: |\n      echo 'x' ${k}\n      run\n    deps:\n    - ${in}\n    outs: [o.txt]\n"
    content = rewritten(graph, Path("/stub.py"), Path("/spec.json")).decode()
    call = f"{sys.executable} -I -S /stub.py /spec.json"
    assert f"      {call} '--note=echo '\"'\"'x'\"'\"' ${{k}}'\n" in content
    assert f"      {call} --note=run --deps '${{in}}' --outs o.txt\n" in content


@pytest.mark.parametrize(
    ("graph", "values", "reason"),
    [
        # ruamel refuses a tab there, and DVC's reader does not
        ("stages:\n  a:\n    cmd: touch {ran}\n    deps:\n    - in.txt\t\n    outs: [o.txt]\n", "k: 1\n", None),
        (
            "stages:\n  a:\n    cmd: echo ${{k}}\n    outs: [o.txt]\n",
            "k: \"it's; touch {ran}; echo '\"\n",
            "a would run more",
        ),
        ("stages:\n  a:\n    cmd: echo 1\n    outs: ['${{k}}']\n", "k: \"o' $(touch {ran}) '\"\n", "a would run more"),
    ],
)
def test_nothing_of_a_project_runs(
    graph: str, values: str, reason: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran, work = tmp_path / "RAN", tmp_path / "work"
    files = {"dvc.yaml": graph.format(ran=ran), "params.yaml": values.format(ran=ran)}
    files["queue.py"] = f"open({str(ran)!r}, 'w')\n"  # which DVC would import from the current directory
    build_and_run(tmp_path, "it", files, "--command", f"{sys.executable} -m dvc repro", "--runs", "1")
    said = capsys.readouterr()
    assert not ran.exists()
    assert reason is None or f"me+it: {reason}" in said.err
    assert (work / "me+it/t/dvc.yaml").read_text(encoding="utf-8").count("stub.py") == 1


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("params.yaml", "b: {c: x, d: 1}  # why\n", "b: {c: x, d: 2}  # why\n"),
        ("params.json", '{"b": {"c": "x", "d": 0.5}}', '{"b": {"c": "x", "d": 1.25}}'),
        ("params.toml", '[b]\nc = "x"\nd = true\n', '[b]\nc = "x"\nd = false\n'),
        ("params.py", "class b:\n    c = 'x'\n    d = 1\n", "class b:\n    c = 'x'\n    d = 2\n"),
    ],
)
def test_a_number_is_changed_in_every_form_of_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, changed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    reads = (Dependency(name, True, ("b.c", "b.d")),)
    stage = DeclaredStage("a", "a", ".", ".", ("run",), False, reads, (Output("o.txt", True, "o.txt", True),))
    change = choose([stage], Path(), frozenset({name}))
    assert change == Change(name, "b.d")
    change.apply(Path())
    assert Path(name).read_text(encoding="utf-8") == changed


def test_the_names_of_projects(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("# foreach\nme/one@plain+lock::ml/code # here\n\nme/two\n", encoding="utf-8")
    one, two = read_names(file)
    assert one == Project("me/one", frozenset({"plain", "lock"}), "ml/code")
    assert (one.key, two.key) == ("me+one@lock+plain--ml_code", "me+two")
    file.write_text("me/one@fast\n", encoding="utf-8")
    with pytest.raises(NamesError, match=r"names.txt:1: 'me/one@fast' is not owner/name"):
        list(read_names(file))


def test_every_listed_name_is_one() -> None:
    for name in ("names.txt", "reviewed.txt", "further.txt"):
        projects = list(read_names(Path(__file__).parents[2] / "measurements/graphs" / name))
        assert len({project.key for project in projects}) == len(projects)
