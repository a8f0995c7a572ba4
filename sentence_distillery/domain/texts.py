"""Measure any encoder on your own texts, without labels and without a run of the pipeline."""

import logging
from collections.abc import Iterable

import numpy as np

from sentence_distillery.corpus.fingerprints import fingerprints, ranks, repeats
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.corpus_files import Texts, read_articles
from sentence_distillery.distillation.distill import SOFT_LABELS, AnyTeacher, as_teacher
from sentence_distillery.domain.lexical_weight import weight_measures
from sentence_distillery.domain.measures import FEWEST, Reference, scored
from sentence_distillery.domain.options import Domain
from sentence_distillery.evaluation.evaluate import Encoder, embed
from sentence_distillery.evaluation.results import Result, as_result
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import setting
from sentence_distillery.io.ragged import Floats
from sentence_distillery.runtime.progress import progress, track
from sentence_distillery.teachers.teachers import load_teacher

DATASET = "texts"
DOMAIN = Domain(peers=[])
AT_ONCE = 256  # texts that the teacher reads between two signs of progress

log = logging.getLogger(__name__)


def evaluate_on_texts(
    encoder: Encoder,
    texts: Texts,
    teacher: AnyTeacher | Encoder,
    *,
    name: str = "encoder",
    maximum: int = 2_000,
    seed: int = DOMAIN.seed,
    text_column: str | None = None,
    read_as: str | None = None,
    quoting: bool | None = None,
    revision: str | None = None,
    maximum_length: int | None = None,
    show_progress: bool | None = None,
) -> list[Result]:
    """Measure how far an encoder agrees with its teacher on texts without labels.

    Take texts that the encoder was not trained on, or the figures flatter it: `distill(..., held_out=0.05)` keeps some.

    Args:
        encoder: An object whose `encode` takes a list of texts and returns (texts, dimension) numbers.
        texts: An iterable of str; or the path of a file or a directory, or several `Path`s, as for `distill`. Each row,
            and each line of a .txt file, is one text. Blank and repeated texts are left out.
        teacher: As for `distill`, or an object like `encoder`. Texts that a file of vectors lacks are left out.
        name: The encoder's name in the results.
        maximum: At most so many texts are compared, at least 3, drawn by their words and the seed.
        seed: Of that draw and of the random pairs, at least 0.
        text_column: The column that has the text, in files with columns; None is `text`.
        read_as: How to read files, as for `distill`.
        quoting: Whether quotation marks enclose fields, as for `distill`.
        revision: The commit of a teacher that is a hub id.
        maximum_length: Word pieces of a text that the teacher reads, at least 2; None is that of its files.
        show_progress: As for `distill`.

    Returns:
        Spearman's correlation of the encoder's and the teacher's cosines over random pairs and over near pairs, in
        [-1, 1]; recall@1, @10 and @100 of the teacher's nearest texts, in [0, 1]; the share of words that are cut into
        pieces, and of texts without a known word. For an encoder with a lexical channel, such as "released", also the
        weight to load it with: for neighbours, and for a search if 50 texts have 32 words or more. `low` and `high` are
        the ends of a 95 % interval. A figure that is undefined has an `Unavailable` with the reason as its value:
        recall@100 of 50 texts, for instance.

    Raises:
        InputError: If `maximum` is below three, there are fewer than three different texts, a file or the teacher
            cannot be read, or `encode` returns vectors of another shape.
        TypeError: If a text is neither a str nor a Path, or the teacher is none of the above.

    Example:
        >>> from sentence_distillery import load
        >>> texts = ["The storm closed the port.", "Ships wait for the storm.", "Rates fell.", "The bank cut rates."]
        >>> for result in evaluate_on_texts(load(truncate_dim=64), texts, load())[2:4]:
        ...     print(result.metric, result.value)
        recall_at_1 1.0
        recall_at_10 Unavailable(reason='4 texts, but recall@10 needs 11')
    """
    if maximum < FEWEST:
        raise InputError(f"{setting('maximum', maximum)} is too few; give at least {FEWEST}.")
    articles = read_articles(texts, Reading(text_column, read_as, quoting), by_line=True)
    chosen = distinct((text for _, text in articles), maximum, seed)
    if len(chosen) < FEWEST:
        raise InputError(f"There are {len(chosen)} different texts, but at least {FEWEST} are needed; give more.")

    # The slow part; an encoder under test takes a second.
    with progress(show_progress):
        vectors = _vectors(teacher, chosen, revision, maximum_length)
    if len(rows := np.flatnonzero(vectors.any(axis=1))) < len(chosen):
        log.warning("%s of %s texts have no vector of the teacher", f"{len(chosen) - len(rows):,}", f"{len(chosen):,}")
        if len(rows) < FEWEST:
            raise InputError(
                f"The teacher has vectors for {len(rows)} texts, but at least {FEWEST} are needed; add vectors."
            )
        chosen, vectors = [chosen[row] for row in rows], vectors[rows]

    # Weights of a lexical channel come last: only an encoder that has one gets them.
    options = DOMAIN.model_copy(update={"seed": seed})
    found = list(scored(name, encoder, Reference.of(chosen, vectors, options), DATASET))
    weights = weight_measures(encoder, chosen, vectors)
    return [*found, *(as_result(name, DATASET, "", measure) for measure in weights)]


def distinct(texts: Iterable[str], maximum: int, seed: int) -> list[str]:
    """Return a sample of at most `maximum` texts in their order, without blank and repeated ones.

    The draw depends on the letters and digits of a text and on the seed, not on the order of the other texts.

    Example:
        >>> distinct(["A cat.", "", "a cat", "A dog."], maximum=9, seed=1)
        ['A cat.', 'A dog.']
    """
    given = list(texts)
    marks = fingerprints(given)
    rows = np.flatnonzero(~repeats(marks) & (marks != 0))
    drawn = np.sort(rows[np.argsort(ranks(marks[rows], seed), kind="stable")[:maximum]])
    return [given[row] for row in drawn.tolist()]


def _vectors(
    teacher: AnyTeacher | Encoder, texts: list[str], revision: str | None, maximum_length: int | None
) -> Floats:
    """Return the teacher's vectors of the texts, (texts, dimension) float32."""
    if hasattr(teacher, "encode") and not isinstance(teacher, str):
        return embed(teacher, texts)
    found = load_teacher(as_teacher(teacher, revision, maximum_length))
    starts = range(0, len(texts), AT_ONCE)
    parts = [
        found.vectors(texts[start : start + AT_ONCE], SOFT_LABELS.batch_tokens, SOFT_LABELS.precision)
        for start in track(starts, len(starts), "teacher")
    ]
    return np.concatenate(parts)
