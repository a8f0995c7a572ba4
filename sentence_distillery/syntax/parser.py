"""Stanza at work: texts in, dependency trees out, with models that are here.

    syntax.model: bundled      the small English models in models/syntax (their card says what they can do)
    syntax.model: hub          Stanza's default English models, fetched once to models/checkpoints/stanza
    syntax.model: <directory>  packed models as in models/syntax, or a directory that `stanza.download` filled

Nothing but `hub` ever looks for a network. A text of several sentences becomes one tree with several roots.
"""

import fcntl
import hashlib
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import requests
import stanza
import torch
from stanza.models.common.doc import Document
from stanza.pipeline.core import DownloadMethod, Pipeline
from stanza.pipeline.tokenize_processor import TOKEN_TOO_LONG_REPLACEMENT

from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.runtime.device import device
from sentence_distillery.syntax.packed import unpack
from sentence_distillery.syntax.trees import Tree

BUNDLED = Path("models/syntax")
HUB = Path("models/checkpoints/stanza")
PROCESSORS = ("tokenize", "mwt", "pos", "lemma", "depparse")
PRETRAIN = "pretrain"
LANGUAGE = "en"
HUB_SECONDS = 10.0
LONGEST_WORD = 20  # characters a word, of which a text may have `syntax.maximum_words` times as many

Reason = Literal["blank", "too long", "no tokens"]


@dataclass(frozen=True)
class Parser:
    """A loaded pipeline, and how long a sentence may be, since memory grows with its square."""

    pipeline: Any
    maximum_words: int

    def parse(self, texts: Sequence[str]) -> list[Tree | Reason]:
        """The tree of each text, or why it has none."""
        clean = [" ".join(_readable(text).split()) for text in texts]
        short = [row for row, text in enumerate(clean) if 0 < len(text) <= LONGEST_WORD * self.maximum_words]
        results: list[Tree | Reason] = ["too long" if text else "blank" for text in clean]
        if not short:
            return results
        sentences = self._tokenized([clean[row] for row in short])
        fits = [all(len(one.words) <= self.maximum_words for one in group) for group in sentences]
        trees = self._analysed([group if fit else [] for group, fit in zip(sentences, fits, strict=True)])
        for row, fit, tree in zip(short, fits, trees, strict=True):
            results[row] = tree or ("no tokens" if fit else "too long")
        return results

    def _tokenized(self, texts: list[str]) -> list[list[Any]]:
        """Stanza's sentences of each text, by where they stand in what it was given."""
        joined = "\n\n".join(texts)
        document = self.pipeline(joined, processors="tokenize,mwt")
        restore_long_tokens(document, joined)
        found: list[list[Any]] = [[] for _ in texts]
        row, end = 0, len(texts[0])
        for sentence in document.sentences:
            while sentence.tokens[0].start_char >= end:
                row += 1
                end += 2 + len(texts[row])
            found[row].append(sentence)
        return found

    def _analysed(self, groups: list[list[Any]]) -> list[Tree | None]:
        """A tree for each group of sentences, None for an empty one."""
        document = Document([])
        document.sentences = [sentence for group in groups for sentence in group]
        document.num_tokens = sum(len(sentence.tokens) for sentence in document.sentences)
        document.num_words = sum(len(sentence.words) for sentence in document.sentences)
        if document.sentences:
            self.pipeline(document, processors=["pos", "lemma", "depparse"])
        return [_tree(group) if group else None for group in groups]


def restore_long_tokens(document: Any, text: str) -> None:
    """Give back its characters to each token that Stanza holds for too long (a web address) and calls <UNK>."""
    for token in (token for sentence in document.sentences for token in sentence.tokens):
        if token.text == TOKEN_TOO_LONG_REPLACEMENT:
            token.text = token.words[0].text = text[token.start_char : token.end_char]


