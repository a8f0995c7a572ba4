"""Files as users have them, through every command that reads some: right, or refused in one line."""

import csv
import functools
import gzip
import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentence_distillery import cli, load
from sentence_distillery.corpus.tables import decoding
from sentence_distillery.corpus.tables.delimited import column_names, delimited_rows
from sentence_distillery.corpus.tables.formats import read_rows
from sentence_distillery.corpus.tables.reading import DESCRIPTIONS, Reading, files_in, looks_like
from sentence_distillery.corpus.tables.table import open_table
from sentence_distillery.distillation.corpus_files import read_articles
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.errors import POINTER
from sentence_distillery.serving.server import read_collection

TEXTS = [
    "The storm closed the harbour of the town on Monday.",
    "Shares of the bank fell in London on Tuesday.",
    "The court rejected the appeal of the company.",
]
IDS = ["007", "NA", "1e3"]
HEADER = ["id", "text"]
ROWS = [list(row) for row in zip(IDS, TEXTS, strict=True)]
SUFFIXES = (".txt", ".csv", ".jsonl", ".parquet", ".csv.gz")

Bytes = dict[str, Callable[[str], bytes]]
Rows = Sequence[Sequence[object]]
Command = Callable[..., list[str]]
ODD_TEXTS: Bytes = {  # how a table is written as text -> what it becomes
    "plain": str.encode,
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "carriage returns": lambda text: text.replace("\n", "\r").encode(),
    "both": lambda text: text.replace("\n", "\r\n").encode(),
    "no last line end": lambda text: text.rstrip("\n").encode(),
    "blank lines": lambda text: text.replace("\n", "\n\n").encode(),
}


def delimited(mark: str, header: list[str] = HEADER, rows: Rows = ROWS, quoting: int = csv.QUOTE_MINIMAL) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=mark, quoting=quoting, lineterminator="\n", quotechar='"')  # type: ignore[arg-type]
    writer.writerows([header, *rows])
    return file.getvalue()


def as_text(header: list[str] = HEADER, rows: Rows = ROWS) -> dict[str, str]:
    """A table in each format that is text, by suffix."""
    objects = [dict(zip(header, row, strict=True)) for row in rows]
    lines = "".join(json.dumps(row) + "\n" for row in objects)
    whole = json.dumps(objects, indent=1) + "\n"
    tables = {".csv": delimited(",", header, rows), ".tsv": delimited("\t", header, rows)}
    return tables | {".json": whole, ".jsonl": lines, ".ndjson": lines}


def as_arrow(table: pa.Table) -> dict[str, bytes]:
    parquet, other, stream = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    feather.write_feather(table, other)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    named = {".parquet": parquet, ".pq": parquet, ".feather": other, ".ipc": other, ".arrow": stream}
    return {suffix: content.getvalue() for suffix, content in named.items()}


WRITTEN = as_text() | {".txt": "".join(f"{text}\n" for text in TEXTS)}
ARROW = as_arrow(pa.table({"id": IDS, "text": TEXTS}))
PACKED: Bytes = {
    ".gz": lambda text: gzip.compress(text.encode()),
    ".zst": lambda text: pa.compress(text.encode(), "zstd", asbytes=True),
}


def files() -> dict[str, tuple[str, bytes]]:
    """The same texts in every format and oddity: name of the case -> suffix and content."""
    found = {
        f"{suffix} {odd}": (suffix, write(text)) for suffix, text in WRITTEN.items() for odd, write in ODD_TEXTS.items()
    }
    del found[".txt blank lines"]  # a blank line of text is a text
    for suffix, text in WRITTEN.items():
        found |= {f"{suffix}{packed}": (suffix + packed, pack(text)) for packed, pack in PACKED.items()}
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.large_string())):
        table = pa.table({"id": IDS, "text": pa.array(TEXTS).cast(kind)})
        found[f".parquet of {kind}"] = (".parquet", as_arrow(table)[".parquet"])
    return found | {suffix: (suffix, content) for suffix, content in ARROW.items()}


FILES = files()


