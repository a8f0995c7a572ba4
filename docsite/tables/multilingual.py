"""The multilingual encoder by language, from reports/multilingual.csv."""

from collections.abc import Callable

from docsite.saved import table
from measurements.release.multilingual.languages import BY_CODE
from reproductions.docs.tables.cells import NONE, figure, grid

OURS = "released-multilingual"
OTHERS = ("USE multilingual", "released", "WordLlama")


def by_language() -> list[str]:
    """Similarity and retrieval in each language, beside the teacher and other static encoders."""
    lines = {(line["encoder"], line["language"]): line for line in table("multilingual")}
    codes = [code for encoder, code in lines if encoder == OURS]
    rows = [
        [_name(code), *(_cell(lines.get((OURS, code)), key, 0) for key in ("known", "without"))]
        + [_cell(lines.get((encoder, code)), "similarity") for encoder in (OURS, *OTHERS)]
        + [_cell(lines.get((encoder, code)), "retrieval") for encoder in (OURS, *OTHERS)]
        + [_rate(lines[OURS, code]["texts_per_second"])]
        for code in codes
    ]
    head = ["language", "words known", "no vector", "STS-B", *OTHERS, "Tatoeba", *OTHERS, "texts/s"]
    part = table("multilingual")[0]["part"]
    about = (
        f"STS-B {part}: rank correlation × 100. Tatoeba: per cent of the sentences whose nearest English sentence is "
        "their translation, on the half that no choice was made on. Words known: per cent of Tatoeba's words that are "
        "one token. `python -m measurements.multilingual`"
    )
    return [*grid(head, rows), "", about]


def _name(code: str) -> str:
    return BY_CODE[code].name if code in BY_CODE else "English"


def _cell(line: dict[str, str] | None, key: str, digits: int = 1) -> str:
    return figure(float(line[key]), digits) if line and line[key] else NONE


def _rate(value: str) -> str:
    return f"{round(float(value), -3):,.0f}" if value else NONE


TABLES: dict[str, Callable[[], list[str]]] = {"multilingual": by_language}
