"""The paper's own sentences, and some that its rules do not cover; trees by hand."""

from collections.abc import Callable

import pytest

from reproductions.paper3.syntax.components import component, without_obliques
from reproductions.paper3.syntax.trees import Tree

MakeTree = Callable[[str], Tree]


def test_without_prepositional_objects(tree: MakeTree) -> None:
    """As the parse of table 3 has them, nmod; a direct object stays."""
    found = tree("A/DT/2/det man/NN/3/nsubj plays/VBZ/0/root guitar/NN/3/obj in/IN/7/case the/DT/7/det park/NN/3/obl")
    assert component(found).text == "man plays guitar park"
    assert component(without_obliques(found)).text == "man plays guitar"


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        pytest.param(
            "An/DT/3/det Asian/JJ/3/amod woman/NN/9/nsubj in/IN/6/case a/DT/6/det crowd/NN/3/nmod is/VBZ/9/aux "
            "not/RB/9/advmod carrying/VBG/0/root a/DT/12/det black/JJ/12/amod bag/NN/9/obj",
            "woman not carrying bag",
            id="table 1 of the paper",
        ),
        pytest.param(
            "Eating/VBG/3/csubj apples/NNS/1/obj makes/VBZ/0/root fun/NN/3/obj",
            "Eating apples makes fun",
            id="a word in two roles comes once",
        ),
        pytest.param(
            "A/DT/2/det guitar/NN/5/nsubj:pass is/VBZ/5/aux being/VBG/5/aux:pass played/VBN/0/root by/IN/8/case "
            "a/DT/8/det man/NN/5/obl",
            "guitar played man",
            id="passive",
        ),
        pytest.param(
            "The/DT/2/det guitar/NN/4/nsubj:pass is/VBZ/4/aux:pass played/VBN/0/root by/IN/7/case the/DT/7/det "
            "man/NN/4/obl:agent",
            "guitar played man",
            id="passive, the agent marked as in EWT",
        ),
        pytest.param(
            "What/WP/5/obj does/VBZ/5/aux the/DT/4/det man/NN/5/nsubj eat/VB/0/root ?/./5/punct",
            "man eat What",
            id="question: in the order of the relations, not of the sentence",
        ),
        pytest.param("Close/VB/0/root the/DT/3/det door/NN/1/obj", "Close door", id="imperative"),
        pytest.param(
            "He/PRP/2/nsubj wants/VBZ/0/root to/TO/4/mark sing/VB/2/xcomp", "He wants sing", id="controlling subject"
        ),
        pytest.param(
            "There/EX/2/expl is/VBZ/0/root no/DT/4/det man/NN/2/nsubj eating/VBG/4/acl", "no man is", id="no man"
        ),
        pytest.param(
            "He/PRP/4/nsubj did/VBD/4/aux n't/RB/4/advmod run/VB/0/root", "He not run", id="n't becomes a word"
        ),
        pytest.param(
            "He/PRP/2/nsubj ran/VBD/0/root ././2/punct She/PRP/5/nsubj saw/VBD/0/root him/PRP/5/obj",
            "He ran She saw him",
            id="two roots",
        ),
        pytest.param(
            "The/DT/2/det bag/NN/4/nsubj is/VBZ/4/cop black/JJ/0/root", "bag black", id="the predicate is an adjective"
        ),
        pytest.param(
            "He/PRP/2/nsubj left/VBD/0/root today/NN/2/obl", "He left", id="obl without a preposition is no object"
        ),
    ],
)
@pytest.mark.fault(26)
def test_subjects_predicates_and_objects(tree: MakeTree, sentence: str, text: str) -> None:
    """As the paper shows them; and passives, questions, imperatives, several roots, which it does not show."""
    found = component(tree(sentence))
    assert found.text == text
    assert found.route == "relations"


@pytest.mark.parametrize(
    ("sentence", "text", "route"),
    [
        pytest.param(
            "A/DT/2/det man/NN/0/root attacks/NNS/2/dep a/DT/5/det woman/NN/2/dep",
            "man attacks woman",
            "tags",
            id="table 3 of the paper, where the Stanford parser found no verb",
        ),
        pytest.param(
            "No/DT/2/det dogs/NNS/0/root barking/VBG/2/acl loudly/RB/3/advmod", "No dogs barking", "tags", id="negation"
        ),
        pytest.param("Really/RB/2/advmod beautiful/JJ/0/root", "Really beautiful", "whole", id="nothing to take"),
        pytest.param("Not/RB/2/advmod beautiful/JJ/0/root", "Not beautiful", "whole", id="a negation alone"),
    ],
)
@pytest.mark.fault(26)
def test_neither_subject_nor_object(tree: MakeTree, sentence: str, text: str, route: str) -> None:
    """Nouns and verbs by their tags, negations kept, in the order of the sentence; else the full sentence."""
    found = component(tree(sentence))
    assert (found.text, found.route) == (text, route)


def test_an_empty_tree() -> None:
    assert component(Tree([], [], [], [], [], [])).words == []