@functools.cache
def small() -> Path:
    """An encoder of the words of the texts, and the texts in lines.txt beside it."""
    directory = Path(tempfile.mkdtemp())
    words = sorted({word for text in TEXTS for word in re.findall("[a-z]+", text.lower())})
    table = np.random.default_rng(1).standard_normal((len(words) + 1, 6)).astype(np.float32)
    table[0] = 0.0  # the unknown token
    StaticEncoder(static_tokenizer([UNKNOWN, *words]), table).save_pretrained(directory / "small")
    (directory / "lines.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    return directory


@functools.cache
def expected_directions() -> list[list[float]]:
    return directions(small() / "lines.txt", small() / "expected")


def directions(texts: Path, output: Path, *options: str) -> list[list[float]]:
    common = ["--model", str(small() / "small"), "--dimension", "3", "--precision", "float32"]
    cli.main(["compress", str(output), *common, "--texts", str(texts), *options])
    found: list[list[float]] = load(output).encode(TEXTS).tolist()
    return found


def encoded(path: Path, *options: str) -> list[str]:
    cli.main(["encode", str(path), str(path.with_name("out.parquet")), "--model", str(small() / "small"), *options])
    table = pq.read_table(path.with_name("out.parquet"))
    texts: list[str] = table["text"].to_pylist()
    vectors = np.array(table["embedding"].to_pylist(), np.float32)
    np.testing.assert_array_equal(vectors, load(small() / "small").encode(texts))
    if "id" in table.column_names:
        assert table["id"].to_pylist() == IDS
    return texts


def explored(path: Path, *options: str) -> list[str]:
    found = read_collection(load(small() / "small"), [path], _reading(options), 1_000)
    assert list(found.columns.get("id", IDS)) == IDS
    return list(found.texts)


def cleaned(path: Path, *options: str) -> list[str]:
    cli.main(["clean", str(path), "--output", str(path.with_name("cleaned")), *options])
    (part,) = path.with_name("cleaned").glob("part-*.parquet")
    return list(pq.read_table(part)["text"].to_pylist())


def listed(path: Path, *options: str) -> list[str]:
    cli.main(["distill", str(path), "--no-clean", "--list-texts", str(path.with_name("list.parquet")), *options])
    return [text for text in pq.read_table(path.with_name("list.parquet"))["text"].to_pylist() if " " in text]


def compressed(path: Path, *options: str) -> list[str]:
    """`compress --texts`: the directions are those of these texts."""
    return TEXTS if directions(path, path.with_name("smaller"), *options) == expected_directions() else []


def _reading(options: tuple[str, ...]) -> Reading:
    given = dict(zip(options[::2], options[1::2], strict=True))
    quoting = {None: None, "yes": True, "no": False}[given.get("--quoting")]
    return Reading(given.get("--text-column"), given.get("--read-as"), quoting)


COMMANDS = [encoded, explored, cleaned, listed, compressed]
# `encoded` reads tables, and `explored` texts, as all of the others do; `cleaned` takes a file of text as one text.
READ = [(case, command) for case in FILES for command in (encoded, explored)]
READ += [(case, cleaned) for case in FILES if case.startswith(".txt")]
READ += [(suffix, command) for suffix in (".parquet", ".csv.gz", ".jsonl.zst") for command in COMMANDS[2:]]


@pytest.mark.parametrize(("case", "command"), READ)
def test_every_command_reads_every_format(case: str, command: Command, tmp_path: Path) -> None:
    """Compression, encoding and line ends; an id 007 stays 007, and NA a text."""
    suffix, content = FILES[case]
    path = tmp_path / f"mine{suffix.upper() if 'big' in case else suffix}"
    path.write_bytes(content)
    assert command(path) == TEXTS


REFUSED = {  # name -> content, what is said
    "table.dat": (delimited(",").encode(), "looks like CSV, .*--read-as csv, or --read-as lines"),
    "table.data": (delimited("\t").encode(), "looks like TSV, .*--read-as tsv"),
    "table": (WRITTEN[".json"].encode(), "looks like JSON, .*--read-as json"),
    "table.txt": (WRITTEN[".jsonl"].encode(), "looks like JSON"),
    "semicolons.log": (delimited(";").encode(), "looks like CSV with semicolons"),
    "packed.dat.gz": (gzip.compress(delimited("\t").encode()), "looks like TSV"),
    "wide.dat": (delimited(",").encode("utf-16"), "looks like CSV"),
    "parquet.txt": (ARROW[".parquet"], "is not text but a Parquet file; name it .parquet"),
    "excel.csv": (b"PK\x03\x04" + bytes(40), "is not text but a ZIP archive or an Excel workbook"),
    "packed.csv": (gzip.compress(delimited(",").encode()), "compressed with gzip; add .gz to its name"),
    "twice.parquet.gz": (gzip.compress(ARROW[".parquet"]), "compressed once more than its kind is; unpack it"),
    "unmarked.csv": (delimited(",").encode("utf-16-le"), "looks like UTF-16LE without a byte order mark; .*iconv"),
    "cut.csv.gz": (gzip.compress(delimited(",").encode())[:-9], r"cut\.csv\.gz cannot be read"),
    "cut.csv.zst": (pa.compress(delimited(",").encode() * 99, "zstd", asbytes=True)[:-9], r"zst cannot be read"),
    "cut.feather": (ARROW[".feather"][:200], r"cut\.feather cannot be read"),
    "text.parquet": (b"no table", r"text\.parquet cannot be read: it is neither Parquet nor Feather; give it the suff"),
    "former.feather": (b"FEA1" + bytes(40), "it is a Feather file of version 1; write it again with a current pandas"),
    "cut.parquet": (ARROW[".parquet"][:200], r"not a parquet file\. Restore the file"),
    "short.csv": (b"id,text\n1,a\n2\n", r"short\.csv, line 3: the row has 1 fields, another number of fields than"),
    "long.tsv": (b"id\ttext\n1\ta\tb\n", r"long\.tsv, line 2: the row has 3 fields"),
    "latin.csv": (b"id,text\n1,caf\xe9\n", r"latin\.csv, line 2, byte 5 is not UTF-8. Convert .*iconv"),
    "twice.csv": (b"text,text\na,b\n", r"twice\.csv has the column 'text' 2 times; rename all but one"),
    "twice.json": (b'[{"text": "a", "text": "b"}]', r"an object has the name 'text' twice"),
    **{f"pointer{suffix}": (POINTER + b"v1\noid sha256:0\n", "is a pointer of Git LFS") for suffix in SUFFIXES},
    "other.csv": (b"id,body\n1,a\n", r"other\.csv has no column 'text' \(it has body, id\).*The first line"),
    "other.json": (b'[{"body": "a"}]', r"has no column 'text' \(it has body\); name the right one by [^.]*\.$"),
    "other.tsv": (b"id\tbody\n1\ta\n", r"other\.tsv has no column 'text' \(it has body, id\)"),
    "other.parquet": (as_arrow(pa.table({"body": ["a"]}))[".parquet"], r"has no column 'text' \(it has body\)"),
    "number.jsonl": (b'{"text": 7}\n', "column 'text' holds 7"),
    "one.json": (b'{\n "data": []\n}', r"one\.json, line 1 is not JSON .*Write an object per line"),
    "strings.json": (b'["a", "b"]', r"strings\.json, row 1 holds a str, expected an object"),
    "stray.csv": (b'id,text\n1,"Stop" he said\n', "is not CSV .*--quoting no"),
    "joined.csv": (b'text,label\n"Stop,1\nShares fell,0\nGo",1\n', "lines 2 to 4 are one row if .*--quoting yes or no"),
    "two.csv": (b'text,label\n"Stop,1\nGo",1\n', "lines 2 to 3 are one row if .*--quoting yes or no"),
    # one row with a tab too many, and the file as a whole no longer says that marks are characters
    "ragged.tsv": (b'text\tn\n"Stop\t1\nShares\tfell.\t0\nGo"\t1\n', "lines 2 to 4 are one row if .* fields, else 3"),
    "empty.csv": (b"", r"empty\.csv is empty"),
}


REFUSING = [(name, command) for name in REFUSED for command in (encoded, explored)]
REFUSING += [(name, command) for name in ("table.dat", "other.csv", "cut.csv.gz") for command in COMMANDS[2:]]


@pytest.mark.parametrize(("name", "command"), REFUSING)
def test_every_command_refuses_in_one_line(name: str, command: Command, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((SystemExit, InputError), match=message) as refused:
        command(path)
    assert "\n" not in str(refused.value)
    assert name in str(refused.value)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_decide(command: Command, tmp_path: Path) -> None:
    (tmp_path / "table.dat").write_text(delimited("\t"), "utf-8")
    assert command(tmp_path / "table.dat", "--read-as", "tsv") == TEXTS
    (tmp_path / "mine.csv").write_text(delimited(",", header=["id", "body"]), "utf-8")
    if command not in (encoded, explored, listed):
        assert command(tmp_path / "mine.csv", "--text-column", "body") == TEXTS
    for options, message in (
        (("--text-column", "body"), "--text-column body .* does not apply to texts without columns"),
        (("--quoting", "no"), r"--quoting .* applies to \.csv and \.tsv alone"),
    ):
        (tmp_path / "lines.txt").write_text("\n".join(TEXTS), "utf-8")
        with pytest.raises((SystemExit, InputError), match=message):
            command(tmp_path / "lines.txt", *options)


QUOTES = [  # content of a .tsv, and its texts: whether marks enclose fields
    ('text\tn\n"Stop the storm.\t1\nShares fell.\t0\nGo"\t1\n', ['"Stop the storm.', "Shares fell.", 'Go"']),
    ('text\tn\n"Stop" he said\t1\nGo\t0\n', ['"Stop" he said', "Go"]),
    ('text\tn\n"He said ""Stop"", twice"\t1\nGo\t0\n', ['He said "Stop", twice', "Go"]),  # as Excel does
    ('text\tn\n"Stop\there"\t1\nGo\t0\n', ["Stop\there", "Go"]),
    ('text\tn\n"Stop\nhere"\t1\nGo\t0\n', ["Stop\nhere", "Go"]),
    ('text\tn\n"Stop\there"\nGo\t0\n', ['"Stop', "Go"]),
    ('"text"\t"n"\n"Stop"\t"1"\n', ["Stop"]),
]


@pytest.mark.parametrize(("content", "texts"), QUOTES)
def test_marks_in_tsv(content: str, texts: list[str], tmp_path: Path) -> None:
    """regression: a mark at the start of a field joined all rows up to one at the end of another."""
    path = tmp_path / "mine.tsv"
    path.write_text(content, "utf-8")
    assert [row["text"] for _, row in read_rows(path, "tsv", {"text"})] == texts


def test_marks_are_read_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text(QUOTES[0][0], "utf-8")
    assert [len(list(read_rows(path, "tsv", {"text"}, quoting))) for quoting in (None, False, True)] == [3, 3, 1]


FIELDS = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text == text.strip()
)


@given(
    st.lists(st.tuples(FIELDS, FIELDS), min_size=1),
    st.sampled_from(["csv", "tsv"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_csv_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], kind: str, quoting: int
) -> None:
    """As they were written, or with the question whether marks enclose fields; never other texts."""
    path = tmp_path_factory.getbasetemp() / f"drawn.{kind}"
    path.write_text(delimited("\t" if kind == "tsv" else ",", ["a", "b"], rows, quoting), "utf-8", newline="")
    names, records = delimited_rows(path, kind, None)
    assert (names, [tuple(fields) for _, fields in records]) == (["a", "b"], rows)


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]), min_size=1)] * 2),
        min_size=2,
    )
)
def test_what_is_written_without_quoting_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in [("a", "b"), *rows]), "utf-8", newline="")
    assert [tuple(fields) for _, fields in delimited_rows(path, "tsv", False)[1]] == rows


