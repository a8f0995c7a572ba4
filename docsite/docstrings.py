"""An extension of griffe, which reads the docstrings for the site.

A section `Example:` is code, as `Examples:` is. A section `Returns:` begins with the type of the signature, or griffe
would take its text up to a colon for one. A section `Reference:`, which griffe does not know, has its addresses as
links.
"""

import re
from textwrap import dedent
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.M)
RETURNS = re.compile(r"^(\s*Returns:\n\s*)", re.M)
REFERENCE = re.compile(r"^Reference:\n((?: {4}.*\n?)+)", re.M)
ADDRESS = re.compile(r"https://[^\s;,]+")


class Examples(griffe.Extension):
    """Name the sections as griffe does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class or function that was read."""
        if obj.docstring is None:
            return
        text = linked(EXAMPLE.sub(r"\1Examples:", obj.docstring.value))
        if isinstance(obj, griffe.Function) and obj.returns is not None:
            text = RETURNS.sub(lambda found: f"{found[1]}{obj.returns}: ", text, count=1)
        obj.docstring.value = text


def linked(text: str) -> str:
    """Write a section `Reference:` as a title and a paragraph.

    >>> linked("Sum.\\n\\nReference:\\n    Lovelace 1843, Note G, https://example.org/g; others")
    'Sum.\\n\\n**Reference:**\\n\\nLovelace 1843, Note G, <https://example.org/g>; others'
    """
    return REFERENCE.sub(lambda found: "**Reference:**\n\n" + ADDRESS.sub(r"<\g<0>>", dedent(found[1])), text)
