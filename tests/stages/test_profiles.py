"""Profiles and edits of params.yaml: nothing that a user has written is lost."""

import hashlib
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from prefect.utilities.schema_tools.validation import is_valid

from news_crawler import snapshot
from prefect_dvc.errors import SettingsError
from prefect_dvc.settings.parameters import configure, known_keys
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.options import FunctionTeacher, Teacher, VectorTeacher
from stages import profiles
from stages.params import PARAMS, completed, load_params, main, read_params
from tests.prefect_dvc.conftest import git, make_repository, pipeline, set_param, stage
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository's conf/, and params.yaml of the demo profile."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    monkeypatch.chdir(tmp_path)
    profiles.write(profiles.compose("demo"))
    return tmp_path


def edit(section: str, **values: Any) -> None:
    params = read_params()
    params[section] |= values
    PARAMS.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def test_the_comments_of_base_stay(workspace: Path) -> None:
    """regression: Hydra wrote params.yaml without one."""
    base = Path("conf/base.yaml").read_text(encoding="utf-8").split("name: base", 1)[1]
    comments = [line.partition("#")[2] for line in base.splitlines() if "#" in line]
    written = PARAMS.read_text(encoding="utf-8")
    assert comments and all(f"#{comment}" in written for comment in comments)
    assert written.startswith("# The parameters of a run. This file is yours")
    lines = written.splitlines()
    assert lines.index("student:") < lines.index("encoders:") < lines.index("modern_learning: {}")


def test_every_profile_is_written_as_it_is_read(workspace: Path) -> None:
    """Also with a news site in the place of its corpus, which is not an edit: the next one takes its place."""
    for name, site in itertools.product(profiles.known("profile"), (None, *profiles.known("site"))):
        profiles.use(name, site, discard=False)
        assert read_params() == profiles.plain(profiles.compose(name, site))
        params = load_params()
        assert params.name == name
        if site is not None:
            assert (params.crawl.source, [given.name for given in params.web.sites]) == ("web", [site])
            snapshot.check(params.web.model_copy(update={"contact": "you@example.org"}))


def test_a_file_of_an_earlier_version_has_every_key(workspace: Path) -> None:
    """It loads, means the same, and has no edits; an edit in it is one."""
    meant = load_params()
    PARAMS.write_text(yaml.safe_dump(completed(read_params())), encoding="utf-8")
    assert "near_duplicate_threshold" in PARAMS.read_text(encoding="utf-8")
    assert load_params() == meant and profiles.edits(read_params()) == []
    edit("clean", near_duplicate_threshold=0.7)
    assert profiles.edits(read_params()) == ["clean.near_duplicate_threshold: 0.8 -> 0.7"]


def test_a_section_that_a_new_version_brings_is_no_edit(workspace: Path) -> None:
    """The check says how to write it, and `use` writes it."""
    params = read_params()
    del params["mlp_head"]
    PARAMS.write_text(yaml.safe_dump(params), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"mlp_head: missing; write `mlp_head: \{\}` for its defaults"):
        main([])
    main(["use", "demo"])
    assert read_params()["mlp_head"] == {}


def test_a_key_that_is_taken_away_is_an_edit(workspace: Path) -> None:
    """It has its default then; a profile keeps that, or `save` says why it cannot, and writes nothing."""
    main(["use", "best"])
    params = read_params()
    del params["student"]["epochs"], params["simcse"]["maximum_length"]
    PARAMS.write_text(yaml.safe_dump(params), encoding="utf-8")
    assert "student.epochs: 8 -> null" in profiles.edits(read_params())
    with pytest.raises(InputError, match=r"(?s)mine.yaml would not have .*\n  simcse.maximum_length: 32 -> 128$"):
        profiles.save("mine")
    edit("simcse", maximum_length=128)
    meant = load_params()
    main(["save", "mine"])
    assert load_params() == meant.model_copy(update={"name": "mine"})
    assert load_params().student.epochs is None


def test_what_changes_is_shown(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["use", "best"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name: demo -> best"
    assert "student.epochs: 10 -> 8" in lines
    assert max(map(len, lines)) < 250
    main(["use", "best"])
    assert capsys.readouterr().out == "Nothing changes.\n"


def test_an_edit_is_not_written_over(workspace: Path) -> None:
    """The file stays byte for byte; `save` keeps the edit, `--discard` lets it go."""
    edit("student", epochs=3)
    before = PARAMS.read_bytes()
    with pytest.raises(SystemExit) as caught:
        main(["use", "best"])
    assert "params.yaml has edits that are not in a profile:\n  student.epochs: 10 -> 3\nKeep them:" in str(
        caught.value
    )
    assert PARAMS.read_bytes() == before
    with pytest.raises(SystemExit, match=r"conf/profile/best\.yaml exists; give another name"):
        main(["save", "best"])
    main(["save", "mine"])
    main(["use", "best"])
    main(["use", "mine"])
    assert (load_params().student.epochs, load_params().name) == (3, "mine")
    edit("student", epochs=4)
    main(["use", "demo", "--discard"])
    assert load_params().student.epochs == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["use", "bset"], "'bset' is not a profile; conf/profile has best, demo, paper."),
        (["use", "best", "--site", "nowhere"], "'nowhere' is not a site; conf/site has china-daily."),
        (["use", "../base"], "'../base' is not a profile"),
    ],
)
def test_an_unknown_name(workspace: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        main(arguments)


@pytest.mark.parametrize("content", ["", "name: [", "name: none\nstudent: {}\n", "profile: demo\n"])
def test_a_file_that_is_damaged_or_of_an_earlier_version(workspace: Path, content: str) -> None:
    """`use` refuses to write over it, and `--discard` repairs it."""
    PARAMS.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["use", "demo"])
    assert PARAMS.read_text(encoding="utf-8") == content
    main(["use", "demo", "--discard"])
    assert load_params().name == "demo"