def test_long_fields(tmp_path: Path) -> None:
    """regression: a field above 131,072 characters ended `evaluate` in a traceback."""
    long = "storm " * 50_000
    (tmp_path / "mine.csv").write_text(f'id,text\n1,"{long}, port"\n', "utf-8")
    assert [row["text"] for _, row in read_rows(tmp_path / "mine.csv", "csv", {"text"})] == [f"{long}, port"]


def test_a_line_is_bounded_after_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that unpacks to one endless line is refused before it fills the memory."""
    monkeypatch.setattr(decoding, "LONGEST_LINE", 1_000_000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"x" * 50_000_000))
    with pytest.raises(InputError, match=r"bomb\.csv\.gz, line 1 is longer than"):
        list(read_rows(tmp_path / "bomb.csv.gz", "csv", {"text"}))


def test_what_looks_like_a_table() -> None:
    prose = ["Paris, France\nRome, Italy\n", "One line, with a comma\n", "a\nb\n", "", "Well; no.\nOh; yes.\n"]
    prose += ["{brackets}\n", "def f():\n\treturn 1\n\n\tx = 2\n"]
    assert [text for text in prose if looks_like(text, "text")] == []
    assert looks_like("id,text\n1,Well, no\n", "text") == "CSV"  # a header with the column
    assert looks_like("# codes\n#\nAD\tAndorra\nAE\tEmirates\tnote\n", "text") == "TSV"


def test_names_of_columns() -> None:
    assert column_names(["a", "a", "a.1", "", "", "a"]) == ["a", "a.2", "a.1", "Unnamed: 3", "Unnamed: 4", "a.3"]


def test_other_columns_stay(tmp_path: Path) -> None:
    """`encode` keeps the columns of a table with their types, beside the vectors."""
    table = pa.table(
        {
            "id": pa.array([2**60, None], pa.int64()),
            "when": pa.array([1, 2], pa.timestamp("ns", tz="UTC")),
            "text": pa.array(["The storm.", None]).dictionary_encode(),
            "tags": pa.array([["a"], []]),
        }
    )
    for suffix, write in ((".parquet", pq.write_table), (".feather", feather.write_feather)):
        write(table, tmp_path / f"in{suffix}")
        cli.main(["encode", str(tmp_path / f"in{suffix}"), str(tmp_path / "out.parquet")])
        written = pq.read_table(tmp_path / "out.parquet")
        assert written.column_names == ["id", "when", "text", "tags", "embedding"]
        assert written.drop(["text", "embedding"]).equals(table.drop(["text"]))
        assert written["text"].to_pylist() == ["The storm.", None]
        assert not any(written["embedding"][1].as_py())
    with pytest.raises(SystemExit, match="has a column 'embedding', the name of the vectors; rename it, or write"):
        cli.main(["encode", str(tmp_path / "out.parquet"), str(tmp_path / "again.parquet")])
    cli.main(["encode", str(tmp_path / "out.parquet"), str(tmp_path / "again.npy")])


def test_half_a_surrogate_pair_in_json(tmp_path: Path) -> None:
    """regression: a column that has one, other than the text, ended the server of `explore`."""
    (tmp_path / "in.jsonl").write_text(r'{"text": "a", "by \udc00": ["b \ud83d", "\ud83d\ude00"]}', "utf-8")
    assert [row for _, row in read_rows(tmp_path / "in.jsonl", "jsonl", set())] == [
        {"text": "a", "by \ufffd": ["b \ufffd", "\U0001f600"]}
    ]


def test_a_dataset_as_it_is_saved_or_published(tmp_path: Path) -> None:
    """regression: its card was trained on, and what describes it ended the reading."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.arrow").write_bytes(ARROW[".arrow"])
    for name in ("README.md", "dataset_dict.json", "data/state.json", "data/b.md"):
        (tmp_path / name).write_text("{", "utf-8")
    ignored: Counter[str] = Counter()
    assert [path.name for path in files_in(tmp_path, ignored)] == ["a.arrow", "b.md"]
    assert ignored == {DESCRIPTIONS: 3}


