"""Read parallel text: an English text and its translation, from catalogues, package descriptions and dictionaries.

A translation need not be a sentence: a word and its translation say most about the word.
"""

import html
import json
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from measurements.release.multilingual.languages import BY_LOCALE

LONGEST: Final = 400  # characters of a text
FEWEST_BLANKS: Final = 3  # of a sentence, in languages with blanks between words
WORDS_OF_A_SENSE: Final = 3  # translations of a headword that are kept, the first ones
_MARKS: Final = re.compile(
    r"<[^<>]*>"  # markup
    r"|[(（]\s*[&_~][A-Za-z0-9]\s*[)）]"  # the key of a menu entry, in languages without Latin letters
    r"|%(?:\d+\$)?[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[diouxXeEfFgGcs](?![a-z])"  # blanks to fill
    r"|%\(\w+\)[sd]|%\d+|%[A-Za-z]\b"
    r"|\$\{?\w+\}?|\{[^{}]*\}|\[\[|\]\]|'''?|https?://\S+"
)
_KEY: Final = re.compile(r"[&~](?=\w)|(?<![^\W_])_(?=[^\W_])|(?<=[^\W_])_(?=[^\W_])")
_BLANKS: Final = re.compile(r"\s+")
_PRONUNCIATION: Final = re.compile(r"\s*//?[^/]*//?|\s*<[^>]*>|\s*\[[^\]]*\]|\s*\{[^}]*\}")
_NUMBER: Final = re.compile(r"^\d+\.\s*")
_SKIN: Final = re.compile("[\U0001f3fb-\U0001f3ff]")  # tones: five more names that say the same
_MAGIC: Final = 0x950412DE


class Pair(NamedTuple):
    """A text, its English translation, the language's ISO 639-1 code, and the source's name."""

    text: str
    english: str
    language: str
    source: str


def plain(text: str) -> str:
    """Remove what a translated message has besides its words: markup, keys of menus, blanks to fill.

    >>> plain("<b>&Save</b> %d files to {folder}"), plain("保存(&S)")
    ('Save files to', '保存')
    """
    return _BLANKS.sub(" ", _KEY.sub("", _MARKS.sub(" ", html.unescape(text)))).strip(" \t:.…")


def pairs_of(translated: Iterable[tuple[str, str]], language: str, source: str) -> Iterator[Pair]:
    """Clean English messages and their translations, and leave out what says nothing.

    >>> [pair.text for pair in pairs_of([("Open", "Öffnen"), ("OK", "OK"), ("%s", "%s")], "de", "x")]
    ['Öffnen']
    """
    for english, text in translated:
        english, text = plain(english), plain(text)
        if _tells(english, text):
            yield Pair(text, english, language, source)


def _tells(english: str, text: str) -> bool:
    if english == text or not (2 <= len(english) <= LONGEST and 1 <= len(text) <= LONGEST):
        return False
    if len(text) > 4 * len(english) + 12 or len(english) > 6 * len(text) + 24:
        return False
    return any(map(str.isalpha, english)) and any(map(str.isalpha, text))


