"""The student that ships: `make release` after `dvc exp run -S profile=best` writes models/released.

    models/student -> common words, fewer dimensions, 255 levels -> models/released, 16 MB at most

It is in git and in the wheel. Common is what GloVe has among its first 40,000 words; a word that goes is cut into
pieces from then on. A smaller vocabulary leaves room for more dimensions: 40,000 were chosen on STS-B dev and SICK
trial (docs/levers.md).

A release takes the place of another only where no figure on a dev split gets worse by more than TOLERANCE. Both are
scored now, on the same benchmark files, so that a figure from another day or another copy of a set decides nothing; nor
does a test split. To begin anew, remove models/released by hand.
"""

from pathlib import Path
from typing import Any

from sentence_distillery.benchmarks.data import BENCHMARKS_DIRECTORY, PROVENANCE
from sentence_distillery.benchmarks.external import EXTERNAL
from sentence_distillery.distillation.compression import Precision, compressed, principal_directions
from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.encoder.static_encoder import CONFIG, STUDENT, StaticEncoder
from sentence_distillery.encoder.tokenizer import CONTINUATION, UNKNOWN_ID, static_tokenizer
from sentence_distillery.evaluation.similarity import SETS, require_benchmarks, scores
from sentence_distillery.io.artifacts import InputError, atomic_directory, read_json
from sentence_distillery.release.pareto import RELEASED, megabytes, token_counts
from sentence_distillery.word_vectors.glove import glove_words
from stages.params import Params, load_params

PROFILE = "best"
MEGABYTES = 16.0
CARD_MEGABYTES = 0.05  # the model card and small files
MULTIPLE = 8  # of the dimension
TOLERANCE = 0.001  # of a correlation: 0.1 where they are x 100
COMMON = 40_000  # of GloVe's words, which it lists by their frequency


def with_common_words(encoder: StaticEncoder) -> StaticEncoder:
    """The student with GloVe's first COMMON words, single characters and the continuations of words alone."""
    common = set(glove_words()[:COMMON])
    names = sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    kept = {
        row: token
        for token, row in names
        if row == UNKNOWN_ID or token in common or token.startswith(CONTINUATION) or len(token) == 1
    }
    return StaticEncoder(static_tokenizer(list(kept.values())), encoder.table[list(kept)])


def largest_dimension(encoder: StaticEncoder) -> int:
    """The most dimensions, a multiple of 8, with which the released directory stays within 16 MB."""
    tokenizer = len(encoder.tokenizer.to_str(pretty=False).encode())
    room = (MEGABYTES - CARD_MEGABYTES) * 1e6 - tokenizer
    fitting = int(room // (2 * len(encoder.stored))) - 1  # a token has a factor of two bytes, too
    dimension = min(fitting, encoder.dimension) // MULTIPLE * MULTIPLE
    if dimension < MULTIPLE:
        raise InputError(
            f"A vocabulary of {len(encoder.stored):,} tokens leaves no room for vectors within {MEGABYTES:.0f} MB; "
            "lower COMMON."
        )
    return dimension


def worse(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """Each dev figure that is lower than before by more than TOLERANCE, in words."""
    return [
        f"{name} is {100 * after[name]:.2f}, released is {100 * value:.2f}"
        for name, value in before.items()
        if "/dev/" in name and after[name] < value - TOLERANCE
    ]


def read_source(params: Params) -> tuple[StaticEncoder, dict[str, Any]]:
    """The student to release and its config.json; raises InputError where it is no static one of `best`."""
    config = read_json(STUDENT / CONFIG)
    encoder = StaticEncoder.load(STUDENT)
    for what in (config.get("profile"), params.profile):
        if what != PROFILE:
            raise InputError(
                f"{STUDENT} or params.yaml is of the profile '{what}', and a release comes from '{PROFILE}': run "
                f"`dvc exp run -S profile={PROFILE}`."
            )
    if encoder.kind == "paper":
        raise InputError(f"{STUDENT} is of kind paper; only a static student is released.")
    return encoder, config


def trained_on(paths: list[str]) -> dict[str, str]:
    """Each file of the corpus and the licence of its set, as the set's owners state it."""
    licences = {entry.name: entry.licence for entry in EXTERNAL}
    return {path: licences.get(Path(path).parent.name, "not known here; its owner's") for path in paths}


def card(config: dict[str, Any], params: Params, figures: dict[str, float]) -> dict[str, Any]:
    """What the model card and config.json say beside the shape."""
    sets = read_json(BENCHMARKS_DIRECTORY / PROVENANCE)["sets"]
    names = list(dict.fromkeys(name for name, _ in SETS))
    return {
        **{key: config[key] for key in ("profile", "language", "teacher", "sentences", "epochs", "seed")},
        "trained_on": trained_on([source.path for source in params.crawl.inputs]),
        "full_dimension": config["dimension"],
        "benchmarks": {name: {key: sets[name][key] for key in ("sha256", "licence", "rows")} for name in names},
        "figures": {name: round(value, 5) for name, value in figures.items()},
    }


def release() -> dict[str, float]:
    """Replace models/released; returns its figures. Raises InputError where it would be worse or too large."""
    params = load_params()
    require_benchmarks()
    student, config = read_source(params)
    common = with_common_words(student)
    directions = principal_directions(student.table, token_counts(student))
    small = compressed(common, directions, largest_dimension(common), Precision.LEVELS)
    figures = scores(small.encode)
    if (RELEASED / CONFIG).exists():
        problems = worse(scores(StaticEncoder.load(RELEASED).encode), figures)
        if problems:
            raise InputError(f"This student is worse than the one in {RELEASED}: {'; '.join(problems)}. It stays.")
    with atomic_directory(RELEASED) as partial:
        values = write_model(small, card(config, params, figures), partial)
        write_card("released_card.md", {**values, "full_figures": scores(student.encode)}, partial)
        if megabytes(partial) > MEGABYTES:
            raise InputError(f"The release has {megabytes(partial)} MB, more than {MEGABYTES}; what was there stays.")
    return figures