def test_links_to_directories(tmp_path: Path) -> None:
    """They are followed, once: to one that is read already, or upwards, they add nothing."""
    for name in ("texts/a", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "in.txt").write_text("The storm.\n", "utf-8")
    for name, target in (("again", "a"), ("upwards", ".."), ("further", "../elsewhere")):
        (tmp_path / "texts" / name).symlink_to(target)
    assert files_in(tmp_path / "texts") == [tmp_path / "texts" / name / "in.txt" for name in ("a", "further")]


def test_columns_of_json(tmp_path: Path) -> None:
    """Their types are those of the values; what one column cannot hold is JSON in a text."""
    rows = """
    {"text": "a", "n": 1, "x": 1, "yes": true, "mixed": 1, "tags": ["a", {"b": null}], "large": 1180591620717411303424}
    {"text": null, "n": null, "x": 0.5, "yes": null, "mixed": "1", "tags": null, "large": 1, "when": "2024-05-02"}
    {"n": 1152921504606846976, "x": null, "later": "x \\ud800"}
    """
    (tmp_path / "in.jsonl").write_text(rows, "utf-8")
    cli.main(["encode", str(tmp_path / "in.jsonl"), str(tmp_path / "out.parquet")])
    written = pq.read_table(tmp_path / "out.parquet").drop(["embedding"])
    assert [str(type) for type in written.schema.types] == ["string", "int64", "double", "bool", *["string"] * 5]
    assert written.to_pydict() == {
        "text": ["a", None, None],
        "n": [1, None, 2**60],
        "x": [1.0, 0.5, None],
        "yes": [True, None, None],
        "mixed": ["1", "1", None],
        "tags": ['["a", {"b": null}]', None, None],
        "large": [str(2**70), "1", None],
        "when": [None, "2024-05-02", None],
        "later": [None, None, "x \ufffd"],
    }


