"""An extension of griffe, which reads the docstrings for the site.

A section `Example:` is code, as `Examples:` is. A section `Returns:` begins with the type of the signature, or griffe
would take its text up to a colon for one.
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.M)
RETURNS = re.compile(r"^(\s*Returns:\n\s*)", re.M)


class Examples(griffe.Extension):
    """Name the sections as griffe does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class or function that was read."""
        if obj.docstring is None:
            return
        text = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)
        if isinstance(obj, griffe.Function) and obj.returns is not None:
            text = RETURNS.sub(lambda found: f"{found[1]}{obj.returns}: ", text, count=1)
        obj.docstring.value = text
