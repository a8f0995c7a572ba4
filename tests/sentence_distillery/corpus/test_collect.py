"""Articles from the package and from files: reading, counting, refusing."""

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from news_crawler import collect as crawl
from news_crawler.dates import parse_date
from sentence_distillery.corpus.schema import ARTICLES
from sentence_distillery.corpus.tables import decoding
from sentence_distillery.corpus.tables.formats import format_of, read_rows
from sentence_distillery.corpus.tables.reading import HIDDEN_FILES, LOST_LINKS, SPECIAL_FILES
from sentence_distillery.io.artifacts import InputError
from stages import paths
from stages.corpus import crawl as crawl_stage
from tests.sentence_distillery.corpus.conftest import Row, Workspace, content

ROWS = [
    {"text": "One text.", "title": "One", "url": "u1", "date": "2019-05-09", "source": "a"},
    {"text": " ", "title": "Blank", "url": "u2", "date": "", "source": "a"},
    {"text": "Second,\ntext: half \ud800 whole 😀", "title": "", "url": "", "date": "soon", "source": ""},
]
NOTHING_ELSE: dict[str, str | None] = dict.fromkeys(["title", "url", "published", "source"])
SECOND = "Second,\ntext: half \ufffd whole 😀"
EXPECTED: list[Row] = [
    {"url": "u1", "source": "a", "published": date(2019, 5, 9), "title": "One", "text": "One text."},
    {"url": "{place}#3", "source": "news", "published": None, "title": None, "text": SECOND},
]