def _readable(text: str) -> str:
    """`text` with a question mark for each lone surrogate, and U+FFFD for NUL, which no model has seen."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _tree(sentences: list[Any]) -> Tree:
    """The sentences of one text as one tree."""
    rows = []
    start = 0
    for sentence in sentences:
        for word in sentence.words:
            head = word.head + start if word.head else 0
            rows.append((word.text, word.lemma or word.text, word.upos, word.xpos, head, word.deprel))
        start = len(rows)
    return Tree(*(list(column) for column in zip(*rows, strict=True)))


@lru_cache(maxsize=1)
def load_parser(model: str, maximum_words: int) -> Parser:
    """Load the models that `model` names, once; raises InputError, with what to do, where they are not to be had."""
    directory = find_models(model)
    logging.getLogger("stanza").setLevel(logging.WARNING)
    try:
        with _as_stanza_wants(directory) as (where, options):
            pipeline = Pipeline(
                LANGUAGE,
                dir=str(where),
                processors=",".join(PROCESSORS),
                download_method=DownloadMethod.NONE,
                device=str(device()),
                logging_level="WARN",
                **options,
            )
    except InputError:
        raise
    except Exception as error:  # Stanza raises what its models make of a file: KeyError, RuntimeError, UnpicklingError
        raise InputError(
            f"{directory} does not load as models of Stanza ({type(error).__name__}: {str(error)[:200]}). Make it "
            "anew, or set syntax.model to bundled."
        ) from error
    return Parser(pipeline, maximum_words)


def find_models(model: str) -> Path:
    """The directory that holds the models, fetched if need be."""
    if model == "hub":
        return fetch(HUB / stanza.__version__)
    directory = BUNDLED if model == "bundled" else Path(model)
    if not directory.is_dir():
        remedy = "restore it with `git checkout models/syntax`" if model == "bundled" else "put the models there"
        raise InputError(f"syntax.model = {model}: {directory} is no directory; {remedy}, or use bundled or hub.")
    return directory


def fingerprint(model: str) -> str:
    """A hash of everything that shapes a tree: Stanza's version, this module, and the files of the models."""
    digest = hashlib.sha256(stanza.__version__.encode() + Path(__file__).read_bytes())
    files = (path for path in find_models(model).rglob("*") if path.suffix in (".safetensors", ".pt"))
    for file in sorted(files):
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


@contextmanager
def _as_stanza_wants(directory: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Where Stanza's loader finds its files, and the options that point it to them.

    Packed models are unpacked into a directory of this process alone, so that two first loads never meet.
    """
    if (directory / "resources.json").is_file():
        yield directory, {}
        return
    with tempfile.TemporaryDirectory(prefix="parser-") as place:
        where = Path(place)
        write_json(where / "resources.json", {LANGUAGE: {"lang_name": "English"}})
        for name in (*PROCESSORS, PRETRAIN):
            torch.save(unpack(directory / f"{name}.safetensors"), where / f"{name}.pt")
        options = {f"{name}_model_path": str(where / f"{name}.pt") for name in PROCESSORS}
        options |= {f"{name}_pretrain_path": str(where / f"{PRETRAIN}.pt") for name in ("pos", "depparse")}
        yield where, options | {"package": None}


def fetch(target: Path) -> Path:
    """Stanza's English models, downloaded once; a second process waits for the first (stanza #213).

    Raises InputError, without retries, where the hub is not to be reached.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        partial = target.with_name(f".{target.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            requests.head(stanza.resources.common.DEFAULT_RESOURCES_URL, timeout=HUB_SECONDS)
            stanza.download(LANGUAGE, model_dir=str(partial), processors=",".join(PROCESSORS), logging_level="WARN")
        except Exception as error:  # of requests, urllib3 or Stanza: each means "not to be had"
            shutil.rmtree(partial, ignore_errors=True)
            raise InputError(
                f"Stanza's English models are not in {target} and cannot be fetched ({type(error).__name__}). Set "
                "syntax.model to bundled, or download them elsewhere with `stanza.download('en', model_dir=...)` and "
                "set syntax.model to that directory."
            ) from error
        partial.replace(target)
    return target


@dataclass(frozen=True)
class ShardParser:
    """Parses one shard of texts; travels to another process as it is and loads the models there."""

    model: str
    maximum_words: int
    threads: int

    def __call__(self, texts: list[str]) -> tuple[list[Tree | Reason], float]:
        """The tree of each text or why it has none, and the seconds that it took, without loading."""
        torch.set_num_threads(self.threads)
        parser = load_parser(self.model, self.maximum_words)
        started = time.monotonic()
        return parser.parse(texts), time.monotonic() - started
