"""Sentences of a paragraph: English by the rules below, other languages by sentencex.

A sentence may end at one of . ! ? … and the quotes or brackets that close after it, before a space. What follows is F:

    . ! ?   F is a capital or a digit                         it ends, unless the word before says otherwise (below)
    ! ?     F is a small letter                               it ends; not after a closing quote: "Why?" she asked
    .       F is a small letter                               it ends after a word of three small letters or more
    ...     F is a small letter                               it goes on
    any     no space, but a common first word: "it.The"       it ends

The word before a full stop, if it is an abbreviation: after a title (Dr.) and before a number (Dec. 15, No. 3) it
goes on, and so does any short word before a number that ends a reference in brackets (Phil. 4:8); after another one
(Inc., U.S., a.m., an initial) it ends only before a word that often begins sentences (The, He). A number or a letter at
the beginning of a sentence numbers it (1. The). A citation after the full stop belongs to the sentence that it follows
(in 1805.[6] The), except in a list of references, whose first one begins with its number.

Inner sentence ends of the paragraphs of UD English EWT: the corpus report compares these rules with other
splitters. The rules were written on its training and development splits; most of the ends that they miss have no mark.
"""

import re

import sentencex

# sentencex takes quadratic time if many quotation marks stay open (half a megabyte of them: 8 s), so it gets pieces of
# this size at most; no sentence that is kept is nearly as long.
LONGEST_PIECE = 20_000
LONGEST_ABBREVIATION = 6  # letters, of one that is in no list
LONGEST_REFERENCE = 200  # characters, in brackets

# In lower case, without their last full stop: titles, ranks, references, months, states and companies. Compared with
# the lists of sentencex (Wikimedia) and CLDR 44, whose ordinary words (act, hat) are left out. After these none ends.
_TITLES = """
mr mrs ms messrs mssrs mme mlle msgr dr drs prof profs gen gov govs sen sens rep reps lt maj capt cmdr comdr comdt sgt
cpl pvt pfc adm rev revd hon pres supt insp det st ste ft mt sr sra srta fr cllr ald amb atty attys asst secy brig col
cdr ens flt sqn ldr rt lcpl msgt ssgt tsgt vs e.g i.e eg ie cf viz approx ca attn incl excl feat op cit ibid
"""
# After these no sentence ends before a number, or before a letter or a Roman numeral in its place.
_NUMBERED = """
no nos nr nrs art arts sec secs sect sects fig figs vol vols pp p pg pgs ch chap chaps eq eqs eqn eqns ex exs tab tbl
app appx para paras pt pts bk bks cl def thm prop lem cor alg ref refs ver rte hwy apt bldg reg div
jan feb mar apr jun jul aug sep sept oct nov dec
"""
# After these, an initial or letters with full stops (U.S.), a sentence ends only before a word of _STARTERS.
_SHORT = """
inc corp co cos ltd plc llc llp bros jr etc al est ave blvd rd hwy sq dept univ assn assoc intl natl ext tel dist div
mfg mgr ed eds para govt jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat
ariz ark calif colo conn del fla ill ind kan mass mich minn mo mont neb nev okla ore penn tenn tex wash wis wyo
bldg esq expy fwy hosp mtn suppl treas
"""
_STARTERS = """
A An The This That These Those He She It We They I You His Her Its Our Their My Your There Here In On At But And Or For
From If When While As After Before Although Since With Without However Meanwhile What Who How Why Where Which Also Some
Many Most Both Each Every Neither No Not So Then Thus To By Under During Until Because Another Other One Two All Any
Only Such Still Yet Even Now Today It's I'm He's She's We're They're That's There's I've You're Don't Please Thanks
Thank Let Let's Is Are Was Were Do Does Did Can Could Would Should Will Have Has Earlier Later Last Next Once Instead
Among According More Several Nor Unlike Despite Perhaps Just Never
"""
_EXCLAIMED = frozenset(["yahoo", "jeopardy"])  # names with a mark of their own
NEVER_LAST, BEFORE_NUMBERS, ABBREVIATIONS, STARTERS = (
    frozenset(words.split()) for words in (_TITLES, _NUMBERED, _SHORT, _STARTERS)
)
_KNOWN = NEVER_LAST | BEFORE_NUMBERS | ABBREVIATIONS
_OPENING = "\"'“‘(["
# For a text in which each mark is replaced by a full stop, since `re` finds one character much faster than several.
# Atomic, and it starts only if no mark precedes, so that a long run of marks is read once.
_CITED = r"(?>(?: ?\[(?:\d{1,3}(?>(?:(?:, ?|[-–])\d{1,3})*)|[a-z]|note \d+|citation needed)\])*)"
_END = re.compile(
    rf"(\.(?<!\.\.)\.*+)([\"'”’)\]]*+)({_CITED})"
    r"(?: +([\"'“‘(\[]*+)(?P<first>[^\s.,;:)\]”’])|(?<=[a-z]{3}\.)(?=([A-Z][a-z']*+)))"
)
_NUMERAL = re.compile(r"(?:[A-Z]|[IVXLC]++)(?![\w'’.])")
_PLACE = re.compile(r"\d[\d:.,–-]*+[a-z]{0,2}+(?: ?[;)\]]|(?<=,))")
_FIRST_WORD = re.compile(r"[A-Za-z']++")


