"""An extension of griffe: a section `Example:` of a docstring is code, as `Examples:` is, and no paragraph."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.M)


class Examples(griffe.Extension):
    """Name the sections as griffe does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class or function that was read."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)
