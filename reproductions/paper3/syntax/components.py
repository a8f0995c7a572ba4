"""The component of a sentence: its subjects, predicates and objects (paper 3, section 3.3 and table 2).

The paper names relations of the Stanford Parser. In Universal Dependencies they are:

    paper                                  here
    nsubj, nsubjpass                       nsubj, nsubj:pass, nsubj:outer
    csubj, csubjpass                       csubj, csubj:pass, csubj:outer
    xsubj: controlling subject             the subject is there already; xcomp of a word with a subject or an object:
                                           the controlled word becomes a predicate, as the head of xsubj does
    dobj, iobj                             obj, iobj
    pobj: object of a preposition          obl or obl:agent with a `case`: a prepositional object of the predicate. A
                                           noun's own is nmod, which the paper's table 1 leaves out: "in a crowd" there
    the relation's head                    a predicate: the verb, or in "the bag is black" the adjective

The parse of the paper's table 3 has no pobj: there a prepositional object is nmod, as in version 1 of Universal
Dependencies. `without_obliques` makes such a tree, whose component has no prepositional objects.

Words that negate are kept as well, n't and n’t as "not". If there is neither a subject nor an object, nouns (NN*) take
their place and verbs (VB*) that of the predicates, in the order of the sentence. If there are none of these either, the
component is the whole sentence, so that it is never empty. Words are in the order of the relations: predicate by
predicate, its subjects, itself, its objects, and each word's negation before it.

    An Asian woman in a crowd is not carrying a black bag      woman not carrying bag
    A man attacks a woman                                      man attacks woman
    A guitar is being played by a man                          guitar played man
    There is no man eating                                     no man is
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from reproductions.paper3.syntax.trees import Tree

Route = Literal["relations", "tags", "whole"]
Role = Literal["subject", "predicate", "object"]

SUBJECTS = {"nsubj", "nsubj:pass", "nsubj:outer", "csubj", "csubj:pass", "csubj:outer"}
OBJECTS = {"obj", "iobj"}
OBLIQUE = {"obl", "obl:agent"}  # objects if they have a preposition
_TAGGED: dict[str, Role] = {"NN": "subject", "VB": "predicate"}
NEGATIONS = {"no", "not", "n't", "never", "neither", "nor", "none", "nobody", "nothing", "nowhere"}


@dataclass(frozen=True)
class Component:
    """The main words of a sentence, and how they were chosen.

    `rows` are their places in the sentence, from 0. `roles` has one role for each word; a negation has the role of
    the word that follows it. Nouns and verbs in place of subjects and predicates have their roles. If the component
    is the whole sentence, every word is a predicate.
    """

    words: list[str]
    rows: list[int]
    roles: list[Role]
    route: Route

    @property
    def text(self) -> str:
        """Join the words to a sentence."""
        return " ".join(self.words)


def component(tree: Tree) -> Component:
    """Return the component-enhanced part of a sentence, S_cf in the paper.

    Args:
        tree: the analysis of the sentence.

    Returns:
        The component; it has a word if the tree has one.

    >>> tree = Tree(["Dogs", "bark"], ["dog", "bark"], ["NOUN", "VERB"], ["NNS", "VBP"], [2, 0], ["nsubj", "root"])
    >>> component(tree).roles
    ['subject', 'predicate']
    """
    roles = _by_relations(tree)
    route: Route = "relations"
    if not roles:
        roles, route = {row: role for row, tag in enumerate(tree.xpos) if (role := _TAGGED.get(tag[:2]))}, "tags"
    if not roles:
        roles, route = dict.fromkeys(range(len(tree.tokens)), "predicate"), "whole"
    roles = _with_negations(tree, roles)
    return Component([_word(tree, row) for row in roles], list(roles), list(roles.values()), route)


def without_obliques(tree: Tree) -> Tree:
    """Return the tree with the relations of version 1, in which an oblique is a modifier (nmod).

    >>> tree = Tree(["He", "sits", "there"], ["he", "sit", "there"], [], [], [2, 0, 2], ["nsubj", "root", "obl"])
    >>> without_obliques(tree).relations
    ['nsubj', 'root', 'nmod']
    """
    return replace(tree, relations=["nmod" if each in OBLIQUE else each for each in tree.relations])


def _by_relations(tree: Tree) -> dict[int, Role]:
    """Return subjects, predicate and objects of each predicate, predicates in the order of the sentence.

    A word that has several roles keeps its first.
    """
    subjects: dict[int, list[int]] = {}
    objects: dict[int, list[int]] = {}
    for row in range(len(tree.tokens)):
        kind = subjects if tree.relations[row] in SUBJECTS else objects if _is_object(tree, row) else None
        if kind is not None and tree.heads[row]:
            kind.setdefault(tree.heads[row] - 1, []).append(row)
    governors = subjects.keys() | objects.keys()
    controlled = {row for row in range(len(tree.tokens)) if _is_controlled(tree, row, governors)}
    roles: dict[int, Role] = {}
    for predicate in sorted(governors | controlled):
        for row in subjects.get(predicate, []):
            roles.setdefault(row, "subject")
        roles.setdefault(predicate, "predicate")
        for row in objects.get(predicate, []):
            roles.setdefault(row, "object")
    return roles


def _is_object(tree: Tree, row: int) -> bool:
    if tree.relations[row] in OBLIQUE:
        return any(relation == "case" for _, relation in _dependents(tree, row))
    return tree.relations[row] in OBJECTS


def _is_controlled(tree: Tree, row: int, governors: Iterable[int]) -> bool:
    return tree.relations[row] == "xcomp" and tree.heads[row] - 1 in governors


def _dependents(tree: Tree, row: int) -> Iterator[tuple[int, str]]:
    for other, head in enumerate(tree.heads):
        if head == row + 1:
            yield other, tree.relations[other]


def _with_negations(tree: Tree, roles: dict[int, Role]) -> dict[int, Role]:
    """Add each negation of the sentence before the word that it depends on, or else before the next kept word."""
    negations = [row for row, token in enumerate(tree.tokens) if _plain(token) in NEGATIONS and row not in roles]
    placed: dict[int, list[int]] = {}
    last: list[int] = []
    for row in negations:
        head = tree.heads[row] - 1
        target = head if head in roles else min((other for other in roles if other > row), default=None)
        (last if target is None else placed.setdefault(target, [])).append(row)
    placed_roles = {row: role for word, role in roles.items() for row in (*placed.get(word, []), word)}
    return placed_roles | dict.fromkeys(last, "predicate")


def _word(tree: Tree, row: int) -> str:
    return "not" if _plain(tree.tokens[row]) == "n't" else tree.tokens[row]


def _plain(token: str) -> str:
    """Return the token in lower case and with a straight apostrophe."""
    return token.lower().replace("’", "'")
