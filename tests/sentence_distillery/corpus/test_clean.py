"""The clean stage as a user runs it: kept and dropped sentences with reasons, damage and kills."""

import json
import operator
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from measurements import cleaning as bench
from sentence_distillery.corpus import cleaning as clean
from sentence_distillery.corpus import decisions
from sentence_distillery.corpus.articles import Articles, articles_from_texts, part_texts
from sentence_distillery.corpus.documents import FAULTS
from sentence_distillery.corpus.duplicates import bands, near_duplicates, signatures
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.corpus.options import Clean
from sentence_distillery.corpus.schema import DROPPED, DROPPED_FILE, SENTENCES
from sentence_distillery.corpus.words import find_words
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from stages import paths
from stages.corpus import clean as clean_stage
from stages.corpus import crawl as crawl_stage
from tests.halting import halted, halting
from tests.sentence_distillery.corpus.conftest import ROOT, Workspace, content
from tests.waiting import LIMIT, wait_until
from tests.workspace import demo_params, worker_processes

FIRST = "The central bank raised its interest rate by half a point today. It had not done so for seven long years."
SECOND = "A storm closed the harbour for two days. Fishing boats were told to stay where they were until Friday."


def test_kept_sentences(workspace: Workspace) -> None:
    workspace.articles([FIRST])
    clean_stage.main()
    rows = workspace.kept()
    assert [(row["document"], row["position"], row["text"]) for row in rows] == [
        (0, 0, "The central bank raised its interest rate by half a point today."),
        (0, 1, "It had not done so for seven long years."),
    ]
    assert [(" ".join(row["tokens"]), " ".join(row["content_tokens"])) for row in rows] == [
        (
            "the central bank raised its interest rate by half a point today",
            "central bank raised interest rate half point today",
        ),
        ("it had not done so for seven long years", "not seven long years"),
    ]
    assert pq.read_schema(paths.SENTENCES / "part-00000.parquet").equals(SENTENCES)
    assert pq.read_schema(paths.SENTENCES / DROPPED_FILE).equals(DROPPED)


def test_every_reason_is_counted(workspace: Workspace) -> None:
    """A later snapshot is a later part, whose exact and near duplicates of the first one are dropped, too."""
    french = "Le gouvernement a annoncé hier de nouvelles mesures pour soutenir les petites entreprises du pays. " * 2
    filler = "The " + " ".join(f"word{number}" for number in range(60))
    odd = "Too short. Net 1,000 vs 2,000 vs 3. All rights reserved. A storm closed the harbour for two days."
    whole = f"{FIRST} {SECOND} {filler} {filler[::-1]}"
    workspace.articles([FIRST, whole + "."])
    workspace.articles([FIRST.upper(), french, whole + " end.", odd, "\x00 \u200b"], 1)
    workspace.hold_out(["A storm closed the HARBOUR, for two days!"])
    clean_stage.main()
    counters = workspace.counters("clean")
    assert counters["dropped"] == {
        "boilerplate: rights": 1,
        "duplicate": 4,
        "empty": 1,
        "in an evaluation set": 2,
        "language": 2,
        "long": 1,
        "near-duplicate": 5,
        "short": 1,
        "symbols": 1,
    }
    assert counters["kept"] == len(workspace.kept()) == 3
    assert counters["total"] == 3 + 18
    documents = [row for row in workspace.dropped() if row["position"] == -1]
    assert [(row["document"], row["reason"]) for row in documents] == [
        *((2, "duplicate"), (3, "language"), (4, "near-duplicate"), (6, "empty"))
    ]
    assert [" ".join(row["text"].split()) for row in documents[:2]] == [FIRST.upper(), french.strip()]
    assert counters["details"]["documents kept"] == 3


