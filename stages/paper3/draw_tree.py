"""Draw the dependency trees of sentences as an HTML page, with their components in bold, as in the report.

python -m stages.paper3.draw_tree "A man attacks a woman" > tree.html

It reads section `syntax` of params.yaml and the parser's models, and prints the page.
"""

import argparse
import os
import sys
from pathlib import Path

from reproductions.pages import tree_page
from reproductions.paper3.syntax.drawing import draw
from reproductions.paper3.syntax.parser import load_parser
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime import cache
from stages import paths
from stages.paper3.parse import models_of
from stages.params import load_params


def page(sentences: list[str], models: Path, maximum_words: int) -> str:
    """Return a page with a drawing for each sentence; raises InputError for a sentence that has no tree."""
    parsed = load_parser(models, maximum_words).parse(sentences)
    trees = [tree for tree in parsed if isinstance(tree, Tree)]
    for sentence, tree in zip(sentences, parsed, strict=True):
        if not isinstance(tree, Tree):
            raise InputError(f"{sentence[:60]!r} has no tree ({tree}); give a sentence of 1 to {maximum_words} words.")
    return tree_page(list(map(draw, trees)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the dependency trees of sentences as an HTML page.")
    parser.add_argument("sentence", nargs="+", help="a sentence to draw")
    options = parser.parse_args()
    os.environ.setdefault(cache.VARIABLE, str(paths.DATA_CHECKPOINTS.absolute()))  # as in the stage `parse`
    try:
        syntax = load_params().syntax
        print(page(options.sentence, models_of(syntax.model), syntax.maximum_words))
    except InputError as error:
        sys.exit(f"draw_tree: {error}")


if __name__ == "__main__":
    main()
