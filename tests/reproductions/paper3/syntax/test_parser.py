"""The bundled models in use, and every kind of invalid text or model."""

import hashlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import stanza
import torch

from reproductions.paper3.syntax.components import component
from reproductions.paper3.syntax.packed import unpack
from reproductions.paper3.syntax.parser import PRETRAIN, PROCESSORS, Parser, fetch, fingerprint, load_parser
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.runtime.cache import VARIABLE
from stages import paths
from stages.paper3.parse import models_of
from tests.workspace import ROOT

BUNDLED = ROOT / paths.PARSER


@pytest.fixture(scope="module")
def parser() -> Parser:
    """The models that ship, and a limit that a test can reach."""
    return load_parser.__wrapped__(BUNDLED, 60)


def tree_of(parser: Parser, text: str) -> Tree:
    (found,) = parser.parse([text])
    assert isinstance(found, Tree)
    return found


def test_a_plain_sentence(parser: Parser) -> None:
    found = tree_of(parser, "A man attacks a woman")
    assert found.tokens == ["A", "man", "attacks", "a", "woman"]
    assert found.upos == ["DET", "NOUN", "VERB", "DET", "NOUN"]
    assert found.heads == [2, 3, 0, 5, 3]
    assert found.relations == ["det", "nsubj", "root", "det", "obj"]
    assert component(found).text == "man attacks woman"


def test_contractions_are_two_words(parser: Parser) -> None:
    found = tree_of(parser, "He doesn't run.")
    assert found.tokens == ["He", "does", "n't", "run", "."]
    assert component(found).text == "He not run"
    assert component(tree_of(parser, "He doesn’t run.")).text == "He not run"


def test_a_token_that_is_too_long_for_the_parser_keeps_its_characters(parser: Parser) -> None:
    address = "http://" + "a" * 300 + ".org"
    assert address in tree_of(parser, f"See {address} now").tokens


@pytest.mark.fault(26)
def test_two_sentences_are_one_tree_with_two_roots(parser: Parser) -> None:
    """Several roots, each sentence's heads within it."""
    found = tree_of(parser, "The dog barks. The cat sleeps.")
    assert found.heads.count(0) == 2
    start = found.tokens.index("The", 1) + 1
    assert all(head == 0 or head >= start for head in found.heads[start - 1 :])
    assert component(found).text == "dog barks cat sleeps"


def test_texts_that_have_no_tree(parser: Parser) -> None:
    """Blank, too many words, too many characters, too many tokens; the others keep their places."""
    long = ["word " * 2_000, "x" * 1_000_000, ", " * 61 + "end"]
    found = parser.parse(["", "The dog barks.", " \t\n", *long, "The cat sleeps."])
    shown = [result if isinstance(result, str) else result.tokens[1] for result in found]
    assert shown == ["blank", "dog", "blank", "too long", "too long", "too long", "cat"]
    assert parser.parse(long[2:]) == ["too long"]  # and there is nothing to analyse


