"""Options of dependency parsing."""

from pydantic import Field

from sentence_distillery.io.options import Count, Section


class Syntax(Section):
    """The sentences to parse, and the model to parse them with."""

    model: str = Field(
        default="bundled",
        title="bundled: models/syntax; hub: Stanza's own models, downloaded once; or a directory of models",
    )
    maximum_words: Count = Field(
        default=200, title="maximum length of a sentence; longer ones get no tree, as memory grows with the square"
    )
    sets: list[str] = Field(
        default=["samples", "stsb", "sick"], title="benchmark sets of pairs to parse; absent ones are reported"
    )


class Sections(Section):
    """What this room reads of params.yaml."""

    syntax: Syntax