@pytest.mark.fault(19)
def test_columns_become_articles(workspace: Workspace) -> None:
    """A blank text is dropped, a date that is none is counted, and the place stands for a url that is absent.

    Half a surrogate pair in JSON becomes U+FFFD, and its article is kept.
    """
    path = Path("data/external/news.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    workspace.inputs(str(path))
    crawl_stage.main()
    assert workspace.crawled() == [row | {"url": str(row["url"]).format(place=path)} for row in EXPECTED]
    counters = workspace.counters("crawl")
    assert (counters["total"], counters["kept"], counters["dropped"]) == (3, 2, {"empty": 1})
    assert counters["details"] == {crawl.UNKNOWN_DATES: 1}


def test_markdown_is_read_as_blocks_of_text(workspace: Workspace) -> None:
    """Headings, items and cells are apart; marks, code, HTML and metadata are gone."""
    text = (
        "---\ntitle: Notes\n---\n"
        "# The storm\n\nIt *closed*\nthe [port](https://x.org/a_b).\n\n- `make` it<br>\n- Ships\n\n```\ncode = 1\n```\n"
        "<div>markup</div>\n\n| a | b |\n| - | - |\n| one | two |\n"
    )
    Path("data/external/notes.md").write_text(text, encoding="utf-8")
    workspace.inputs("data/external/notes.md")
    crawl_stage.main()
    expected = ["The storm", "It closed the port.", "make it", "Ships", "a", "b", "one", "two"]
    assert workspace.crawled()[0]["text"].split("\n\n") == expected


def test_articles_of_some_sources(workspace: Workspace) -> None:
    Path("data/external/news.csv").write_text("who,text\na,One.\nb,Two.\na,Three.\n", encoding="utf-8")
    columns = NOTHING_ELSE | {"text": "text", "source": "who"}
    workspace.inputs("data/external/news.csv", columns=columns, sources=["a"])
    crawl_stage.main()
    assert [row["text"] for row in workspace.crawled()] == ["One.", "Three."]
    assert workspace.counters("crawl")["details"] == {crawl.OTHER_SOURCES: 1}


def test_a_treebank(workspace: Workspace) -> None:
    path = Path("data/external/en.conllu")
    path.write_text(
        "# sent_id = 1\n# text = The storm closed it.\n1\tThe\n\n# text = Ships wait.\n1\tShips\n", encoding="utf-8"
    )
    workspace.inputs(str(path), columns=NOTHING_ELSE | {"text": "text"})
    crawl_stage.main()
    assert [(row["url"], row["text"]) for row in workspace.crawled()] == [
        (f"{path}#2", "The storm closed it."),
        (f"{path}#5", "Ships wait."),
    ]


def test_lines_are_articles_and_fields_stand_between_tabs(workspace: Workspace) -> None:
    """The suffix does not matter if the format is named; quotes are literal."""
    path = Path("data/external/captions.token")
    path.write_text('1.jpg#0\tA "dog" runs .\n1.jpg#1\t \n2.jpg#0\tTwo cats sleep .', encoding="utf-8")
    workspace.inputs(str(path), columns=NOTHING_ELSE | {"text": "2", "url": "1"}, format="lines")
    crawl_stage.main()
    assert [(row["url"], row["text"]) for row in workspace.crawled()] == [
        ("1.jpg#0", 'A "dog" runs .'),
        ("2.jpg#0", "Two cats sleep ."),
    ]
    assert workspace.counters("crawl")["dropped"] == {"empty": 1}
    path.write_text("1\tone\nonly\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"captions\.token has no column '2' \(it has 1\)"):
        crawl_stage.main()


@pytest.mark.fault(27)
def test_package_source_is_the_lee_corpus(workspace: Workspace) -> None:
    """The same input gives the same bytes."""
    crawl_stage.main()
    first = content(paths.ARTICLES)
    crawl_stage.main()
    assert content(paths.ARTICLES) == first
    articles = workspace.crawled()
    assert len(articles) == 300
    assert articles[16]["url"] == "package:gensim/lee_background.cor#17"
    assert articles[0]["text"].startswith("Hundreds of people have been forced to vacate their homes")
    assert pq.read_schema(paths.ARTICLES / "part-00000.parquet").equals(ARTICLES)


def test_a_directory_is_read_in_order_and_in_parts(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl, "PART_ARTICLES", 2)
    folder = Path("data/external/essays/deep")
    folder.mkdir(parents=True)
    for name in ("c.TXT", "a.txt", "b.txt"):
        (folder / name).write_text(f"\ufeffThis is {name.lower()}.", encoding="utf-8")
    (folder / "picture.png").write_text("no article", encoding="utf-8")

    workspace.inputs("data/external/essays")
    crawl_stage.main()
    assert sorted(content(paths.ARTICLES)) == ["part-00000.parquet", "part-00001.parquet"]
    assert [article["text"] for article in workspace.crawled()] == [f"This is {name}.txt." for name in "abc"]
    assert {article["source"] for article in workspace.crawled()} == {"deep"}
    assert workspace.counters("crawl")["details"] == {crawl.IGNORED_FILES: 1}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"fine \xff", r"a\.txt: byte 5 is not UTF-8"),
        ("a.txt", "Rain.\nSun.\n".encode("utf-16")[:-1], r"a\.txt is not UTF-16 after line 1\. Restore the file"),
        ("a.csv", b'text,title,url,date,source\n"a,b', r"a\.csv, line 2 is not CSV \(unexpected end of data"),
        ("a.jsonl", b'{"text":5,"title":"","url":"","date":"","source":""}', r"a\.jsonl#1: column 'text' holds int"),
        ("a.jsonl", b"", r"crawl\.inputs have no article with text"),
        ("a.parquet", b"PAR1 no more", r"a\.parquet cannot be read"),
        ("a.jsonl", b"[" * 100_000, r"a\.jsonl, line 1 is not JSON \(maximum recursion depth"),
        ("a.jsonl", b"\xff\xfe{\x00x", r"a\.jsonl is not UTF-16 after line 0"),
        ("a.pdf", b"%PDF", r"a\.pdf: no file has a known suffix; use \.txt, \.md, \.jsonl"),
    ],
)
@pytest.mark.fault(15)
def test_unreadable_files(workspace: Workspace, name: str, data: bytes, message: str) -> None:
    """A file that is truncated or altered ends the stage with one line that names it."""
    (Path("data/external") / name).write_bytes(data)
    workspace.inputs(f"data/external/{name}")
    with pytest.raises(SystemExit, match=message):
        crawl_stage.main()
    assert not paths.ARTICLES.exists()