SOLE = [  # the rules that check one sentence by itself, and a sentence for each branch of them
    ("boilerplate: credits", "Reporting by Jane Doe and John Roe; Editing by Ann Poe"),
    ("boilerplate: rights", "All rights reserved."),
    ("boilerplate: share", "Click here to share this story with a friend"),
    ("boilerplate: cookies", "We use cookies to make this site work for you."),
    ("boilerplate: contact", "Contact the writer at jane@example.org"),
    ("symbols", "Net 807,000 vs 2,858,000 vs 11.2"),
    ("symbols", "— … ! ! ! ?"),
    ("symbols", "£3 £4 £5 £6"),
    ("short", "It was over."),
    ("long", "The " + "very " * 30 + "long day was over."),
]
REPAIRED = """LONDON, March 3 (Reuters) - The *banks* opened on Monday at www.example.org or bank@example.org. REUTER

The world 's banks opened late."""


def test_each_declared_rule_applies(tmp_path: Path) -> None:
    """RULES names each rule that removes or drops; each is tested on a separate text, without a stage."""
    options = Clean(maximum_tokens=30, line_repeats=3)
    filler = " ".join(f"word{number}" for number in range(26))
    towns = [f"The council of {town} met in its hall.\n\nWrite a letter to this paper." for town in ("A", "B", "C")]
    nearly = [f"The wind went over the hill with {filler}. The {word} end." for word in ("first", "last")]
    german = "Die Regierung hat am Montag neue Maßnahmen angekündigt, um kleine Unternehmen im Land zu stützen."
    sole = [text for _, text in SOLE]
    texts = [*sole, REPAIRED, *towns, FIRST, FIRST, SECOND, *nearly, german * 2, f"A new one. {SECOND}", ""]
    counters = Counters("sentences")
    held = fingerprints(["Fishing boats were told to stay where they were until Friday"])
    clean.clean(articles_from_texts(texts), tmp_path / "sentences", options, held, counters=counters)
    rows = pq.read_table(tmp_path / "sentences" / DROPPED_FILE).to_pylist()
    found = {row["document"]: row["reason"] for row in rows if row["document"] < len(SOLE)}
    assert found == dict(enumerate(reason for reason, _ in SOLE))
    removed = {name.removeprefix("removed: ") for name in counters.details if name.startswith("removed: ")}
    applied = removed | {row["reason"] for row in rows}
    assert {rule.name for rule in decisions.RULES} - applied == {
        "limit",  # a million sentences of one document
        "held out",  # without a pool; test_held_out.py
    }
    assert applied <= {rule.name for rule in decisions.RULES}
    assert decisions.SENTENCE_REASONS[: len(FAULTS)] == FAULTS


def test_a_table_of_other_columns(tmp_path: Path) -> None:
    table = articles_from_texts([FIRST]).drop_columns("published")
    with pytest.raises(InputError, match=r"articles has the columns url, source, title, text, not url string, source"):
        Articles(table)


def test_parts_hold_the_documents_they_say(workspace: Workspace) -> None:
    """Also a part of which nothing is kept."""
    workspace.set("clean", shard_documents=2)
    words = ("north", "south", "east", "west", "home")
    texts = [f"The wind from the {word} blew over the {word} hill." for word in words]
    workspace.articles([*texts[:3], "Too short."])
    workspace.articles(["\x00", "Far too short.", *texts[3:]], 1)
    clean_stage.main()
    parts = sorted(paths.SENTENCES.glob("part-*"))
    assert [pq.read_table(part)["document"].to_pylist() for part in parts] == [[0, 1], [2], [], [6, 7]]
    assert [row["position"] for row in workspace.kept()] == [0] * 5
    assert [row["reason"] for row in workspace.dropped()] == ["short", "empty", "short"]


@pytest.mark.fault(19)
def test_odd_sentences_are_dropped_and_counted(workspace: Workspace) -> None:
    """Empty, blank, NUL and 1 MB sentences are dropped with a reason, and the rest is kept."""
    texts = ["", " \n ", "\x00", "\ufffd", "x" * 1_000_000, "word " * 200_000, "?! " * 300_000, FIRST]
    workspace.articles(texts)
    clean_stage.main()
    assert {row["document"] for row in workspace.kept()} == {7}
    dropped = Counter({row["document"]: row["reason"] for row in workspace.dropped()}.values())
    assert dropped["empty"] == 4
    assert {row["document"] for row in workspace.dropped()} == set(range(7))


