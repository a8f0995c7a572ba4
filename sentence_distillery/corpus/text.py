"""Normalise text for the corpus: characters, paragraphs without hard wraps, and words.

    raw         "The  ﬁrm\\x00said&nbsp;it\\r\\nwould <b>not</b> pay.<br /><br />It's closed."
    plain       "The firm said it\\nwould not pay.\\n\\nIt's closed."
    paragraphs  ["The firm said it would not pay.", "It's closed."]
    tokens      [the, firm, said, it, would, not, pay], [it, closed]

Words are lower-cased runs of letters with their marks and of digits, for which a small corpus can train vectors such as
GloVe's. An apostrophe inside a word belongs to it (don't, o'clock, they're), so that a negation stays one word. A
closing 's is cut off (the firm's -> the firm), so that a noun and its possessive share one vector.
"""

import re
import unicodedata
from functools import cache

from sentence_distillery.io.unicode import compatible, whole_surrogates

_LINE_END = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACE = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# Zero-width and directional marks, soft hyphens, byte order marks and U+FFFD, which replaces a lost character.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffd]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]")
_INDENT = re.compile(r"\n {2,}(?=[^ \n])")
_HANGING = re.compile(
    r"(?m)(^ *(?:[-*+•‣◦▪●·]|\d{1,3}[.)]) [^\n]*[^\s])\n {2,}(?! |[-*+•‣◦▪●·] |\d{1,3}[.)] )(?=[^\n])"
)
_BLANK_LINES = re.compile(r"\n{3,}")
# For bytes.translate: a line end for each of _LINE_END, a space for each of _CONTROL.
_ASCII_CONTROLS = bytes(
    ord("\n" if _LINE_END.match(chr(code)) else " " if _CONTROL.match(chr(code)) else chr(code)) for code in range(128)
).ljust(256)
WRAP_WIDTH = 120
_FULL = 0.8  # of the width, since not all wrap alike, and entities and blanks have become shorter
_LIST_MARK = re.compile(r"(?:[-*+•‣◦▪●·–—]|\(?(\d{1,3})[.)]|\(?[a-zA-Z][.)]) ")


def is_mark(character: str) -> bool:
    """Tell whether a character is a mark that belongs to the letter before it, such as a vowel sign of Devanagari."""
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"  # of a glyph, as in ❤️
    return unicodedata.category(character) in ("Mn", "Mc") and not selector


@cache  # it takes a twentieth of a second, and ASCII needs none of it
def marks() -> str:
    """List the marks of all letters; the planes of Unicode from 0x20000 on have none."""
    return "".join(filter(is_mark, map(chr, range(0x300, 0x20000))))


@cache
def _word(marks: str) -> re.Pattern[str]:
    letter = rf"[\w{marks}]"  # tokenize() replaces underscores
    clitic = rf"'s(?!{letter})"
    return re.compile(rf"({letter}+(?:(?!{clitic})'{letter}+)*)(?:{clitic})?")