def catalogue(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield each message of a compiled gettext catalogue and its translation; raises ValueError if it is not one.

    Without context; of a plural the singular.
    """
    order = {struct.pack(f"{order}I", _MAGIC): order for order in "<>"}.get(content[:4])
    if order is None or len(content) < 20:
        raise ValueError("not a compiled gettext catalogue")

    def text(table: int, place: int) -> str:
        length, start = struct.unpack_from(f"{order}2I", content, table + 8 * place)
        return content[start : start + length].decode("utf-8", "replace")

    count, source, target = struct.unpack_from(f"{order}3I", content, 8)
    for place in range(count):
        if message := text(source, place).rpartition("\4")[2]:  # the empty one is the header
            yield message.partition("\0")[0], text(target, place).partition("\0")[0]


def catalogues(root: Path) -> Iterator[Pair]:
    """Read all .mo files below a directory whose path or name says a known locale."""
    for file in sorted(root.rglob("*.mo")):
        # It is named locale/de/LC_MESSAGES/x.mo, or x-de_DE.mo.
        named = file.parts[-3] if file.parent.name == "LC_MESSAGES" else file.stem.rpartition("-")[2]
        if language := BY_LOCALE.get(named):
            with suppress(ValueError, struct.error):  # some games give other files this suffix
                yield from pairs_of(catalogue(file.read_bytes()), language, "catalogues")


def messages(root: Path) -> Iterator[Pair]:
    """Read all folders with an en.json and its translations, de.json, fr.json: text by key, nested or not."""
    for english in sorted(root.rglob("en.json")):
        keys = dict(_flat(json.loads(english.read_text())))
        for file in sorted(english.parent.glob("*.json")):
            if language := BY_LOCALE.get(file.stem):
                translated = ((keys[key], text) for key, text in _flat(json.loads(file.read_text())) if key in keys)
                yield from pairs_of(translated, language, "messages")


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield key, tree
    elif isinstance(tree, dict) and not key.startswith("/@metadata"):
        for name, branch in tree.items():
            yield from _flat(branch, f"{key}/{name}")


def descriptions(english: Iterable[str], translated: Iterable[str], language: str) -> Iterator[Pair]:
    """Read the descriptions of packages in the lines of an archive's file Translation-en and of another language.

    Yields the first lines, and the paragraphs if there are equally many.

    >>> lines = ["Package: a", "Description-md5: 7", "Description-en: a game", " It is fun.", ""]
    >>> german = ["Package: a", "Description-md5: 7", "Description-de: ein Spiel", " Es macht Spass.", ""]
    >>> [(pair.text, pair.english) for pair in descriptions(lines, german, "de")]
    [('ein Spiel', 'a game'), ('Es macht Spass', 'It is fun')]
    """
    originals = dict(_described(english))
    for digest, parts in _described(translated):
        original = originals.get(digest, [])
        most = None if len(original) == len(parts) else 1
        yield from pairs_of(zip(original[:most], parts[:most], strict=False), language, "descriptions")


def _described(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the checksum of each description, and its paragraphs."""
    digest, parts = "", list[str]()
    for line in lines:
        if line.startswith("Description-md5:"):
            digest, parts = line.split()[1], []
        elif line.startswith("Description-"):
            parts.append(line.partition(":")[2].strip())
        elif line.rstrip() == " .":
            parts.append("")
        elif line.startswith(" ") and len(parts) == 1:  # after the first line, which stands alone
            parts.append(line.strip())
        elif line.startswith(" ") and parts:
            parts[-1] += f" {line.strip()}"
        elif not line.strip() and digest:
            yield digest, parts
            digest = ""


def dictionary(entries: Iterable[str], language: str, into_english: bool) -> Iterator[Pair]:
    """Read the lines of a FreeDict dictionary: a headword with its pronunciation, then a line for each sense.

    Yields the headword, which is in `language` if it leads into English, with the first translations of each sense.

    >>> lines = ["Haus /haus/ <n>", "1. house, home", " see: {Heim}"]
    >>> [(pair.text, pair.english) for pair in dictionary(lines, "de", into_english=True)]
    [('Haus', 'house'), ('Haus', 'home')]
    """
    headword = ""
    for line in entries:
        if not line.strip() or line.startswith(" ") or line[0] == '"':
            continue
        if "/" in line and _PRONUNCIATION.sub("", line).strip():
            headword = _PRONUNCIATION.sub("", line).strip()
            continue
        senses = re.split("[,;]", _PRONUNCIATION.sub("", _NUMBER.sub("", line)))[:WORDS_OF_A_SENSE]
        translated = ((sense.strip(), headword) if into_english else (headword, sense.strip()) for sense in senses)
        yield from pairs_of(translated, language, "dictionaries")


def german_examples(lines: Iterable[str]) -> Iterator[Pair]:
    """Read the dictionary Ding: German and English separated by ::, entries by |, equal words by ;.

    >>> line = "Haus {n}; Heim | Er ist im Haus. :: house; home | He is in."
    >>> [(pair.text, pair.english) for pair in german_examples([line])]
    [('Haus', 'house'), ('Er ist im Haus', 'He is in')]
    """
    for line in lines:
        german, _, english = line.partition(" :: ")
        entries = zip(english.split(" | "), german.split(" | "), strict=False)
        first = ((_first(english), _first(german)) for english, german in entries)
        yield from pairs_of(first, "de", "dictionaries")


def _first(entry: str) -> str:
    return re.sub(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)", "", entry.partition(";")[0]).strip()


def japanese_words(lines: Iterable[str]) -> Iterator[Pair]:
    """Read the dictionary EDICT: characters, [kana], /(n) gloss/gloss/.

    >>> [(pair.text, pair.english) for pair in japanese_words(["雨 [あめ] /(n) rain/rainy day/"])]
    [('雨', 'rain'), ('あめ', 'rain'), ('雨', 'rainy day'), ('あめ', 'rainy day')]
    """
    for line in lines:
        head, _, glosses = line.partition("/")
        forms = head.replace("[", " ").replace("]", " ").split()
        for gloss in glosses.split("/")[:2]:
            meaning = re.sub(r"\([^)]*\)", "", gloss).strip()
            yield from pairs_of(((meaning, form) for form in forms), "ja", "dictionaries")


def emoji_names(english: Path, translated: Path, language: str) -> Iterator[Pair]:
    """Read the names of emoji, and their keywords as one text, from two files of CLDR's annotations."""
    names = _annotations(english)
    for character, (name, keywords) in _annotations(translated).items():
        if character in names and not _SKIN.search(character):
            both = ((names[character][0], name), (names[character][1], keywords))
            yield from pairs_of(both, language, "emoji")


def _annotations(file: Path) -> dict[str, tuple[str, str]]:
    tree = json.loads(file.read_text())
    for _ in range(2):
        tree = tree.get("annotations") or tree["annotationsDerived"]
    return {
        character: (" ".join(entry.get("tts", [])), " ".join(entry.get("default", [])))
        for character, entry in tree.items()
    }


def english_examples(entries: Iterable[str]) -> Iterator[str]:
    """Read the English sentences that a FreeDict dictionary gives for its headwords.

    >>> list(english_examples(["lord /lɔːd/ <V>", '      "They lord over us."', "1. x"]))
    ['They lord over us.']
    """
    for line in entries:
        text = line.strip()
        if line.startswith(" ") and text.startswith('"') and text.endswith('"') and text.count(" ") >= FEWEST_BLANKS:
            yield text.strip('"')
