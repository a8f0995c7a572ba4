"""Dependency trees as Parquet rows: the tokens of a sentence, and for each its lemma, tags, head and relation.

A head is the number of another token, from 1, and 0 at a root, as in CoNLL-U. For "A man attacks a woman":

    tokens     A    man    attacks  a    woman
    xpos       DT   NN     VBZ      DT   NN
    heads      2    3      0        5    3
    relations  det  nsubj  root     det  obj
"""

from dataclasses import astuple, dataclass
from pathlib import Path

import pyarrow as pa

from sentence_distillery.io.artifacts import InputError, read_table, table_parts

WORDS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("tokens", WORDS),
        pa.field("lemmas", WORDS),
        pa.field("upos", WORDS),
        pa.field("xpos", WORDS),
        pa.field("heads", pa.list_(pa.int32())),
        pa.field("relations", WORDS),
    ]
)
DROPPED = pa.schema([pa.field("text", pa.string(), nullable=False), pa.field("reason", pa.string())])


@dataclass(frozen=True)
class Tree:
    """The analysis of one sentence: lists with one entry for each token.

    `upos` are universal parts of speech, `xpos` those of the Penn Treebank; `relations` are of Universal Dependencies.
    """

    tokens: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    heads: list[int]
    relations: list[str]


def to_table(texts: list[str], trees: list[Tree]) -> pa.Table:
    """Return one row for each sentence, in the columns of SCHEMA."""
    columns = list(zip(*(astuple(tree) for tree in trees), strict=True)) or [()] * 6
    arrays = [pa.array(column, field.type) for column, field in zip([texts, *columns], SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def from_table(table: pa.Table) -> dict[str, Tree]:
    """Return the trees of a table by their sentence."""
    columns = [table[name].to_pylist() for name in SCHEMA.names[1:]]
    return dict(zip(table["text"].to_pylist(), map(Tree, *columns), strict=True))


def read_trees(directory: Path) -> dict[str, Tree]:
    """Read the trees that `write_trees` wrote to a directory.

    Args:
        directory: holds part-00000.parquet and so on, with the columns of SCHEMA.

    Returns:
        Every tree by its sentence.

    Raises:
        InputError: a file is missing or damaged, or a head points outside its sentence.

    >>> read_trees(Path("data/trees"))["A man attacks a woman"].heads         # doctest: +SKIP
    [2, 3, 0, 5, 3]
    """
    trees: dict[str, Tree] = {}
    for part in table_parts(directory):
        trees |= from_table(read_table(part, SCHEMA))
    for text, tree in trees.items():
        if any(not 0 <= head <= len(tree.tokens) for head in tree.heads):
            raise InputError(
                f"{directory}: a head of {text[:80]!r} is outside the sentence; delete the directory and parse again."
            )
    return trees
