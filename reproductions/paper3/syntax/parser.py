"""Parse texts into dependency trees with Stanza's models out of a directory.

The directory holds either packed models (reproductions/paper3/syntax/packed.py) or what `stanza.download` put there.
`hub_models` fetches Stanza's default English models once, into the user's cache; nothing else here opens a connection.
A text of several sentences becomes one tree with several roots.

    parser = load_parser(Path("models/syntax"), maximum_words=200)
    parser.parse(["A man attacks a woman", ""])          a Tree, and the reason "blank"
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

from reproductions.paper3.syntax.packed import unpack
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.io.places import temporary_files
from sentence_distillery.runtime.cache import cache_directory
from sentence_distillery.runtime.device import device

PROCESSORS = ("tokenize", "mwt", "pos", "lemma", "depparse")
PRETRAIN = "pretrain"
LANGUAGE = "en"
HUB_SECONDS = 10.0
LONGEST_WORD = 20  # characters of a word; a text may have `maximum_words` times as many

Reason = Literal["blank", "too long", "no tokens"]


@dataclass(frozen=True)
class Parser:
    """A loaded pipeline, and the most words that a sentence may have: memory grows with the square of its length."""

    pipeline: Any
    maximum_words: int

    def parse(self, texts: Sequence[str]) -> list[Tree | Reason]:
        """Parse texts.

        Args:
            texts: any strings; white space, NUL and lone surrogates do no harm.

        Returns:
            For each text, in their order, its tree, or the reason why it has none.
        """
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
        """Split texts into Stanza's sentences, and assign each sentence to its text by its place."""
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
        """Tag and parse: a tree for each group of sentences, None for an empty group."""
        document = Document([])
        document.sentences = [sentence for group in groups for sentence in group]
        document.num_tokens = sum(len(sentence.tokens) for sentence in document.sentences)
        document.num_words = sum(len(sentence.words) for sentence in document.sentences)
        if document.sentences:
            self.pipeline(document, processors=["pos", "lemma", "depparse"])
        return [_tree(group) if group else None for group in groups]


def restore_long_tokens(document: Any, text: str) -> None:
    """Put back the characters of each token that Stanza finds too long (a web address) and calls <UNK>."""
    for token in (token for sentence in document.sentences for token in sentence.tokens):
        if token.text == TOKEN_TOO_LONG_REPLACEMENT:
            token.text = token.words[0].text = text[token.start_char : token.end_char]


def _readable(text: str) -> str:
    """Replace each lone surrogate by a question mark, and NUL by U+FFFD: no model was trained on them."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _tree(sentences: list[Any]) -> Tree:
    """Join the sentences of one text to one tree."""
    rows = []
    start = 0
    for sentence in sentences:
        for word in sentence.words:
            head = word.head + start if word.head else 0
            rows.append((word.text, word.lemma or word.text, word.upos, word.xpos, head, word.deprel))
        start = len(rows)
    return Tree(*(list(column) for column in zip(*rows, strict=True)))


@lru_cache(maxsize=1)
def load_parser(directory: str | Path, maximum_words: int) -> Parser:
    """Load the models of a directory; the last parser stays in memory.

    Args:
        directory: packed models, or what `stanza.download` filled.
        maximum_words: the most words of a sentence, at least 1; a text with a longer sentence gets no tree.

    Raises:
        InputError: the directory does not exist, or a model in it is missing or damaged.
    """
    directory = check_models(directory)
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
    except Exception as error:  # Stanza raises many kinds for a bad file: KeyError, RuntimeError, UnpicklingError
        raise InputError(
            f"{directory} does not load as models of Stanza ({type(error).__name__}: {str(error)[:200]}). Download "
            "them again, or name a directory of packed models."
        ) from error
    return Parser(pipeline, maximum_words)


def check_models(directory: str | Path) -> Path:
    """Return the path of a directory of models; raises InputError if it is not a directory."""
    directory = Path(directory)
    if not directory.is_dir():
        raise InputError(
            f"The parser's models: {directory} is not a directory; put packed models there, or the files of "
            "`stanza.download('en', model_dir=...)`."
        )
    return directory


def hub_models() -> Path:
    """Return the directory with Stanza's default English models, fetched into the cache if they are not there."""
    return fetch(cache_directory() / "stanza" / stanza.__version__)


def fingerprint(directory: str | Path) -> str:
    """Hash everything that shapes a tree: Stanza's version, this module, and the files of the models."""
    digest = hashlib.sha256(stanza.__version__.encode() + Path(__file__).read_bytes())
    files = (path for path in check_models(directory).rglob("*") if path.suffix in (".safetensors", ".pt"))
    for file in sorted(files):
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


@contextmanager
def _as_stanza_wants(directory: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the directory of the files that Stanza's loader reads, and the options that point it to them.

    Packed models are unpacked into a directory of this process alone, so that two first loads never meet.
    """
    if (directory / "resources.json").is_file():
        yield directory, {}
        return
    with temporary_files():
        made = tempfile.TemporaryDirectory(prefix="parser-")
    with made as place:
        where = Path(place)
        write_json(where / "resources.json", {LANGUAGE: {"lang_name": "English"}})
        for name in (*PROCESSORS, PRETRAIN):
            torch.save(unpack(directory / f"{name}.safetensors"), where / f"{name}.pt")
        options = {f"{name}_model_path": str(where / f"{name}.pt") for name in PROCESSORS}
        options |= {f"{name}_pretrain_path": str(where / f"{PRETRAIN}.pt") for name in ("pos", "depparse")}
        yield where, options | {"package": None}


def fetch(target: Path) -> Path:
    """Download Stanza's English models once; a second process waits for the first (stanza #213).

    Raises InputError, without retries, if the hub cannot be reached.
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
        except Exception as error:  # requests, urllib3 and Stanza raise many kinds; each means that nothing was fetched
            shutil.rmtree(partial, ignore_errors=True)
            raise InputError(
                f"Stanza's English models are not in {target} and cannot be fetched ({type(error).__name__}). Set "
                "syntax.model to bundled, or to a directory that `stanza.download('en', model_dir=...)` filled."
            ) from error
        partial.replace(target)
    return target


@dataclass(frozen=True)
class ShardParser:
    """Parse one shard of texts; it travels to another process as it is and loads the models of `directory` there."""

    directory: str
    maximum_words: int
    threads: int

    def __call__(self, texts: list[str]) -> tuple[list[Tree | Reason], float]:
        """Return the tree of each text or why it has none, and the seconds of parsing without loading."""
        torch.set_num_threads(self.threads)
        parser = load_parser(self.directory, self.maximum_words)
        started = time.monotonic()
        return parser.parse(texts), time.monotonic() - started