def test_positions_stay_below_their_limit(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "POSITIONS", 1)
    workspace.articles([FIRST])
    clean_stage.main()
    assert [row["position"] for row in workspace.kept()] == [0]
    assert [(row["position"], row["reason"]) for row in workspace.dropped()] == [(1, "limit")]


GERMAN = [
    "Der Sturm hat den Hafen geschlossen.",
    "Die Schiffe warten auf ruhiges Wetter.",
    "Die Bank senkt wieder ihre Zinsen.",
    "Häuser werden in Berlin immer teurer.",
    "Ein Hund läuft heute am Strand entlang.",
]
ENGLISH = [
    "Harbour closed after heavy storm.",
    "The ships wait for the storm to pass.",
    "The bank has lowered its rates again.",
    "Houses in Dublin cost more and more.",
]


@pytest.mark.parametrize(
    ("texts", "language", "message"),
    [
        ([], "en", r"clean: data/corpus/articles has no article; give at least one\."),
        (["Too short."], "en", r"clean: no sentence of 1 articles was kept \(dropped: {'short': 1}\)"),
        (GERMAN, "en", r"no sentence of 5 articles was kept \(dropped: {'language': 5}\)"),
        ([FIRST], "xx", r"clean: language 'xx' is unknown to py3langid; use one of af, am"),
    ],
)
def test_nothing_that_can_be_kept(workspace: Workspace, texts: list[str], language: str, message: str) -> None:
    workspace.articles(texts)
    workspace.set("clean", language=language)
    with pytest.raises(SystemExit, match=message):
        clean_stage.main()
    assert not paths.SENTENCES.exists()


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (ENGLISH, ENGLISH),
        ([*ENGLISH, GERMAN[0]], [*ENGLISH, GERMAN[0]]),  # one among many is too short to tell
        ([*GERMAN, ENGLISH[1]], [ENGLISH[1]]),
    ],
)
def test_short_texts_are_judged_together(
    tmp_path: Path, texts: list[str], kept: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """regression: five short German rows passed as English."""
    counters = Counters("sentences")
    options = Clean(**demo_params()["clean"])
    clean.clean(articles_from_texts(texts), tmp_path / "sentences", options, counters=counters)
    assert pq.read_table(tmp_path / "sentences/part-00000.parquet")["text"].to_pylist() == kept
    assert counters.details.get("documents dropped: language", 0) == len(texts) - len(kept)
    assert f"{counters.kept} sentences of {len(texts)} documents are left: train on at least" in caplog.text


def test_bands_find_what_the_threshold_asks_for() -> None:
    assert bands(0.8) == 32  # 1 - (1 - 0.8**8) ** 16 < 0.99 < 1 - (1 - 0.8**4) ** 32


def minhashes(*documents: Sequence[str]) -> NDArray[np.uint16]:
    found = find_words([" ".join(words) for words in documents])
    return signatures(*found.shingles(found.offsets.astype(np.int64), 3))


@pytest.mark.parametrize(("changed", "original"), [(0, 0), (3, 0), (60, -1), (300, -1)])
def test_near_duplicates_by_their_jaccard_similarity(changed: int, original: int) -> None:
    """`changed` words at the end of 302 change as many of 300 shingles: J = (300 - n) / (300 + n), 0.98, 0.67, 0."""
    words = [f"w{number}" for number in range(302)]
    altered = words[: 302 - changed] + [f"x{number}" for number in range(changed)]
    assert near_duplicates(minhashes(words, altered), 0.8).tolist() == [-1, original]


def test_a_chain_of_small_changes_does_not_swallow_its_end() -> None:
    """Each document nearly repeats the one before it; every third or so is far enough from the last that was kept."""
    words = [f"w{number}" for number in range(300)]
    chain = [[f"x{number}" for number in range(20 * step)] + words[20 * step :] for step in range(9)]
    originals = near_duplicates(minhashes(*chain), 0.8).tolist()
    kept = [place for place, original in enumerate(originals) if original < 0]
    assert kept[0] == 0 and 3 <= len(kept) <= 6
    assert all(originals[original] < 0 for original in originals if original >= 0)
    short = minhashes(["a", "b"], ["a", "b"], ["b", "a"], ["c"])  # one shingle each
    assert near_duplicates(short, 0.8).tolist() == [-1, 0, -1, -1]


def test_a_line_in_many_documents_is_boilerplate(workspace: Workspace) -> None:
    """It is removed everywhere, also the first time; in another source, and in copies of one document, it stays."""
    teaser = "Get our daily news by mail every morning."
    names = ["north", "south", "east", "west", "upper", "lower", "old", "new"]
    bodies = [f"The council of the {name} town met in its hall. It spoke about the {name} bridge." for name in names]
    rare = "A rare line stands in two of them."
    workspace.set("clean", line_repeats=3)
    daily = [f"{body}\n\n{teaser}" for body in bodies[:4]] + [f"{bodies[4]}\n\n{rare}"] * 4
    workspace.articles(daily, sources=["daily"] * 8)
    workspace.articles([f"{body}\n\n{teaser}" for body in bodies[5:7]], 1, sources=["weekly"] * 2)
    clean_stage.main()
    assert [row["document"] for row in workspace.kept() if row["text"] == teaser] == [8]
    repeated = [row["document"] for row in workspace.dropped() if row["reason"] == "boilerplate: repeated line"]
    assert repeated == [0, 1, 2, 3]
    assert [row["text"] for row in workspace.kept() if row["document"] == 4][2:] == [rare]
    assert workspace.counters("clean")["dropped"]["boilerplate: repeated line"] == 4


def test_overview(workspace: Workspace) -> None:
    """Sums by source and by day, the growth of the vocabulary, and texts to read."""
    filler = " ".join(f"word{number}" for number in range(40))
    days = [date(2024, 5, 1), date(2024, 5, 2), None, date(2024, 5, 2)]
    workspace.articles([FIRST, SECOND, FIRST, f"{FIRST} {filler}."], sources=["a", "b", "a", "b"], days=days)
    clean_stage.main()
    overview = json.loads(paths.CORPUS_OVERVIEW.read_text())
    assert overview["sources"] == [
        {"name": "b", "documents": 2, "kept": 2, "sentences": 3, "words": 59},
        {"name": "a", "documents": 2, "kept": 1, "sentences": 2, "words": 21},
    ]
    assert [(row["name"], row["documents"], row["words"]) for row in overview["times"]] == [
        *(("2024-05-01", 1, 21), ("2024-05-02", 2, 59), (None, 1, 0))
    ]
    words = [word for row in workspace.kept() for word in row["tokens"]]
    assert len(words) == 80
    assert overview["growth"] == [[count, len(set(words[:count]))] for count in range(0, 81, 2)]
    texts = [row["text"] for row in workspace.kept()]
    assert [row["text"] for row in overview["sentences"][:4]] == texts[:4]
    assert overview["sentences"][4] == {"reason": "", "text": texts[4][:240].rsplit(" ", 1)[0] + " …"}
    assert [row["reason"] for row in overview["sentences"][5:]] == ["duplicate", "duplicate"]


def test_articles_of_a_benchmark(workspace: Workspace, tmp_path: Path) -> None:
    """In a copy a quarter of the articles is unchanged, a quarter nearly so, and the rest is new text."""
    crawl_stage.main()
    assert bench.prepare(tmp_path / "bench", 2) == pytest.approx(0.72, abs=0.05)
    articles = [pq.read_table(path)["text"].to_pylist() for path in sorted((tmp_path / "bench").rglob("part-*"))]
    pairs = [(one.split(), other.split()) for one, other in zip(*articles, strict=True)]
    changed = [sum(map(operator.ne, one, other)) / len(one) for one, other in pairs]
    assert max(changed[0::4]) == 0
    assert 0 < np.mean(changed[1::4]) < 0.02
    assert min(changed[2::4] + changed[3::4]) > 0.1


@pytest.mark.fault(27)
def test_the_same_bytes_elsewhere(workspace: Workspace, elsewhere: dict[str, object]) -> None:
    """Processes and a cluster write the files that one process writes, near and exact duplicates included."""
    workspace.set("clean", shard_documents=130)
    crawl_stage.main()
    texts = [row["text"] for row in workspace.crawled()]
    (paths.COUNTERS / "crawl.json").unlink()  # it knows the SHA-256 of the articles that are replaced
    workspace.articles(texts + texts[40:80] + [f"{text} The end came soon." for text in texts[200:240]])
    clean_stage.main()
    here, counters = content(paths.SENTENCES), workspace.counters("clean")
    assert counters["details"]["documents dropped: duplicate"] >= 40
    assert counters["details"]["documents dropped: near-duplicate"] > 10
    assert counters["kept"] + sum(counters["dropped"].values()) == counters["total"]
    assert 2000 < counters["kept"] < 3500
    workspace.set("shards", **elsewhere)
    clean_stage.main()
    assert content(paths.SENTENCES) == here
    assert workspace.counters("clean") == counters


def test_few_long_texts_are_examined_at_once() -> None:
    long = "x" * (clean.EXAMINED_CHARACTERS // 2)
    assert [len(shard) for _, shard in clean.shards([long] * 5, 250)] == [2, 2, 1]


@pytest.mark.fault(12)
def test_a_killed_worker(workspace: Workspace) -> None:
    """The stage ends with one line and status 1, and leaves nothing at its final path."""
    workspace.set("shards", processes=2)
    crawl_stage.main()
    command = [sys.executable, "-m", "stages.corpus.clean"]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    workers = wait_until(lambda: worker_processes(process.pid), "a worker process", process)
    os.kill(workers[0], signal.SIGKILL)
    stderr = process.communicate(timeout=LIMIT)[1]
    assert process.returncode == 1
    assert stderr.startswith("clean: A worker process died (SIGKILL). If the machine is short of memory, lower shards")
    assert len(stderr.splitlines()) == 1
    assert not paths.SENTENCES.exists()
    assert not paths.SENTENCES.with_name(".sentences.partial").exists()


@pytest.mark.fault(15)
def test_truncated_articles(workspace: Workspace) -> None:
    """A truncated part among the articles is named, and nothing is written."""
    workspace.articles([FIRST], 0)
    path = workspace.articles([SECOND], 1)
    data = path.read_bytes()
    for length in (0, 4, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(
            SystemExit,
            match=r"part-00001\.parquet cannot be read: .* Restore or rebuild it\. Here `dvc repro` rebuilds it\.",
        ):
            clean_stage.main()
    assert not paths.SENTENCES.exists()


@pytest.mark.fault(15)
def test_flipped_bits(workspace: Workspace) -> None:
    """A flipped bit is an error that names the file, or changes nothing that is read."""
    texts = [f"Number {number} of these sentences is like none of the others here." for number in range(50)]
    path = workspace.articles(texts)
    data = path.read_bytes()
    generator = random.Random(1)
    errors = 0
    for _ in range(150):
        place = generator.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << generator.randrange(8))]) + data[place + 1 :])
        try:
            assert list(part_texts(path)) == texts
        except InputError as error:
            assert "part-00000.parquet cannot be read" in str(error)
            errors += 1
    assert errors > 20


@pytest.mark.fault(1, 27)
def test_a_killed_run_leaves_nothing_and_the_next_is_whole(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL in the middle of clean leaves no file at the final path; the next run makes the same bytes."""
    workspace.set("clean", shard_documents=10)
    crawl_stage.main()
    clean_stage.main()
    undisturbed = content(paths.SENTENCES)
    subprocess.run(["rm", "-r", str(paths.SENTENCES)], check=True)

    command = [sys.executable, "-m", "stages.corpus.clean"]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    process = subprocess.Popen(command, env=os.environ | halting(tmp_path / "halting"), stderr=subprocess.DEVNULL)
    partial = paths.SENTENCES.with_name(".sentences.partial")
    assert halted(tmp_path / "halting") == process.pid
    assert list(partial.glob("part-*.parquet"))
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not paths.SENTENCES.exists()
    assert partial.exists()

    clean_stage.main()
    assert content(paths.SENTENCES) == undisturbed
    assert not partial.exists()


def test_sentences_of_one_length_alone() -> None:
    """The bounds may be the same, not crossed, of which tests/stages/test_params.py has a test."""
    assert Clean(minimum_tokens=7, maximum_tokens=7).maximum_tokens == 7
