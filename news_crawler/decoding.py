"""Decode transferred bytes to text: undo the Content-Encoding within a limit, then apply the character set.

A wrongly labelled body is refused with a reason, not guessed: half-decoded text would train a model.
"""

import codecs
import re
import zlib
from collections.abc import Callable

from w3lib.encoding import html_body_declared_encoding, html_to_unicode, http_content_type_encoding, read_bom

# A lost character here and there is a slip of the author's; more than one in 200 is another character set.
LOST_CHARACTERS = 1 / 200
_NO_TEXT = re.compile(r"^(?:image|audio|video|font)/|^application/(?!xhtml|xml|rss|atom|(?:x-)?gzip|octet)")
_GZIP_MAGIC = b"\x1f\x8b"
# Codecs of Python that are not character sets; a page that names one is read as one that names none.
_OF_PYTHON = {"base64", "bz2", "hex", "idna", "punycode", "quopri", "raw-unicode-escape", "rot-13", "undefined"}
_OF_PYTHON |= {"unicode-escape", "uu", "zlib"}


class Unreadable(Exception):  # noqa: N818 - an answer, not an error
    """The reason why a page cannot be read; reasons are few and counted."""


def check_type(content_type: str | None) -> None:
    """Raise Unreadable if the Content-Type header says that the body is not text."""
    name = (content_type or "").partition(";")[0].strip().lower()
    if _NO_TEXT.match(name):
        raise Unreadable(f"content type: {name[:50]}")


def decompressed(payload: bytes, encodings: str | None, limit: int) -> bytes:
    """Undo the Content-Encoding header's encodings (RFC 9110, 8.4); at most `limit` bytes come out.

    Raises Unreadable if the bytes do not fit the header, or grow beyond the limit.
    """
    names = [name.strip().lower() for name in (encodings or "").split(",")]
    for name in reversed([name for name in names if name not in ("", "identity")]):
        if name not in _DECODERS:
            raise Unreadable("content encoding: unknown")
        payload = _DECODERS[name](payload, limit)
    if len(payload) > limit:
        raise Unreadable("too large")
    return payload


def _gunzip(payload: bytes, limit: int) -> bytes:
    """Decompress every member of a gzip stream, as browsers do."""
    if not payload.startswith(_GZIP_MAGIC):
        raise Unreadable("content encoding: not gzip")
    found = b""

    # Several members one after the other are one file.
    while payload.startswith(_GZIP_MAGIC):
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found += _inflate(decoder.decompress, payload, limit - len(found))
        if not decoder.eof:
            raise Unreadable("content encoding: cut off" if not decoder.unconsumed_tail else "too large")
        payload = decoder.unused_data
    return found


def _undeflate(payload: bytes, limit: int) -> bytes:
    """Decompress the zlib format (RFC 9110, 8.4.1.2), or raw deflate, which servers send as often."""
    # Some servers send the raw stream under the name of the wrapped one.
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        decoder = zlib.decompressobj(bits)
        try:
            found = _inflate(decoder.decompress, payload, limit)
        except Unreadable as refused:
            if refused.args[0] == "too large":
                raise
            continue
        if decoder.eof:
            return found
    raise Unreadable("content encoding: not deflate")


def _inflate(decompress: Callable[[bytes, int], bytes], payload: bytes, limit: int) -> bytes:
    try:
        found = decompress(payload, max(limit, 0) + 1)  # one byte more than allowed tells a bomb from a page
    except zlib.error as error:
        raise Unreadable("content encoding: damaged") from error
    if len(found) > limit:
        raise Unreadable("too large")
    return found


_DECODERS = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _undeflate}


def gunzipped(body: bytes, limit: int) -> bytes:
    """Decompress a sitemap that is a gzip file without a header that says so; return other bytes unchanged."""
    return _gunzip(body, limit) if body.startswith(_GZIP_MAGIC) else body


def decoded(body: bytes, content_type: str | None) -> str:
    """Decode a page by its byte order mark, the header, the page itself, else as UTF-8 or windows-1252.

    Raises Unreadable if the page is empty, or too many bytes are invalid in the character set that it names.
    """
    if not body.strip():
        raise Unreadable("empty body")
    marked, labelled = read_bom(body)[0], character_set(http_content_type_encoding(content_type))
    declared = character_set(html_body_declared_encoding(body))
    named = marked or labelled or declared
    # A page that names no set, or one that nobody knows, is read as UTF-8 if its bytes are valid UTF-8.
    used = labelled or (None if marked else declared or _utf8_or_western(body))
    text = html_to_unicode(f"text/html; charset={used}" if used else None, body)[1]
    lost = text.count("\ufffd") + text.count("\x00")
    if lost > LOST_CHARACTERS * len(text):
        raise Unreadable(f"character set: not {named}" if named else "character set: unknown")
    return text


def character_set(name: str | None) -> str | None:
    """Return the name of a character set as Python has it; None if it is none, or nobody knows it."""
    try:
        known = codecs.lookup(name or "").name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return None
    return None if known in _OF_PYTHON else known


def _utf8_or_western(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
