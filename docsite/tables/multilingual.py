"""The multilingual encoder by language, from reports/multilingual.csv, beside the figures that others published."""

from collections.abc import Callable, Sequence

from docsite.saved import REPORTS, lines, published, table
from measurements.release.multilingual.languages import BY_CODE
from reproductions.docs.tables.cells import NONE, figure, grid

OURS, MODEL2VEC, TEACHER = "released-multilingual", "model2vec", "USE multilingual"
OTHERS = (TEACHER, "released", MODEL2VEC, "WordLlama")
PUBLISHED = {"potion-multilingual-128M": "potion †", "static-similarity-mrl-multilingual-v1": "static-similarity †"}
MAPPED = "USE multilingual, mapped"
LIMITS = {  # what the teacher loses, and ours, in the languages that have both sets
    TEACHER: "USE multilingual",
    MAPPED: "the same, mapped into our 160 dimensions",
    "USE multilingual, words sorted": "the same, the words of each text in alphabetical order",
    OURS: "released-multilingual",
}

Lines = dict[tuple[str, str], dict[str, str]]


def similarity() -> list[str]:
    """The similarity in each language that has ratings."""
    codes = [code for code in _codes() if _lines()[OURS, code]["similarity"]]
    part = table("multilingual")[0]["part"]
    about = (
        f"Rank correlation with STS-B {part}, × 100. † as `reports/published.csv` has it, with the source: with "
        "another German translation of the same sentences, and no figure for the others. "
        f"released: the encoder of {_about().split('; ')[1]}."
    )
    return [*_compared(codes, "similarity", "stsb", "spearman"), "", about]


def translations() -> list[str]:
    """How many translations are found in each language."""
    codes = [code for code in _codes() if _lines()[OURS, code]["retrieval"]]
    about = (
        "Per cent of Tatoeba's sentences whose nearest English sentence is their translation, on the half that no "
        "choice was made on. † as published, on both halves (`reports/published.csv` has the source)."
    )
    return [*_compared(codes, "retrieval", "tatoeba", "accuracy"), "", about]


def trained_on() -> list[str]:
    """What each language was trained on, what the encoder knows of it, and the speed."""
    lines = _lines()
    rows = []
    for code in _codes():
        counts = (_count(lines[OURS, code][key]) for key in ("texts", "taught", "tokens"))
        shares = (_cell(lines[OURS, code], key, 0) for key in ("known", "without"))
        rates = (_rate(lines.get((encoder, code))) for encoder in (OURS, MODEL2VEC))
        rows.append([_name(code), *counts, *shares, *rates])
    head = ["language", "texts", "second teacher", "tokens", "words known", "no vector", "texts/s", "model2vec"]
    about = (
        "Texts that were trained on, those of them whose target has a say of the second teacher, and their different "
        "tokens. Words known: per cent of Tatoeba's words that are one token. No vector: per cent of its sentences. "
        "Texts a second of processor time: Tatoeba's sentences, new to the encoder, in turn with model2vec, which has "
        f"the same tokens. {_about()}."
    )
    return [*grid(head, rows), "", about]


def limits() -> list[str]:
    """What the teacher loses in our space and without the order of words, beside ours."""
    lines, codes = _lines(), _codes(MAPPED)
    rows = [
        [shown, *(_cell(lines.get((encoder, code)), key) for key in ("similarity", "retrieval") for code in codes)]
        for encoder, shown in LIMITS.items()
    ]
    head = ["", *(f"STS-B {_name(code)}" for code in codes), *(f"Tatoeba {_name(code)}" for code in codes)]
    return grid(head, rows)


def _compared(codes: Sequence[str], key: str, dataset: str, metric: str) -> list[str]:
    """Ours, what else was measured, and what others published: a row for each language."""
    lines, others, rows = _lines(), [published(system) for system in PUBLISHED], []
    for code in codes:
        figure = f"{dataset}-{code}/{metric}" if code in BY_CODE else f"{dataset}/{metric}"
        measured = (_cell(lines.get((encoder, code)), key) for encoder in (OURS, *OTHERS))
        rows.append([_name(code), *measured, *(_published(found, figure) for found in others)])
    return grid(["language", OURS, *OTHERS, *PUBLISHED.values()], rows)


def _lines() -> Lines:
    return {(line["encoder"], line["language"]): line for line in table("multilingual")}


def _about() -> str:
    """The command, the day and the machine."""
    return lines(REPORTS / "multilingual.csv")[0].removeprefix("# ")


def _codes(encoder: str = OURS) -> list[str]:
    return [code for name, code in _lines() if name == encoder]


def _name(code: str) -> str:
    return BY_CODE[code].name if code in BY_CODE else "English"


def _cell(line: dict[str, str] | None, key: str, digits: int = 1) -> str:
    return figure(float(line[key]), digits) if line and line[key] else NONE


def _published(found: dict[str, str], key: str) -> str:
    return figure(100 * float(found[key]), 1) if key in found else NONE


def _count(value: str) -> str:
    return f"{int(value):,}" if value else NONE


def _rate(line: dict[str, str] | None) -> str:
    return f"{round(float(line['texts_per_second']), -3):,.0f}" if line and line["texts_per_second"] else NONE


TABLES: dict[str, Callable[[], list[str]]] = {
    "multilingual similarity": similarity,
    "multilingual translations": translations,
    "multilingual languages": trained_on,
    "multilingual limits": limits,
}
