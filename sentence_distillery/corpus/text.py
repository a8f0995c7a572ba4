"""Normalise text for the corpus: characters, paragraphs without hard wraps, and words.

    raw         "The  ﬁrm\\x00said&nbsp;it\\r\\nwould <b>not</b> pay.<br /><br />It's closed."
    plain       "The ﬁrm said it\\nwould not pay.\\n\\nIt's closed."
    paragraphs  ["The ﬁrm said it would not pay.", "It's closed."]
    tokens      [the, ﬁrm, said, it, would, not, pay], [it, closed]

Words are lower-cased runs of letters and digits, for which a small corpus can train vectors such as GloVe's. An
apostrophe inside a word belongs to it (don't, o'clock, they're), so that a negation stays one word; a closing 's is cut
off (the firm's -> the firm), so that a noun and its possessive share one vector.
"""

import html
import re
import unicodedata

from sentence_distillery.io.unicode import whole_surrogates

# Tags that break lines in HTML; every other tag is inside a line. A tag has up to 200 characters only, so that a
# stray "<" costs nothing; Reuters' company codes (<IBM>) look like tags and go with them.
_TAG = re.compile(
    r"</?(?:((?i:br|p|div|li|ul|ol|tr|table|h[1-6]|blockquote|section|article)\b)|[A-Za-z!])[^<>]{0,200}>"
)
# Text is sometimes escaped twice; deeper nesting is not text, and an unbounded loop would be quadratic.
_ESCAPE_LEVELS = 3

_LINE_END = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACE = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# Zero-width and directional marks, soft hyphens, byte order marks and U+FFFD, which replaces a lost character.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffd]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]")
_INDENT = re.compile(r"\n {2,}(?=[^ \n])")
_BLANK_LINES = re.compile(r"\n{3,}")
# For bytes.translate: a line end for each of _LINE_END, a space for each of _CONTROL.
_ASCII_CONTROLS = bytes(
    ord("\n" if _LINE_END.match(chr(code)) else " " if _CONTROL.match(chr(code)) else chr(code)) for code in range(128)
).ljust(256)
WRAP_WIDTH = 120

_CLITIC = r"'s(?![^\W_])"
_WORD = re.compile(rf"([^\W_]+(?:(?!{_CLITIC})'[^\W_]+)*)(?:{_CLITIC})?")
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


def without_markup(text: str) -> str:
    """Resolve HTML entities and remove tags; a tag that breaks lines becomes a blank line."""
    for _ in range(_ESCAPE_LEVELS):
        if "&" not in text and "<" not in text:
            break
        text = _TAG.sub(_tag_text, html.unescape(text))
    return text


def _tag_text(tag: re.Match[str]) -> str:
    return "\n\n" if tag[1] else ""


def normalise(text: str) -> str:
    """Normalise to NFC, single spaces, lines ended by \\n, at most one blank line, and no invisible characters.

    An indented line opens a paragraph in wire copy, so a blank line is put before it. Idempotent.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", whole_surrogates(text)))
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
        text = _INDENT.sub("\n\n", text)
    while "  " in text:  # halves each run
        text = text.replace("  ", " ")
    if "\n" in text:
        text = text.replace(" \n", "\n").replace("\n ", "\n")
    return (_BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text).strip()


def paragraphs(text: str) -> list[str]:
    """Split normalised text into paragraphs, each as one line.

    If no line is longer than WRAP_WIDTH, the text counts as hard-wrapped: blank lines divide paragraphs and single
    line ends are spaces. Otherwise each line is a paragraph.
    """
    lines = text.split("\n")
    blocks = text.split("\n\n") if max(map(len, lines)) <= WRAP_WIDTH else lines
    return [block.replace("\n", " ") for block in blocks if block]


def tokenize(text: str) -> list[str]:
    """Split `text` into lower-case words, as the module's docstring defines them; numbers are words, too."""
    if text.isascii() and "'" not in text:  # the same words in a third of the time
        return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    return _WORD.findall(text.lower().replace("’", "'"))


def content_tokens(tokens: list[str], language: str = "en") -> list[str]:
    """Remove stop words from `tokens`; a language without a list keeps all words."""
    stop_words = STOP_WORDS.get(language, frozenset())
    return [token for token in tokens if token not in stop_words]
