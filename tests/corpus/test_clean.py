"""The clean stage as a user runs it: what is kept, what is dropped and why, and what survives damage and kills."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stages.artifacts import InputError
from stages.corpus import clean, crawl, documents
from stages.corpus.duplicates import NearDuplicates, bands, shingles, signature
from stages.corpus.language import is_in_language
from stages.corpus.schema import DROPPED, DROPPED_FILE, SENTENCES, SENTENCES_DIRECTORY
from tests.corpus.conftest import ROOT, Workspace, content
from tests.workspace import worker_processes

FIRST = "The central bank raised its interest rate by half a point today. It had not done so for seven long years."
SECOND = "A storm closed the harbour for two days. Fishing boats were told to stay where they were until Friday."


def test_kept_sentences(workspace: Workspace) -> None:
    workspace.articles([FIRST])
    clean.main()
    assert workspace.kept() == [
        {
            "document": 0,
            "position": 0,
            "text": "The central bank raised its interest rate by half a point today.",
            "tokens": [
                "the",
                "central",
                "bank",
                "raised",
                "its",
                "interest",
                "rate",
                "by",
                "half",
                "a",
                "point",
                "today",
            ],
            "content_tokens": ["central", "bank", "raised", "interest", "rate", "half", "point", "today"],
        },
        {
            "document": 0,
            "position": 1,
            "text": "It had not done so for seven long years.",
            "tokens": ["it", "had", "not", "done", "so", "for", "seven", "long", "years"],
            "content_tokens": ["not", "seven", "long", "years"],
        },
    ]
    assert pq.read_schema(SENTENCES_DIRECTORY / "part-00000.parquet").equals(SENTENCES)
    assert pq.read_schema(SENTENCES_DIRECTORY / DROPPED_FILE).equals(DROPPED)


def test_every_reason_is_counted(workspace: Workspace) -> None:
    french = "Le gouvernement a annoncé hier de nouvelles mesures pour soutenir les petites entreprises du pays. " * 2
    filler = " ".join(f"word{number}" for number in range(60))
    workspace.articles(
        [
            FIRST,
            FIRST.upper(),
            french,
            f"{FIRST} {SECOND} {filler} {filler[::-1]}.",
            f"{FIRST} {SECOND} {filler} {filler[::-1]} end.",
            "Too short. Net 1,000 vs 2,000 vs 3. All rights reserved. A storm closed the harbour for two days.",
            "\x00 \u200b",
        ]
    )
    workspace.hold_out(["A storm closed the HARBOUR, for two days!"])
    clean.main()
    counters = workspace.counters("clean")
    assert counters["dropped"] == {
        "boilerplate: rights": 1,
        "duplicate": 4,
        "empty": 1,
        "held-out": 2,
        "language": 2,
        "long": 1,
        "near-duplicate": 5,
        "short": 1,
        "symbols": 1,
    }
    assert counters["kept"] == len(workspace.kept()) == 3
    assert counters["total"] == 3 + 18
    whole = [row for row in workspace.dropped() if row["position"] == -1]
    assert [(row["document"], row["reason"]) for row in whole] == [
        *((1, "duplicate"), (2, "language"), (4, "near-duplicate"), (6, "empty"))
    ]
    assert counters["details"]["documents kept"] == 3


def test_odd_sentences_are_dropped_and_counted(workspace: Workspace) -> None:
    """Fault 19: empty, blank, NUL and 1 MB sentences are dropped with a reason, and the rest is kept."""
    texts = ["", " \n ", "\x00", "\ufffd", "x" * 1_000_000, "word " * 200_000, "?! " * 300_000, FIRST]
    workspace.articles(texts)
    clean.main()
    assert {row["document"] for row in workspace.kept()} == {7}
    dropped = Counter({row["document"]: row["reason"] for row in workspace.dropped()}.values())
    assert dropped["empty"] == 4
    assert {row["document"] for row in workspace.dropped()} == set(range(7))


def test_shards_hold_the_documents_they_say(workspace: Workspace) -> None:
    workspace.set("clean", shard_documents=2)
    words = ("north", "south", "east", "west", "home")
    for part, chunk in enumerate([words[:3], words[3:]]):
        workspace.articles([f"The wind from the {word} blew over the {word} hill." for word in chunk], part)
    clean.main()
    parts = sorted(SENTENCES_DIRECTORY.glob("part-*"))
    assert [pq.read_table(part)["document"].to_pylist() for part in parts] == [[0, 1], [2, 3], [4]]


def test_positions_stay_below_their_limit(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "POSITIONS", 1)
    workspace.articles([FIRST])
    clean.main()
    assert [row["position"] for row in workspace.kept()] == [0]
    assert [(row["position"], row["reason"]) for row in workspace.dropped()] == [(1, "limit")]


def test_threshold_one_turns_near_duplicates_off(workspace: Workspace) -> None:
    long = " and ".join(f"the word{number}" for number in range(25))
    workspace.set("clean", near_duplicate_threshold=1.0)
    workspace.articles([f"{long} one.", f"{long} two."])
    clean.main()
    assert len(workspace.kept()) == 2


def test_nothing_kept_is_an_error(workspace: Workspace) -> None:
    workspace.articles(["Too short."])
    with pytest.raises(SystemExit, match=r"clean: no sentence of 1 articles was kept \(dropped: {'short': 1}\)"):
        clean.main()
    assert not SENTENCES_DIRECTORY.exists()


def test_unknown_language(workspace: Workspace) -> None:
    workspace.articles([FIRST])
    workspace.set("clean", language="xx")
    with pytest.raises(SystemExit, match=r"clean\.language = 'xx' is unknown to py3langid; use one of af, am"):
        clean.main()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FIRST, True),
        ("Court.", True),
        (
            "Die Regierung hat am Montag neue Maßnahmen angekündigt, um kleine Unternehmen im ganzen Land zu stützen.",
            False,
        ),
        (
            "Het kabinet wil dat de gemeenten in het hele land meer geld krijgen voor de opvang van jonge kinderen.",
            False,
        ),
    ],
)
def test_language(text: str, expected: bool) -> None:
    assert is_in_language(text, "en") is expected


def test_bands_find_what_the_threshold_asks_for() -> None:
    assert bands(0.8) == 32
    assert 1 - (1 - 0.8**8) ** 16 < 0.99 < 1 - (1 - 0.8**4) ** 32
    assert shingles(["a", "b", "c", "d"]) == ["a b c", "b c d"]
    assert shingles(["a"]) == ["a"]


@pytest.mark.parametrize(("changed", "new"), [(0, False), (3, False), (60, True), (300, True)])
def test_near_duplicates_by_their_jaccard_similarity(changed: int, new: bool) -> None:
    """`changed` words at the end of 302 change as many of 300 shingles: J = (300 - n) / (300 + n), 0.98, 0.67, 0."""
    words = [f"w{number}" for number in range(302)]
    seen = NearDuplicates(0.8)
    assert seen.is_new(signature(words))
    assert seen.is_new(signature(words[: 302 - changed] + [f"x{number}" for number in range(changed)])) is new


def test_the_same_input_gives_the_same_bytes(workspace: Workspace) -> None:
    """Fault 27: two runs over the Lee corpus write equal files."""
    crawl.main()
    clean.main()
    first = content(SENTENCES_DIRECTORY)
    clean.main()
    assert content(SENTENCES_DIRECTORY) == first
    counters = workspace.counters("clean")
    assert counters["kept"] + sum(counters["dropped"].values()) == counters["total"]
    assert 2000 < counters["kept"] < 3500


def test_the_same_bytes_elsewhere(workspace: Workspace, elsewhere: dict[str, object]) -> None:
    """Fault 27: processes and a cluster write the files that one process writes, near and exact duplicates included."""
    workspace.set("clean", shard_documents=130)
    crawl.main()
    texts = [row["text"] for row in workspace.crawled()]
    workspace.articles(texts + texts[40:80] + [f"{text} The end came soon." for text in texts[200:240]])
    clean.main()
    here, counters = content(SENTENCES_DIRECTORY), workspace.counters("clean")
    assert counters["details"]["documents dropped: duplicate"] >= 40
    assert counters["details"]["documents dropped: near-duplicate"] > 10
    workspace.set("shards", **elsewhere)
    clean.main()
    assert content(SENTENCES_DIRECTORY) == here
    costs = ("seconds", "peak_memory_mb")
    assert {key: value for key, value in workspace.counters("clean").items() if key not in costs} == {
        key: value for key, value in counters.items() if key not in costs
    }


def test_shards_fall_in_one_part() -> None:
    texts = [str(number) for number in range(450)]
    shards = list(clean.shards(iter(texts), 150))
    assert [(first, len(shard)) for first, shard in shards] == [
        *((0, 100), (100, 50), (150, 100), (250, 50), (300, 100), (400, 50))
    ]
    assert [text for _, shard in shards for text in shard] == texts


def test_a_killed_worker(workspace: Workspace) -> None:
    """Fault 12: the stage ends with one line and status 1, and leaves nothing at its final path."""
    workspace.set("shards", processes=2)
    crawl.main()
    command = [sys.executable, "-m", "stages.corpus.clean"]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not (workers := worker_processes(process.pid)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(workers[0], signal.SIGKILL)
    stderr = process.communicate(timeout=30)[1]
    assert process.returncode == 1
    assert stderr.startswith("clean: A worker process died (SIGKILL). If the machine is short of memory, lower shards")
    assert len(stderr.splitlines()) == 1
    assert not SENTENCES_DIRECTORY.exists()
    assert not SENTENCES_DIRECTORY.with_name(".sentences.partial").exists()


def test_truncated_articles(workspace: Workspace) -> None:
    """Fault 15: a truncated part among the articles is named, and nothing is written."""
    workspace.articles([FIRST], 0)
    path = workspace.articles([SECOND], 1)
    data = path.read_bytes()
    for length in (0, 4, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(SystemExit, match=r"part-00001\.parquet cannot be read: .* Rebuild it with"):
            clean.main()
    assert not SENTENCES_DIRECTORY.exists()


def test_flipped_bits(workspace: Workspace) -> None:
    """Fault 15: a flipped bit is an error that names the file, or changes nothing that is read."""
    texts = [f"Number {number} of these sentences is like none of the others here." for number in range(50)]
    path = workspace.articles(texts)
    data = path.read_bytes()
    generator = random.Random(1)
    errors = 0
    for _ in range(150):
        place = generator.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << generator.randrange(8))]) + data[place + 1 :])
        try:
            assert list(clean.article_texts([path])) == texts
        except InputError as error:
            assert "part-00000.parquet cannot be read" in str(error)
            errors += 1
    assert errors > 20


def test_a_killed_run_leaves_nothing_and_the_next_is_whole(workspace: Workspace) -> None:
    """Fault 1: SIGKILL in the middle of clean leaves no file at the final path; the next run gives the same bytes."""
    workspace.set("clean", shard_documents=10)
    crawl.main()
    clean.main()
    undisturbed = content(SENTENCES_DIRECTORY)
    subprocess.run(["rm", "-r", str(SENTENCES_DIRECTORY)], check=True)

    command = [sys.executable, "-m", "stages.corpus.clean"]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    partial = SENTENCES_DIRECTORY.with_name(".sentences.partial")
    deadline = time.monotonic() + 30
    while not (partial / "part-00005.parquet").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not SENTENCES_DIRECTORY.exists()
    assert partial.exists()

    clean.main()
    assert content(SENTENCES_DIRECTORY) == undisturbed
    assert not partial.exists()


def test_sentence_identities_are_unique(workspace: Workspace) -> None:
    workspace.articles([FIRST, SECOND])
    clean.main()
    identities = [row["document"] * 2**20 + row["position"] for row in workspace.kept()]
    assert identities == sorted(set(identities)) == [0, 1, 2**20, 2**20 + 1]
    assert all(Path(part).suffix == ".parquet" for part in itertools.chain(content(SENTENCES_DIRECTORY)))