# Letters of scripts without spaces between words, and how many say as much as a word of English: 1.46 Chinese ones and
# 2.8 kana in Tatoeba's translations, 4.7 to 5.5 of Thai, Khmer and Burmese in those of Debian's programs.
_UNSPACED = (
    (re.compile("[\u2e80-\u2fdf\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 1.5),
    (re.compile("[\u3041-\u30ff]"), 3.0),
    (re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]"), 5.0),
)
# ASCII in lower case, with a space for each character that is neither a letter nor a digit.
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)

# Function words by class, the author's own list after the usual grammars. scikit-learn's list holds content words
# (bill, cry, fire, system) and contractions without their apostrophes; NLTK's needs a download. Negations (no, not,
# never, don't) are left out of it, since they reverse the meaning of a sentence.
_ENGLISH = """
a an the this that these those each every either some any all both few many much more most other another such same own
several i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves who whom whose which what there here
about above across after against along among around as at before behind below beneath beside between beyond by despite
down during except for from in inside into like near of off on onto out outside over per since than through throughout
till to toward towards under until up upon via with within without
and but or if because so though although unless while whereas whether when where why how once then
am is are was were be been being do does did doing done have has had having can could may might must shall should will
would ought
i'm i've i'd i'll you're you've you'd you'll he'd he'll she'd she'll it'd it'll we're we've we'd we'll they're they've
they'd they'll that'd that'll there'd there'll who'd who'll who've who're
also again almost already always even ever just now often only quite rather still too very yet
"""
STOP_WORDS: dict[str, frozenset[str]] = {"en": frozenset(_ENGLISH.split())}


def normalise(text: str) -> str:
    """Normalise to NFKC, single spaces, lines ended by \\n, at most one blank line, and no invisible characters.

    An indented line opens a paragraph in wire copy, so a blank line is put before it. Idempotent.
    """
    if not text.isascii():
        text = compatible(_INVISIBLE.sub("", whole_surrogates(text)))
        text = _SPACE.sub(" ", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text:
        text = text.replace("\t", "  ")
    if text.isascii():  # the same in a tenth of the time
        text = text.encode("ascii").translate(_ASCII_CONTROLS).decode("ascii")
    else:
        text = _CONTROL.sub(" ", _LINE_END.sub("\n", text))
    if "\n  " in text:
        text = _INDENT.sub("\n\n", _HANGING.sub(r"\1 ", text))
    while "  " in text:  # halves each run
        text = text.replace("  ", " ")
    if "\n" in text:
        text = text.replace(" \n", "\n").replace("\n ", "\n")
    return (_BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text).strip()


def paragraphs(text: str) -> list[str]:
    """Split normalised text into blocks, each as one line: paragraphs, headings, items of lists.

    Blank lines part blocks. Whether a line end does, too, depends on the text. In hard-wrapped text it does not: there
    all lines have at most WRAP_WIDTH characters, and some go on in a small letter. But a line that begins with a list
    mark begins a block, and a line that had room for the next word ends one, such as a heading or an item's last line.
    In any other text each line is a block.

    Example:
        >>> paragraphs("The storm closed the port on Monday, and\\nall ships wait.\\nWhat we know\\n- Two piers fell")
        ['The storm closed the port on Monday, and all ships wait.', 'What we know', '- Two piers fell']
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    if width > WRAP_WIDTH or not any(map(_goes_on, lines[1:])):
        return [line for line in lines if line]

    # Lines of hard-wrapped text are joined until one of them begins a block.
    blocks: list[list[str]] = [[]]
    for line in lines:
        last = blocks[-1]
        if not line or (last and _begins_block(last, line, width)):
            blocks.append([])
        if line:
            blocks[-1].append(line)
    return [" ".join(block) for block in blocks if block]


def _goes_on(line: str) -> bool:
    """Tell whether a line may be the middle of a sentence: it begins in a small letter, or its script has none."""
    return line[:1].islower() or (line[:1].isalpha() and not line[0].isupper() and " " in line)


def _begins_block(block: list[str], line: str, width: int) -> bool:
    """Tell whether `line` begins a new block in hard-wrapped text of this width, and does not continue `block`."""
    before = block[-1]
    room = _FULL * width - len(before) - 1
    if len(line.partition(" ")[0]) <= room:
        return True

    # A list mark begins an item, or is a number or a dash that wrapping has put there.
    mark = _LIST_MARK.match(line)
    if mark is None:
        return False
    if before[-1] in ".!?:;":
        return True
    if mark[1]:  # a number that wrapping has put at the beginning of a line does not follow an item's
        earlier = _LIST_MARK.match(block[0])
        return int(mark[1]) == (int(earlier[1]) + 1 if earlier and earlier[1] else 1)
    return not _goes_on(line[mark.end() :])  # after a dash in a sentence comes a small letter


def tokenize(text: str) -> list[str]:
    """Split `text` into lower-case words, as the module's docstring defines them; numbers are words, too."""
    if text.isascii() and "'" not in text:  # the same words in a third of the time
        return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    text = text.lower().replace("’", "'").replace("_", " ")
    return _word("" if text.isascii() else marks()).findall(text)


def unspaced_words(text: str) -> int:
    """Count the words of English that the letters of scripts without spaces between words are worth.

    Example:
        >>> unspaced_words("政府星期二宣布了一项新的农业计划。"), unspaced_words("The storm closed the port.")
        (10, 0)
    """
    if text.isascii():
        return 0
    return int(sum(len(letters.findall(text)) / size for letters, size in _UNSPACED))


def content_tokens(tokens: list[str], language: str = "en") -> list[str]:
    """Remove stop words from `tokens`; a language without a list keeps all words."""
    stop_words = STOP_WORDS.get(language, frozenset())
    return [token for token in tokens if token not in stop_words]