def test_every_kind_of_run_sees_an_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """regression: `dvc exp run -S` composed params.yaml anew, and an edit was gone without a word."""
    root = make_repository(tmp_path / "workspace", {"a": stage("a"), "b": stage("b", "a")})
    monkeypatch.chdir(root)
    set_param(root, "a", value=7)  # not committed

    assert "Ran: a, b" in pipeline(root).stdout

    experiment(root, "--queue", "--set-param", "stages.b.value=4")
    queued = yaml.safe_load(git(root, "show", "refs/exps/celery/stash:params.yaml"))["stages"]
    assert (queued["a"]["value"], queued["b"]["value"]) == (7, 4)

    experiment(root, "--set-param", "stages.b.value=3")
    assert (root / "b.txt").read_text(encoding="utf-8") == "a 7\nb 3\n"
    present = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))["stages"]
    assert (present["a"]["value"], present["b"]["value"]) == (7, 3)


@pytest.fixture
def checked(workspace: Path) -> Path:
    """A repository with params.yaml, its check, and one stage that reads a section."""
    for name in ("flows.yaml", ".gitignore"):
        shutil.copy(ROOT / name, workspace / name)
    graph = {"stages": {"a": {"cmd": "cp params.yaml a.yaml", "params": ["refine"], "outs": ["a.yaml"]}}}
    (workspace / "dvc.yaml").write_text(yaml.safe_dump(graph), encoding="utf-8")
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "init", "--quiet"]):
        subprocess.run(command, cwd=workspace, check=True)
    git(workspace, "add", "--all")
    git(workspace, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=a")
    return workspace


def test_dvc_says_how_to_set_a_key_that_is_not_written(checked: Path) -> None:
    command = [sys.executable, "-m", "dvc", "exp", "run", "--set-param"]
    done = subprocess.run([*command, "refine.seed=2"], cwd=checked, capture_output=True, text=True)
    assert done.returncode != 0 and "To append to your config use +refine.seed=2" in done.stderr
    experiment(checked, "--set-param", "+refine.seed=2")
    assert (load_params().refine.seed, load_params().refine.objective) == (2, "contrastive")
    assert profiles.edits(read_params()) == ["refine.seed: 1 -> 2"]


def test_a_run_sets_a_key_that_is_not_written(checked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By --set, or on Prefect's page; the check refuses one that nobody knows."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    form = known_keys(checked)
    assert is_valid({"refine.seed": 3}, form) and is_valid({"refine": {"seed": 3}}, form)
    assert not is_valid({"refin.seed": 3}, form)
    configure(checked, None, {"refine.seed": 3})
    assert (load_params().refine.seed, load_params().refine.objective) == (3, "contrastive")
    with pytest.raises(SettingsError, match=r"refine.sede: unknown key; did you mean 'seed'\?"):
        configure(checked, None, {"refine.sede": 3})


def experiment(root: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "dvc", "exp", "run", "--quiet", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def tiny(workspace: Path) -> Path:
    """A teacher, and texts outside of data/external."""
    write_tiny_bert(workspace / "teacher")
    (workspace / "mine").mkdir()
    (workspace / "mine/a.csv").write_text("body,other\nThe storm closed the port of the town.,x\n", encoding="utf-8")
    return workspace


def new(*more: str, name: str = "mine", texts: str = "mine", teacher: str = "teacher") -> None:
    main(["new", name, "--texts", texts, "--teacher", teacher, "--text-column", "body", *more])


def test_a_profile_for_own_text(tiny: Path) -> None:
    """The texts are copied to where changes are seen, and the profile holds what is one's own, and nothing else."""
    arguments = ("--language", "de", "--prompt", "query: ")
    new(*arguments)
    params = load_params()
    assert (params.name, params.crawl.source, params.clean.language) == ("mine", "files", "de")
    (given,) = params.crawl.inputs
    assert (given.path, given.columns.text, given.columns.title) == ("data/texts/mine", "body", None)
    assert (tiny / given.path / "a.csv").read_bytes() == (tiny / "mine/a.csv").read_bytes()
    assert isinstance(params.teacher, Teacher)
    assert (params.teacher.reference, params.teacher.maximum_length, params.teacher.prompt) == (
        "teacher",
        None,
        "query: ",
    )
    assert not params.fine_tuned_teacher.enabled
    written = Path("conf/profile/mine.yaml")
    assert len(written.read_text(encoding="utf-8").splitlines()) < 30
    before = written.read_bytes()
    new(*arguments)  # again, after more text was added
    assert written.read_bytes() == before
    edit("student", epochs=3)
    with pytest.raises(SystemExit, match="has edits that are not in a profile"):
        new(*arguments)
    assert load_params().student.epochs == 3


def test_the_held_out_texts_of_a_name_are_drawn_once(tiny: Path) -> None:
    """Next week's edition of the texts leaves them as they are."""
    texts = [f"The storm closed port number {number} for a long week." for number in range(90)]
    edition = tiny / "mine/a.csv"
    edition.write_text("\n".join(["body", *texts[:60]]), encoding="utf-8")
    new()
    pool = Path(load_params().held_out.pool)
    assert pool == Path("conf/held_out/mine.csv")
    before = pool.read_bytes()
    assert sum(text.encode() in before for text in texts) > 0
    edition.write_text("\n".join(["body", *texts]), encoding="utf-8")
    new()
    assert pool.read_bytes() == before
    assert texts[-1] in Path("data/texts/mine/a.csv").read_text(encoding="utf-8")


def test_a_profile_with_another_prompt(tiny: Path) -> None:
    """Of a teacher that has a name: the rest of its entry stays."""
    new("--prompt", "query: ", teacher="minilm-l6")
    entry = load_params().encoders["minilm-l6"].model_dump(exclude={"prompt", "prompt_name"})
    assert load_params().teacher == Teacher.model_validate({**entry, "prompt": "query: "})


def test_a_profile_with_a_file_of_vectors(tiny: Path) -> None:
    """It is copied as the texts are, and pinned."""
    table = pa.table({"text": ["The storm."], "vector": pa.array([[1.0, 2.0]], pa.list_(pa.float32()))})
    pq.write_table(table, "api.parquet")
    new(teacher="api.parquet")
    teacher = load_params().teacher
    assert isinstance(teacher, VectorTeacher)
    assert teacher.vectors == "data/texts/mine-teacher/api.parquet"
    assert Path(teacher.vectors).read_bytes() == Path("api.parquet").read_bytes()
    assert teacher.sha256 == hashlib.sha256(Path("api.parquet").read_bytes()).hexdigest()
    before = Path("conf/profile/mine.yaml").read_bytes()
    new(teacher="api.parquet")
    assert Path("conf/profile/mine.yaml").read_bytes() == before
    Path(teacher.vectors).rename("data/texts/other.parquet")
    new(name="other", teacher="data/texts/other.parquet")
    assert load_params().teacher == teacher.model_copy(update={"vectors": "data/texts/other.parquet"})


def test_a_profile_with_a_function(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the hash of its source, so that DVC notices another one."""
    monkeypatch.syspath_prepend(tiny)
    monkeypatch.delitem(sys.modules, "profiled_teacher", raising=False)
    source = b"def embed(texts):\n    return [[1.0, 2.0] for _ in texts]\n"
    Path("profiled_teacher.py").write_bytes(source)
    new("--revision", "2", teacher="profiled_teacher:embed")
    found = load_params().teacher
    sha256 = hashlib.sha256(source).hexdigest()
    assert found == FunctionTeacher(function="profiled_teacher:embed", version="2", sha256=sha256)


def test_texts_that_are_there_are_not_copied(tiny: Path) -> None:
    Path("data/external").mkdir(parents=True)
    Path("mine/a.csv").rename("data/external/a.csv")
    new(texts="data/external/a.csv", teacher="minilm-l6")
    assert [given.path for given in load_params().crawl.inputs] == ["data/external/a.csv"]
    assert read_params()["teacher"] == "minilm-l6"
    assert not Path("data/texts").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "My Texts"}, "'My Texts' is not a name; use small letters"),
        ({"name": "best"}, "conf/profile/best.yaml exists and differs"),
        ({"texts": "nowhere"}, "nowhere does not exist; give a file or a directory"),
        ({"texts": "teacher/tokenizer.json"}, "tokenizer.json, line 1 is not JSON"),
        ({"teacher": "nowhere/model"}, "nowhere/model"),
    ],
)
def test_what_a_profile_cannot_be_made_of(tiny: Path, given: dict[str, str], message: str) -> None:
    """Before the first stage starts, and without a trace."""
    before = PARAMS.read_bytes()
    with pytest.raises(SystemExit, match=re.escape(message)):
        new(**given)
    assert PARAMS.read_bytes() == before
    assert not Path("conf/profile/mine.yaml").exists() and not Path("data").exists()
