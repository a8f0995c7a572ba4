"""Readers of translations, on small files of each format."""

import json
import struct
from pathlib import Path

import pytest

from measurements.release.multilingual import licences, parallel, sources
from sentence_distillery.io.artifacts import InputError


def _catalogue(messages: dict[str, str], order: str) -> bytes:
    """Write a compiled catalogue as msgfmt does."""
    header = 28
    tables, strings = [b"", b""], b""
    start = header + 16 * len(messages)
    for place, side in enumerate((list(messages), list(messages.values()))):
        for text in side:
            encoded = text.encode()
            tables[place] += struct.pack(f"{order}2I", len(encoded), start + len(strings))
            strings += encoded + b"\0"
    sizes = (0x950412DE, 0, len(messages), header, header + 8 * len(messages), 0, 0)
    return struct.pack(f"{order}7I", *sizes) + tables[0] + tables[1] + strings


@pytest.mark.parametrize("order", ["<", ">"])
def test_catalogues(tmp_path: Path, order: str) -> None:
    content = _catalogue({"": "Language: de", "menu\4_Open": "Ö_ffnen", "a file\0files": "eine Datei\0Dateien"}, order)
    for name in ("locale/de/LC_MESSAGES/game.mo", "languages/admin-fr_FR.mo", "locale/xx/LC_MESSAGES/game.mo"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "locale/de/LC_MESSAGES/other.mo").write_bytes(b"a sound")
    found = [(pair.language, pair.text, pair.english) for pair in parallel.catalogues(tmp_path)]
    assert found == [
        (code, text, english)
        for code in ("fr", "de")
        for text, english in (("Öffnen", "Open"), ("eine Datei", "a file"))
    ]


def test_messages(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text(json.dumps({"state": {"on": "Turned on"}, "x": "Only here"}))
    (tmp_path / "ja.json").write_text(json.dumps({"state": {"on": "オン"}, "@metadata": {"authors": ["A"]}}))
    assert list(parallel.messages(tmp_path)) == [parallel.Pair("オン", "Turned on", "ja", "messages")]


def test_emoji(tmp_path: Path) -> None:
    for name, cat, tone in (("en", "cat", "hand: dark skin tone"), ("de", "Katze", "Hand: dunkle Hautfarbe")):
        names = {"🐈": {"default": [cat, "x"], "tts": [cat]}, "✋🏿": {"default": [tone], "tts": [tone]}}
        (tmp_path / name).write_text(json.dumps({"annotations": {"annotations": names}}))
    texts = [pair.text for pair in parallel.emoji_names(tmp_path / "en", tmp_path / "de", "de")]
    assert texts == ["Katze", "Katze x"]


def test_a_download_that_stops_is_repeated(tmp_path: Path) -> None:
    calls = []

    def fill(name: str, folder: Path) -> None:
        calls.append(name)
        (folder / "part").touch()
        if len(calls) == 1:
            raise InputError("the line broke")

    with pytest.raises(InputError, match="the line broke"):
        sources._once(tmp_path / "words", fill)
    assert not (tmp_path / "words").exists()
    for _ in range(2):
        sources._once(tmp_path / "words", fill)
    assert calls == ["words", "words"]


def test_a_missing_client_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no-such-client is not installed; the texts are downloaded on Debian"):
        sources._run(["no-such-client"], tmp_path)
    with pytest.raises(InputError, match="`false` failed"):
        sources._run(["false"], tmp_path)


COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: GPL-2+ and
 other words

Files: po/* eng-fra/*
Copyright: 2000 Somebody
License: CC-BY-SA-3.0
 Text
"""


@pytest.mark.parametrize(
    ("name", "archive", "file", "content", "licence"),
    [
        ("git", "git_2_all.deb", "usr/share/doc/git/copyright", COPYRIGHT, "CC-BY-SA-3.0"),
        ("dict-freedict-eng-fra", "d.deb", "usr/share/doc/dict-freedict-eng-fra/copyright", COPYRIGHT, "CC-BY-SA-3.0"),
        ("dict-freedict-eng-deu", "d.deb", "usr/share/doc/dict-freedict-eng-deu/copyright", COPYRIGHT, "GPL-2+ and"),
        ("edict", "edict_2_all.deb", "usr/share/doc/edict/copyright", "Prose.", "EDRDG licence, CC BY-SA 3.0"),
        ("words", "words-1-py3-none-any.whl", "words-1.dist-info/METADATA", "License-Expression: MIT\n\nText", "MIT"),
        (
            "words",
            "w.whl",
            "w.dist-info/METADATA",
            "Classifier: License :: OSI Approved :: MIT License\n",
            "MIT License",
        ),
        ("names", "names-1.tgz", "package/package.json", '{"license": "Unicode-3.0"}', "Unicode-3.0"),
    ],
)
def test_each_package_states_its_licence(
    tmp_path: Path, name: str, archive: str, file: str, content: str, licence: str
) -> None:
    folder = tmp_path / name
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_text(content)
    (folder / licences.ARCHIVE).write_text(f"{archive} {'0' * 64}\n")
    assert licences.origin(folder) == (archive, "0" * 64, licence)


def test_a_package_without_a_licence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/package.json").write_text("{}")
    (tmp_path / licences.ARCHIVE).write_text(f"names-1.tgz {'0' * 64}\n")
    with pytest.raises(InputError, match="states no licence"):
        licences.origin(tmp_path)
