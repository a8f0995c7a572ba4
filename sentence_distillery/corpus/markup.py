"""Take HTML out of text that may hold some: tags, comments, scripts and entities.

libxml2 reads the markup as the HTML standard says. But a user's text may also be prose with a stray "<", which a
parser of HTML would take for a tag and lose. So a "<" reaches the parser only if a tag begins there.
"""

import html
import re

from sentence_distillery.io.unicode import whole_surrogates

# Text is sometimes escaped twice; deeper nesting is not text, and an unbounded loop would be quadratic.
_ESCAPE_LEVELS = 3

_INLINE_NAMES = """
a abbr acronym area b bdi bdo big cite code data del dfn em font i img ins kbd label map mark meter nobr output
progress q ruby s samp small span strike strong sub sup time tt u var wbr
"""
_BLOCK_NAMES = """
address article aside audio base blockquote br button canvas caption center col colgroup dd details dialog dir div dl
dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr input legend li
link main menu meta nav object ol optgroup option p param picture pre rp rt search section select source summary table
tbody td tfoot th thead title tr track ul video
"""
_DROPPED = frozenset(["iframe", "noembed", "noframes", "noscript", "script", "style", "svg", "template"])
# The content of these is not markup, so that a missing end would swallow the rest of the text; nor would _DROPPED end.
_UNTIL_END = _DROPPED | {"textarea", "title", "xmp"}
_BOOLEAN_NAMES = """
allowfullscreen async autofocus autoplay checked compact controls default defer disabled download hidden inert ismap
itemscope loop multiple muted nohref nomodule noshade novalidate nowrap open playsinline readonly required reversed
selected
"""
_INLINE, _BLOCK, _BOOLEAN = (frozenset(names.split()) for names in (_INLINE_NAMES, _BLOCK_NAMES, _BOOLEAN_NAMES))

# Atomic, so that nothing is read twice. Groups: the slash of an end tag, the name, the attributes.
_ATTRIBUTE = r"""\s++[^\s"'<>/=]++(?>(?:\s*+=\s*+(?>"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?)"""
_TAG = re.compile(rf"<(/?)([A-Za-z][\w:.-]*+)((?>(?:{_ATTRIBUTE})*))\s*+/?>")
_BARE = re.compile(r"""\s([^\s"'<>/=]++)(?!\s*=)(?=\s|$)""")
_VALUE = re.compile(r"""=\s*+(?>"[^"]*+"|'[^']*+'|[^\s"'=<>`]++)""")
_DECLARATION = re.compile(r"<(?:!doctype\b|\?[a-z])[^<>]*+>", re.IGNORECASE)
_COMMENT, _COMMENT_END = "<!--", "-->"


def without_markup(text: str) -> str:
    """Resolve HTML entities and remove tags; a tag that breaks lines or parts cells becomes a blank line.

    Scripts, styles, comments and the like go with their content. An unknown tag, such as Reuters' code <USBC.O>, goes
    alone, but not behind a letter, as in vector<int>. What only looks like a tag stays.

    Example:
        >>> without_markup("<td>Forty ships</td><td>Two &amp; a half</td><!-- a > b -->").split()
        ['Forty', 'ships', 'Two', '&', 'a', 'half']
        >>> without_markup("if a<b and c>d or 3 < 4")
        'if a<b and c>d or 3 < 4'
    """
    for _ in range(_ESCAPE_LEVELS):
        if "<" in text and (marked := _marked(text)):
            text = _parsed(marked)
        elif "&" in text:
            text = html.unescape(text)
        else:
            break
    return text


def _marked(text: str) -> str | None:
    """Escape each "<" that does not begin markup; None if none does."""
    found = "<![CDATA[" in text
    if found:
        text = text.replace("<![CDATA[", "").replace("]]>", "")
    lower = text.lower()
    ends = {name: lower.rfind(f"</{name}") for name in _UNTIL_END} | {_COMMENT: text.rfind(_COMMENT_END)}

    # Every sign < becomes either a tag that the parser knows or the text that it is.
    pieces, begin = [], 0
    while (place := text.find("<", begin)) >= 0:
        pieces.append(text[begin:place])
        end, piece = _token(text, place, ends)
        found = found or end > place + 1
        pieces.append(piece)
        begin = end
    pieces.append(text[begin:])
    return "".join(pieces) if found else None


def _token(text: str, place: int, ends: dict[str, int]) -> tuple[int, str]:
    """Return the end of the markup at a "<", and the text that the parser gets for it."""
    if text.startswith(_COMMENT, place) and ends[_COMMENT] > place:
        return text.index(_COMMENT_END, place + 2) + len(_COMMENT_END), ""
    if declaration := _DECLARATION.match(text, place):
        return declaration.end(), ""
    tag = _TAG.match(text, place)
    if tag is None or not _is_tag(tag):
        return place + 1, "&lt;"
    name = tag[2].lower()
    if name in _INLINE or name in _BLOCK or name in ("html", "body"):
        return tag.end(), tag[0] + ("\n\n" if tag[1] and name in _BLOCK else "")

    # Without its end such a tag would swallow the rest of the text.
    if name in _UNTIL_END and (tag[1] or ends[name] > place):
        return tag.end(), tag[0]
    return (place + 1, "&lt;") if text[place - 1 : place].isalnum() else (tag.end(), "")


def _is_tag(tag: re.Match[str]) -> bool:
    """Tell whether attributes are such: one without a value is a boolean attribute of HTML, and an end tag has none."""
    if not tag[3]:
        return True
    bare = _BARE.findall(_VALUE.sub("=", tag[3]))
    return not tag[1] and all(name.lower() in _BOOLEAN or "-" in name for name in bare)


def _parsed(marked: str) -> str:
    """Return the text of markup."""
    from lxml import etree  # type: ignore[import-untyped]  # few texts need it

    parser = etree.HTMLParser(target=_Text(), huge_tree=True)
    parser.feed(f"<div>{whole_surrogates(marked)}")  # white space that opens a document would be lost
    text: str = parser.close()
    return text.removeprefix("\n\n")


class _Text:
    """Receives what a parser reads, and keeps the text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.dropping = 0

    def start(self, tag: str, attributes: object) -> None:
        self.dropping += tag in _DROPPED
        if tag in _BLOCK:
            self.pieces.append("\n\n")

    def end(self, tag: str) -> None:
        self.dropping -= tag in _DROPPED

    def data(self, text: str) -> None:
        if not self.dropping:
            self.pieces.append(text)

    def close(self) -> str:
        return "".join(self.pieces)
