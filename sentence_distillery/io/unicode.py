"""Text that can be written as UTF-8."""


def whole_surrogates(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, so that the text can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
