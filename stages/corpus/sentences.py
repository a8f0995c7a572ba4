"""Sentences of a paragraph, split by sentencex, and the tests that a sentence must pass on its own.

Why sentencex: on the paragraphs of UD English EWT it finds the inner sentence ends with precision 0.97 and recall 0.77
(test; F1 0.859), syntok 1.4.4 with 0.97 and 0.70 (F1 0.815) at a tenth of the speed; most of what both miss are ends
without a full stop. It needs no download, unlike Punkt, knows English abbreviations and is maintained. Known slips: it
cuts after "pct." and does not cut inside quotation marks.
"""

import sentencex

from stages.corpus.boilerplate import boilerplate_rule

# sentencex takes quadratic time where many quotation marks stay open (half a megabyte of them: 8 s), so that it is
# given pieces of this size at most; no sentence that is kept is nearly as long.
LONGEST_PIECE = 20_000
_ASCII_WITHOUT_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


def split_sentences(paragraph: str, language: str) -> list[str]:
    """The sentences of one line of text in order, without the spaces between them; nothing else is lost."""
    candidates = (sentence.strip() for piece in _pieces(paragraph) for sentence in sentencex.segment(language, piece))
    return [sentence for sentence in candidates if sentence]


def _pieces(paragraph: str) -> list[str]:
    """`paragraph` cut into pieces of at most LONGEST_PIECE characters, at a space where there is one."""
    pieces = []
    start = 0
    while len(paragraph) - start > LONGEST_PIECE:
        end = paragraph.rfind(" ", start + 1, start + LONGEST_PIECE + 1)
        end = end if end > 0 else start + LONGEST_PIECE
        pieces.append(paragraph[start:end])
        start = end
    pieces.append(paragraph[start:])
    return pieces


def own_fault(sentence: str, tokens: list[str], minimum: int, maximum: int) -> str | None:
    """Why `sentence` is dropped whatever stands elsewhere, None where it may stay.

    Where fewer than half of its characters are letters it is "symbols": a row of a table, a score, a rule.
    """
    rule = boilerplate_rule(sentence)
    if rule:
        return f"boilerplate: {rule}"
    if 2 * _letters(sentence) < len(sentence) - sentence.count(" "):
        return "symbols"
    if len(tokens) < minimum:
        return "short"
    return "long" if len(tokens) > maximum else None


def _letters(sentence: str) -> int:
    if sentence.isascii():
        # The same count, without a call for each character.
        return len(sentence.encode("ascii").translate(None, _ASCII_WITHOUT_LETTERS))
    return sum(map(str.isalpha, sentence))