def split_sentences(paragraph: str, language: str) -> list[str]:
    """Split one line of text into sentences; only the spaces between them are lost."""
    if language == "en":
        return _english(paragraph)
    candidates = (sentence.strip() for piece in _pieces(paragraph) for sentence in sentencex.segment(language, piece))
    return [sentence for sentence in candidates if sentence]


def _english(paragraph: str) -> list[str]:
    sentences = []
    begin = 0
    for match in _END.finditer(paragraph.replace("!", ".").replace("?", ".").replace("…", ".")):
        if _is_end(paragraph, begin, match):
            end = match.end(2 if paragraph.startswith("[") else 3)
            sentences.append(paragraph[begin:end].strip())
            begin = end

    # What follows the last end is a sentence without a mark.
    last = paragraph[begin:].strip()
    return [*sentences, last] if last else sentences


def _is_end(text: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether the sentence that begins at `begin` ends at the matched marks."""
    _, closing, cited, opening, first, glued = match.groups()
    if glued:
        return glued in STARTERS
    closing += cited
    marks = text[match.start() : match.end(1)]
    small = first.islower()
    stop = match.start()

    # A mark other than a full stop ends a sentence, unless a name has it or it goes on in a small letter.
    if marks != ".":
        if marks == "!" and text[text.rfind(" ", begin, stop) + 1 : stop].lower().lstrip(_OPENING) in _EXCLAIMED:
            return False
        return not small or not (closing or marks[0] in ".…")

    # A full stop may belong to an abbreviation or a number: the words around it decide.
    word = text[text.rfind(" ", begin, stop) + 1 or begin : stop]
    ordinary = len(word) > 2 and word.isalpha() and word.lower() not in _KNOWN
    if first.isdigit() and len(word.lstrip(_OPENING)) <= LONGEST_ABBREVIATION and _is_reference(text, begin, match):
        return False
    if small:
        return bool(opening) or (ordinary and not closing and word.islower())
    return ordinary or _ends_after(word.lstrip(_OPENING), match, begin)


def _ends_after(word: str, match: re.Match[str], begin: int) -> bool:
    """Tell whether the sentence from `begin` ends at the full stop after `word`, before a capital or a digit."""
    _, closing, cited, _, first, _ = match.groups()

    # From the surest sign to the least sure: what never ends a sentence, what always does, and then abbreviations.
    known = word.lower()
    if not word or known in NEVER_LAST:
        return not word and first.isalnum()
    if closing or cited:
        return True
    if known in BEFORE_NUMBERS and (first.isdigit() or _is_numeral(word, match)):
        return False

    # A number or a letter that stands alone at the beginning counts an item of a list.
    start = match.start() - len(word)
    if (known.isdigit() or len(known) == 1) and not match.string[begin : min(start, begin + 4)].strip(" " + _OPENING):
        return False

    # An abbreviation ends a sentence only if the next word is one that begins sentences.
    if known in ABBREVIATIONS or (word[-2:-1] in ("", ".") and word[-1].isalpha()):
        follows = _FIRST_WORD.match(match.string, match.start("first"))
        return follows is not None and follows[0] in STARTERS
    return True


def _is_reference(text: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether a number that ends a reference in brackets follows the full stop: (Phil. 4:8; Rom. 12:2)."""
    if not _PLACE.match(text, match.start("first")):
        return False
    before = text[max(begin, match.start() - LONGEST_REFERENCE) : match.start()]
    opened, closed = (max(map(before.rfind, brackets)) for brackets in ("([", ")]"))
    return opened > closed


def _is_numeral(word: str, match: re.Match[str]) -> bool:
    """Tell whether a letter or a Roman numeral follows the full stop after `word`, as in Fig. A; "A" may be a word."""
    numeral = _NUMERAL.match(match.string, match.start("first"))
    return numeral is not None and (numeral[0] not in ("A", "I") or word[0].isupper())


def _pieces(paragraph: str) -> list[str]:
    """Cut `paragraph` into pieces of at most LONGEST_PIECE characters, at a space if there is one."""
    pieces = []
    start = 0
    while len(paragraph) - start > LONGEST_PIECE:
        end = paragraph.rfind(" ", start + 1, start + LONGEST_PIECE + 1)
        end = end if end > 0 else start + LONGEST_PIECE
        pieces.append(paragraph[start:end])
        start = end

    # At a blank if there is one, so that no word is cut.
    pieces.append(paragraph[start:])
    return pieces
