"""Draw the dependency trees of any sentences as a page, with their components in bold, as the report does.

python -m stages.syntax.draw_tree "A man attacks a woman" > tree.html
"""

import argparse
import sys

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.reporting.page import tree_page
from sentence_distillery.syntax.drawing import draw
from sentence_distillery.syntax.parser import load_parser
from sentence_distillery.syntax.trees import Tree
from stages.params import load_params


def page(sentences: list[str], model: str, maximum_words: int) -> str:
    """Draw each sentence; raises InputError for one that has no tree."""
    found = load_parser(model, maximum_words).parse(sentences)
    trees = [tree for tree in found if isinstance(tree, Tree)]
    for sentence, tree in zip(sentences, found, strict=True):
        if not isinstance(tree, Tree):
            raise InputError(f"{sentence[:60]!r} has no tree ({tree}); give a sentence of 1 to {maximum_words} words.")
    return tree_page(list(map(draw, trees)))


def main() -> None:
    parser = argparse.ArgumentParser(description="The dependency trees of sentences as an HTML page.")
    parser.add_argument("sentence", nargs="+")
    options = parser.parse_args()
    try:
        syntax = load_params().syntax
        print(page(options.sentence, syntax.model, syntax.maximum_words))
    except InputError as error:
        sys.exit(f"tree: {error}")


if __name__ == "__main__":
    main()
