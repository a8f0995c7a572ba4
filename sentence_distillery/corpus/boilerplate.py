"""Boilerplate: text that news pages and wire services add to articles, as named rules.

Repairs remove a piece of a paragraph (a dateline, an address); sentence rules drop a whole sentence. Each pattern is
bounded or possessive, so that no input makes it backtrack for long.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_AGENCY = r"(?:Reuters|AP|AFP|UPI|CNN|PA|DPA|dpa|ANI|IANS|PTI|TASS|Xinhua|Bloomberg|Kyodo(?: News)?|Associated Press)"
_DAY = r"[A-Z][a-z]{2,8}\.? \d{1,2}"

# "LONDON, March 3 (Reuters) - Shares fell": where and when the report was filed, which is not part of its first
# sentence. The agency or the day must be there, since a capitalised word and a dash alone begin ordinary sentences,
# too.
_DATELINE = re.compile(
    rf"(?:[A-Z][^()\n]{{0,60}})?\({_AGENCY}\) ?(?:--?|[–—]) ?"
    rf"|[A-Z][A-Z .,'/-]{{2,40}}, {_DAY} ?(?:\({_AGENCY}\) ?)?(?:--?|[–—]) "
)
_LONGEST_DATELINE = 90
# "paid more. REUTER", "in June. More": the wire's own marks of an end or of a further page.
_SIGN_OFFS = ("REUTER", "REUTERS", "Reuter", "reuter", "MORE", "More", "ENDS", "-30-", "###", "^M")
_SIGN_OFF = re.compile(r"(?:^|(?<=[.!?\"')]) ?)(?:REUTERS?|[Rr]euter|MORE|More|ENDS|-30-|###)(?:\^M)?$")
# Addresses are not words, and tokenised they would add "www" and "com" to the vocabulary.
_URL = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"]{0,2000}[^\s<>\"'.,;:!?)\]]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}")
# Bullets, rules and emphasis in plain text (*really*, ====), old line ends (^M), the backslashes of escaped quotes.
# Signs of a word stay: C#, #metoo, my_var.
_SYMBOL = re.compile(r"(?:[•‣●○◦■□▪▫◆◇►▶★☆※|¦^~*=\\]|(?<![^\W_])_|_(?![^\W_])|(?<![^\W_])#(?![^\W_]))+")
_ASCII_WITHOUT_SYMBOLS = bytes(code for code in range(128) if not _SYMBOL.match(chr(code)))
_OLD_LINE_END = re.compile(r"\^M")
_RULE = re.compile(r"-{3,}")
# "the world 's", "hadn 't": some crawlers' tokenisers leave a space after the word, before the apostrophe.
_DETACHED = re.compile(r"(?<=[a-z]) (?='(?:s|t|re|ve|ll|d|m)\b)")

# Repairs of a paragraph, in the order in which `without_boilerplate` applies them.
REPAIRS = {
    "dateline": "where and when the report was filed, and by which agency",
    "sign-off": "the wire's own marks of an end or of a further page",
    "url": "web addresses",
    "e-mail": "e-mail addresses",
    "space before an apostrophe": "a space that a tokeniser left, as in `the world 's`",
    "symbol": "bullets, rules, emphasis, escapes and old line ends",
}
# Each must match the whole sentence, from its first character to its last.
_SENTENCE_RULES = {
    # "(Reporting by Jane Doe in Paris; Editing by John Roe)": only names and connecting words may follow.
    "credits": r"\(?(?:(?:Additional|Further) )?(?i:reporting|writing|editing|compiled|edited|written) by "
    r"(?>(?:(?:[A-Z][\w.'’-]*+|and|in|by|for|at|additional|further|reporting|writing|editing|[,;&])\s*+)+)[.)]*",
    # "Copyright 2019 ...", "© BBC", "All rights reserved.", "This material may not be published, broadcast, ...".
    "rights": r"(?:(?i:copyright) )?(?:©|\([cC]\) ?(?:\d{4}|(?i:copyright))).{0,200}"
    r"|(?i:copyright (?:\d{4}|by\b)|all rights reserved).{0,200}"
    r"|This (?:material|content|article) may not be (?:published|reproduced|copied).{0,200}",
    # Buttons and labels of the page around the article; a label is one only if nothing or a colon follows, since
    # "Advertisement revenue fell" is a sentence.
    "share": r"(?i:(?:share this|share on|share via|follow us|like us on|tweet this|click here|click to|tap here"
    r"|subscribe (?:here|now|to our)|sign up (?:here|now|to our|for (?:our|free))|skip to (?:main )?content)\b.{0,80}"
    r"|(?:advertisement|read more|read next|related (?:articles?|stories|topics|content)|continue reading"
    r"|story continues(?: below)?|most (?:read|viewed|popular)|back to top|leave a comment|share)(?:\W*|: ?.{0,80}))",
    # Consent banners. No rule may begin with .*, which would read every sentence to its end.
    "cookies": r"(?i:(?:we|(?:this|our|the) (?:web ?)?site) uses? cookies|(?:accept|manage|reject)(?: all)? cookies"
    r"|by (?:using|continuing)\b.{0,80}\bcookies|cookies? (?:policy|settings|preferences|notice)).{0,200}",
    # "Contact the writer at masi@chinadaily.com.cn", here without the address, which is already removed.
    "contact": r"(?i:(?:you (?:can|may) )?(?:contact|e-?mail|reach|write to) (?:the )?"
    r"(?:writers?|reporters?|authors?|editors?|us)(?: on this story)?(?: at)?)\W*",
}
# The first two letters of each text that a rule matches, except after ( or ©.
_BEGINNINGS = "ac ad al ba by cl co e- ed em fo fu le li ma mo ou re sh si sk st su ta th tw we wr yo"
_MAY_MATCH = frozenset(_BEGINNINGS.split())
RULES = {
    "credits": "who reported, wrote or edited the article",
    "rights": "copyright notices",
    "share": "buttons and labels of the page around the article",
    "cookies": "consent banners",
    "contact": "how to reach the author or the editors",
}
_SENTENCES = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _SENTENCE_RULES.items()))


def without_boilerplate(paragraph: str, removed: Counter[str]) -> str:
    """Apply REPAIRS to a paragraph; `removed` counts the removals by name."""
    # Each pattern runs only if a sign of it is there: most paragraphs have none, and a search for a sign costs little.
    beginning = paragraph[:_LONGEST_DATELINE]
    has_dash = "-" in beginning or "–" in beginning or "—" in beginning
    dateline = _DATELINE.match(beginning) if has_dash else None
    if dateline:
        removed["dateline"] += 1
        paragraph = paragraph[dateline.end() :]
    if paragraph.endswith(_SIGN_OFFS):
        paragraph = _counted(_SIGN_OFF, "", paragraph, "sign-off", removed)
    if "www." in paragraph or "://" in paragraph:
        paragraph = _counted(_URL, "", paragraph, "url", removed)
    if "@" in paragraph:
        paragraph = _counted(_EMAIL, "", paragraph, "e-mail", removed)
    if " '" in paragraph:
        paragraph = _counted(_DETACHED, "", paragraph, "space before an apostrophe", removed)
    if "^M" in paragraph:
        paragraph = _counted(_OLD_LINE_END, " ", paragraph, "symbol", removed)
    if "---" in paragraph:
        paragraph = _counted(_RULE, " ", paragraph, "symbol", removed)

    # Symbols last, since a dateline or an address may be known by them.
    if not paragraph.isascii() or paragraph.encode("ascii").translate(None, _ASCII_WITHOUT_SYMBOLS):
        paragraph = _counted(_SYMBOL, " ", paragraph, "symbol", removed)
    return " ".join(paragraph.split()) if "  " in paragraph else paragraph.strip()


def boilerplate_rules(sentences: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each sentence that is boilerplate as a whole, and the name of its rule in RULES."""
    candidates = [  # a few in a hundred, found in a fraction of the time
        number
        for number, sentence in enumerate(sentences)
        if sentence[:2].lower() in _MAY_MATCH or sentence[:1] in ("(", "©")
    ]
    for number in candidates:
        match = _SENTENCES.fullmatch(sentences[number])
        if match and match.lastgroup:
            yield number, match.lastgroup


def _counted(pattern: re.Pattern[str], replacement: str, text: str, name: str, removed: Counter[str]) -> str:
    text, count = pattern.subn(replacement, text)
    if count:
        removed[name] += count
    return text