@pytest.mark.parametrize("text", ["\0", "\ud800 dog", "\u200b", "??!!", "ﷺ", "狗 吠 了", "a\u2028b\x85c"])
@pytest.mark.fault(19)
def test_odd_characters(parser: Parser, text: str) -> None:
    """A tree or a reason for each, and the neighbours keep their places."""
    first, _, last = parser.parse(["The dog barks.", text, "The cat sleeps."])
    assert isinstance(first, Tree) and first.tokens[1] == "dog"
    assert isinstance(last, Tree) and last.tokens[1] == "cat"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("models/nowhere", "syntax.model = models/nowhere: .* is not a directory"),
        ("bundled", "git checkout models/synt"),
    ],
)
@pytest.mark.fault(24)
def test_models_that_are_not_there(model: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message that says where to put the models."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        models_of(model)


class Served(SimpleHTTPRequestHandler):
    """Serves a directory without a word."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory that a hub on loopback serves as Stanza's, which has a package for each processor."""
    served = tmp_path / "served"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Served, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    common = stanza.resources.common
    about: dict[str, Any] = {"lang_name": "English", "packages": {"default": dict.fromkeys(PROCESSORS, "small")}}
    for name in (*PROCESSORS, PRETRAIN):
        file = served / f"stanza-en/{common.DEFAULT_RESOURCES_VERSION}/{name}/small.pt"
        file.parent.mkdir(parents=True)
        torch.save(unpack(BUNDLED / f"{name}.safetensors"), file)
        needs = [{"model": PRETRAIN, "package": "small"}] if name in ("pos", "depparse") else []
        about[name] = {"small": {"md5": hashlib.md5(file.read_bytes()).hexdigest(), "dependencies": needs}}
    url = f"{address}/stanza-{{lang}}/{{resources_version}}/{{filename}}"
    write_json(served / f"resources_{common.DEFAULT_RESOURCES_VERSION}.json", {"en": about, "url": url})
    monkeypatch.setattr(common, "DEFAULT_RESOURCES_URL", address)
    monkeypatch.setattr(stanza, "download", partial(stanza.download, resources_url=address))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def test_stanzas_models_of_the_hub(hub: Path, parser: Parser, tmp_path: Path) -> None:
    """They are fetched into the cache, parse as those that were put there, and are not asked for again."""
    directory = models_of("hub")
    assert directory.is_relative_to(tmp_path / "cache")
    texts = ["A man attacks a woman", "He doesn't run."]
    assert load_parser.__wrapped__(directory, 60).parse(texts) == parser.parse(texts)
    shutil.rmtree(hub)
    assert models_of("hub") == directory


@pytest.mark.fault(24)
def test_a_model_of_the_hub_that_is_not_what_it_says(hub: Path, tmp_path: Path) -> None:
    """Nothing of it stays in the cache."""
    (file,) = hub.rglob("depparse/small.pt")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"Stanza's English models are not in .* Set\s+syntax.model to bundled"):
        models_of("hub")
    assert not list((tmp_path / "cache").rglob("*.pt"))


@pytest.mark.fault(22)
def test_a_damaged_model(tmp_path: Path) -> None:
    """A truncated file is named."""
    shutil.copytree(BUNDLED, tmp_path / "syntax")
    file = tmp_path / "syntax/depparse.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"depparse.safetensors is not a packed Stanza model"):
        load_parser(tmp_path / "syntax", 60)


@pytest.mark.fault(14)
def test_a_changed_model_has_another_fingerprint(tmp_path: Path) -> None:
    """So its trees are made again."""
    shutil.copytree(BUNDLED, tmp_path / "syntax")
    before = fingerprint(tmp_path / "syntax")
    assert before == fingerprint(BUNDLED)
    with (tmp_path / "syntax/pos.safetensors").open("ab") as file:
        file.write(b" ")
    assert fingerprint(tmp_path / "syntax") != before


@pytest.mark.fault(24)
def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No retries for minutes, and nothing half downloaded."""
    monkeypatch.setattr(stanza.resources.common, "DEFAULT_RESOURCES_URL", "http://127.0.0.1:9/resources.json")
    with pytest.raises(InputError, match=r"cannot be fetched \(ConnectionError\). Set syntax.model to bundled"):
        fetch(tmp_path / "stanza")
    assert [path.name for path in tmp_path.iterdir()] == [".stanza.lock"]


@pytest.mark.fault(25)
def test_two_first_downloads_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first and uses its files (stanza #213)."""
    started: list[str] = []

    def download(language: str, model_dir: str, **options: Any) -> None:
        started.append(model_dir)
        Path(model_dir).mkdir()
        (Path(model_dir) / "resources.json").write_text("{")
        time.sleep(0.2)  # in which the other must not come in between
        (Path(model_dir) / "resources.json").write_text("{}")

    monkeypatch.setattr(requests, "head", lambda *args, **options: None)
    monkeypatch.setattr(stanza, "download", download)
    threads = [threading.Thread(target=fetch, args=(tmp_path / "stanza",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1
    assert (tmp_path / "stanza/resources.json").read_text() == "{}"


@pytest.mark.fault(25)
def test_two_first_loads_at_once() -> None:
    """Each unpacks the models for itself."""
    loaded: list[Parser] = []
    load: Callable[[], None] = lambda: loaded.append(load_parser.__wrapped__(BUNDLED, 60))  # noqa: E731
    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trees = [each.parse(["A man attacks a woman"]) for each in loaded]
    assert len(trees) == 2
    assert trees[0] == trees[1]


def test_the_models_are_small_and_no_pickles() -> None:
    files = [file for file in (BUNDLED).iterdir() if file.is_file()]
    assert {file.suffix for file in files} == {".safetensors", ".json", ".md"}
    assert sum(file.stat().st_size for file in files) < 15_000_000
