"""Text that can be written as UTF-8, and characters that replace others."""

# As encoder.tokenizer.NORMALIZER, which says why; and an accent that is typed as an apostrophe, of which NFKC makes a
# blank and a combining accent.
_BEFORE = str.maketrans({"™": " ", "℠": " ", "½": " 1/2 ", "¼": " 1/4 ", "¾": " 3/4 ", "´": "'"})
_AFTER = str.maketrans({"⁄": "/", "‐": "-"})


def compatible(text: str) -> str:
    """Replace ligatures, full-width forms and other compatibility characters, as the encoder's tokenizer does.

    Example:
        >>> compatible("The ﬁrm’s ５½ ％")
        'The firm’s 5 1/2  %'
    """
    import unicodedata  # encoders do without it

    return unicodedata.normalize("NFKC", text.translate(_BEFORE)).translate(_AFTER)


def whole_surrogates(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, so that the text can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