def test_pairs_of_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`evaluate` reads pairs as the others read texts, and gives the same figures for the same pairs."""
    names = ["sentence1", "sentence2", "score"]
    rows = [["The storm.", "A gale.", 4.5], ["Shares fell.", "The storm.", 0.0], ["A dog runs.", "A dog ran.", 4.75]]
    columns = map(list, zip(*rows, strict=True))
    contents = {suffix: content.encode() for suffix, content in as_text(names, rows).items()}
    contents |= as_arrow(pa.table(dict(zip(names, columns, strict=True))))
    contents[".csv.gz"] = gzip.compress(contents[".csv"])
    shown = {}
    for suffix, content in contents.items():
        path = tmp_path / f"pairs{suffix}"
        path.write_bytes(content)
        cli.main(["evaluate", str(path)])
        shown[suffix] = capsys.readouterr().out.replace("pairs.csv", "pairs")
    assert "n = 3" in shown[".csv"] and set(shown.values()) == {shown[".csv"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,b,inf", "a,b,1"], r"pairs\.csv, row 1: the score 'inf' is not a finite number"),
        (["a,b,1", "a,b,1e39"], r"row 2: the score '1e39' is outside -1e\+38 to 1e\+38; correct it"),
        (["a,b,1", "a,b,nan"], r"row 2: the score 'nan' is not a finite number"),
        (["a,b,1", "a,b,"], "row 2: the score is absent; rate the pair, or leave the row out"),
        (["a,b,1", "a,b"], "line 3: the row has 2 fields"),
        (["a,b,1", ",b,2"], "row 2: sentence1 is empty"),
        (["a,b,1_0"], "row 1: the score '1_0' is not a finite number"),
        ([], "has no pairs"),
    ],
)
def test_pairs_that_do_not_fit(rows: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *rows]) + "\n", "utf-8")
    with pytest.raises(SystemExit, match=message):
        cli.main(["evaluate", str(tmp_path / "pairs.csv")])


def test_pairs_under_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "SICK.txt"
    path.write_text("n\tsentence_A\tsentence_B\tscore\n1\tA dog.\tA cat.\t3\n2\tA storm.\tA gale.\t4\n", "utf-8")
    names = ["--pair-columns", "sentence_A", "sentence_B", "score"]
    cli.main(["evaluate", str(path), "--read-as", "tsv", *names, "--scale", "1", "5"])
    assert "SICK\tspearman" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"SICK\.txt looks like TSV"):
        cli.main(["evaluate", str(path), *names])
    (tmp_path / "pairs.jsonl").write_text('{"translation": {"en": "a", "fr": "b"}}\n', "utf-8")
    with pytest.raises(SystemExit, match=r"has no column 'sentence1' \(it has translation\)"):
        cli.main(["evaluate", str(tmp_path / "pairs.jsonl")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--sets", "stsb", "--text-column", "body"], "--text-column does not apply without --texts"),
        (["evaluate", "--sets", "stsb", "--scale", "0", "5"], "--scale does not apply without a file of pairs"),
        (["evaluate", "--sets", "stsb", "--quoting", "no"], "--quoting does not apply without --texts or a file"),
        (["evaluate", "pairs.csv", "--benchmarks", "x"], "--benchmarks does not apply without --sets"),
        (["compress", "out", "--read-as", "csv"], "--read-as does not apply without --texts"),
        (["encode", "-", "out.npy", "--read-as", "csv"], "--read-as csv does not apply to -, which reads lines"),
        (["encode", "-", "out.npy", "--text-column", "a"], "--text-column a .* does not apply"),
        (["clean", "-", "--output", "out", "--quoting", "yes"], "--quoting .* applies to"),
    ],
)
def test_options_that_do_not_apply(arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        cli.main(arguments)


def test_a_table_in_memory_of_a_batch(tmp_path: Path) -> None:
    """A table is read some rows at a time, a zipped one, too."""
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(delimited(",", rows=ROWS * 1_000).encode()))
    with open_table(tmp_path / "in.csv.gz", Reading()) as table:
        assert {len(batch) for batch in table.batches} == {500}


def test_what_was_dropped_or_held_out_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """regression: a directory that a crawl wrote was refused; held-out texts of `clean` were trained on."""
    for name, column in (("part-00000", "text"), ("dropped", "reason"), ("held_out", "text")):
        write_table(tmp_path / f"{name}.parquet", pa.table({column: ["A storm."]}))
    with caplog.at_level("INFO"):
        assert list(read_articles(tmp_path, Reading())) == [("part-00000", "A storm.")]
    for name in ("dropped", "held_out"):
        assert caplog.text.count(f"{name}.parquet beside part-*.parquet in") == 1