@pytest.mark.fault(40)
def test_what_is_not_a_file(workspace: Workspace) -> None:
    """A pipe, a device behind a link and a directory are named; nothing is read from them."""
    pipe, device, folder = (Path(f"data/external/{name}.txt") for name in ("pipe", "device", "folder.d/folder"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    folder.mkdir(parents=True)
    for path, kind in ((pipe, "a named pipe"), (device, "a device"), (folder, "a directory")):
        for format in ("text", "jsonl"):
            with pytest.raises(InputError, match=rf"{path} is {kind}, not a file"):
                list(read_rows(path, format, {"text"}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.txt", r"a\.txt has 10,000,000,000 bytes"),
        ("a.jsonl", "line 1 is longer than"),
        ("a.csv", "line 1 is longer than"),
    ],
)
@pytest.mark.fault(40)
def test_an_endless_line(workspace: Workspace, name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file of 10 GB, which takes no place on the disk, is refused before it fills the memory."""
    monkeypatch.setattr(decoding, "LONGEST_LINE", 1_000_000)
    path = Path("data/external") / name
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(InputError, match=message):
        list(read_rows(path, format_of(path) or "", {"text"}))


@pytest.mark.fault(40)
def test_what_lies_beside_the_texts(workspace: Workspace) -> None:
    """Hidden files, what macOS and Office leave, lost links and pipes are ignored, and counted by reason."""
    external = Path("data/external")
    for name in (".hidden.txt", "._a.txt", "~$a.txt", "__MACOSX/b.txt", ".cache/b.txt"):
        (external / name).parent.mkdir(exist_ok=True)
        (external / name).write_bytes(b"\x00\x05\x16\x07\xff")
    (external / "lost.txt").symlink_to("nowhere")
    os.mkfifo(external / "pipe.txt")
    (external / "device.txt").symlink_to("/dev/zero")
    (external / "A.TXT").write_text("The storm closed the harbour.", encoding="utf-16")
    (external / "b.txt").write_text("The ships waited outside.", encoding="utf-8-sig")
    (external / os.fsdecode(b"caf\xe9.txt")).write_text("A name that is not UTF-8.", encoding="utf-8")
    workspace.inputs("data/external")
    crawl_stage.main()
    assert [row["text"] for row in workspace.crawled()] == [
        *("The storm closed the harbour.", "The ships waited outside.", "A name that is not UTF-8.")
    ]
    assert workspace.counters("crawl")["details"] == {HIDDEN_FILES: 5, LOST_LINKS: 1, SPECIAL_FILES: 2}


@pytest.mark.parametrize(
    ("type", "values", "days"),
    [
        (pa.timestamp("us"), [253402300800000000, 1714521600000000, None], [None, date(2024, 5, 1), None]),
        (pa.timestamp("ns"), [1714521600000000001, -1, None], [date(2024, 5, 1), date(1969, 12, 31), None]),
        (pa.timestamp("s", tz="UTC"), [2**53, 1714521600, -(2**50)], [None, date(2024, 5, 1), None]),
        (pa.date32(), [2**31 - 1, 19844, -(2**31)], [None, date(2024, 5, 1), None]),
        (pa.float64(), [float("nan"), 20240501.0, None], [None, date(2024, 5, 1), None]),
        (pa.string(), ["", "2024-05-01T10:00:00Z", "soon"], [None, date(2024, 5, 1), None]),
    ],
    ids=str,
)
@pytest.mark.fault(15)
def test_dates_of_any_range(
    workspace: Workspace, type: pa.DataType, values: list[Any], days: list[date | None]
) -> None:
    """A date that Python cannot hold is not a date; other texts keep theirs."""
    texts = [f"The storm came {number} times." for number in range(3)]
    table = pa.table({"text": texts, "date": pa.array(values, type), "title": pa.array([float("nan"), 1.5, None])})
    pq.write_table(table, "data/external/a.parquet")
    workspace.inputs("data/external/a.parquet", columns={"text": "text", "title": "title", "published": "date"})
    crawl_stage.main()
    rows = workspace.crawled()
    assert [row["published"] for row in rows] == days
    assert [row["title"] for row in rows] == [None, "1.5", None]


@pytest.mark.parametrize("path", ["data/elsewhere", "data/external/../secret", "/etc", "data/external/missing.csv"])
def test_inputs_outside_or_absent(workspace: Workspace, path: str) -> None:
    workspace.inputs(path)
    with pytest.raises(SystemExit, match=r"is not below data/external|does not exist"):
        crawl_stage.main()
    workspace.inputs()
    with pytest.raises(SystemExit, match=r"crawl\.inputs is empty; list files below data/external"):
        crawl_stage.main()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("26-FEB-1987 15:01:01.79", date(1987, 2, 26)),
        ("2024-05-01T12:30:00Z", date(2024, 5, 1)),
        ("2024/5/1", date(2024, 5, 1)),
        ("20240501", date(2024, 5, 1)),
        ("May 9, 2019", date(2019, 5, 9)),
        ("Sept. 9th, 2019", date(2019, 9, 9)),
        ("Mon, 26 Feb 1987 15:01:01 GMT", date(1987, 2, 26)),
        ("Thursday, 9th of May 2019", date(2019, 5, 9)),
        ("03/04/2019", None),
        ("2019-02-30", None),
        ("Marvin 3, 2019", None),
        ("", None),
    ],
)
def test_parse_date(text: str, expected: date | None) -> None:
    assert parse_date(text) == expected


def test_a_linked_directory_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    """DVC would not notice changes in it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.txt").write_text("A storm.", encoding="utf-8")
    Path("data/external/mine").symlink_to(tmp_path / "elsewhere")
    for path in ("data/external/mine", "data/external/mine/a.txt", "data/external"):
        workspace.inputs(path)
        with pytest.raises(SystemExit, match=r"data/external/mine links to a directory, where DVC notices no changes"):
            crawl_stage.main()
