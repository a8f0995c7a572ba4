"""The contrastive objective: its loss by hand, its related sentences, and their attraction and repulsion."""

import numpy as np
import pytest
import torch
from torch import Tensor

from reproductions.paper1.word_vectors import contrastive, kld
from reproductions.paper1.word_vectors.options import Contrastive
from sentence_distillery.io.ragged import TokenIds
from tests.workspace import demo_params

# Articles 0 and 1 of three sentences, article 2 of one; the second sentence is too short.
SENTENCES = [[0, 1, 2], [3], [0, 2, 1], [4, 5, 6], [5, 4], [6, 4, 4], [1, 5]]
DOCUMENTS = [0, 0, 0, 1, 1, 1, 2]


def corpus() -> contrastive.Corpus:
    return contrastive.Corpus(TokenIds.from_lists(SENTENCES), np.array(DOCUMENTS))


def word_vectors() -> Tensor:
    """Seven words in four dimensions."""
    return torch.from_numpy(np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32))


def settings(**changes: object) -> Contrastive:
    return Contrastive(**demo_params()["contrastive"] | {"epochs": 20, "batch_size": 4} | changes)


def batches(pairs: np.ndarray, **changes: object) -> contrastive.Batches:
    return contrastive.Batches(corpus(), pairs, settings(**changes), np.random.default_rng(3))


def test_loss_and_gradient_are_those_of_a_loop_over_pairs() -> None:
    """The equations as written, pair by pair; the second and the third pair are of one article."""
    sides = [[[0, 1], [4, 5, 5], [3, 0]], [[2], [6, 4], [1, 5]]]
    unrelated = torch.tensor([[False, True, True], [True, False, False], [True, False, False]])
    vectors = word_vectors().double().requires_grad_()
    left, right = (contrastive.unit_means(vectors, TokenIds.from_lists(side)) for side in sides)
    loss = contrastive.contrast(contrastive.divergences(left, right, 0.5), unrelated, 0.3, 0.2)
    means = [[vectors[words].mean(dim=0) for words in side] for side in sides]
    p, q = ([(mean / mean.norm() / 0.5).softmax(dim=0) for mean in side] for side in means)
    kl = [[(one * (one / other).log()).sum() for other in q] for one in p]
    terms = []
    for pair in range(3):
        others = [other for other in range(3) if unrelated[pair, other]]
        for far in ([kl[pair][other] for other in others], [kl[other][pair] for other in others]):
            terms.append((1 + sum(((0.3 + kl[pair][pair] - each) / 0.2).exp() for each in far)).log())
    expected = torch.stack(terms).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    found, wanted = (torch.autograd.grad(value, vectors, retain_graph=True)[0].numpy() for value in (loss, expected))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0, [[0, 0], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]]),
        (1, [[0, 0], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [3, 4], [4, 5]]),
        (2, [[0, 0], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [3, 4], [4, 5], [0, 2], [3, 5]]),
        (9, [[0, 0], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [3, 4], [4, 5], [0, 2], [3, 5]]),
    ],
)
def test_related_pairs(distance: int, expected: list[list[int]]) -> None:
    """Sentence 1 has one word and is in no pair; nothing reaches over the end of an article."""
    assert contrastive.related_pairs(corpus(), distance).tolist() == expected


def test_dropped_words() -> None:
    sentences = TokenIds.from_lists([list(range(100)), [], [7, 7]])
    left = contrastive.drop_words(sentences, 0.3, np.random.default_rng(1))
    first = left.ids[: left.lengths[0]].tolist()
    assert 55 <= len(first) <= 85
    assert first == sorted(set(first))
    assert left.lengths[1] == 0
    assert set(left.ids[left.lengths[0] :].tolist()) <= {7}
    assert contrastive.drop_words(sentences, 0.0, np.random.default_rng(1)).ids.tolist() == sentences.ids.tolist()


def test_sentences_of_one_article_are_not_pushed_apart() -> None:
    ((left, right, unrelated),) = batches(np.array([[0, 2], [3, 4], [2, 2]]), word_dropout=0.0)(0)
    owners = [0 if ids.tolist()[0] < 3 else 1 for ids in np.split(left.ids, left.offsets[1:-1])]
    assert unrelated.tolist() == [[one != other for other in owners] for one in owners]
    assert len(left) == len(right) == 3


@pytest.mark.fault(19)
def test_a_side_that_lost_all_its_words_takes_no_part() -> None:
    """With six words in ten left out many sides are empty; the remaining pairs have words on both sides."""
    found = list(batches(contrastive.related_pairs(corpus(), 2), word_dropout=0.6)(0))
    assert found
    for left, right, unrelated in found:
        assert left.lengths.min() > 0 and right.lengths.min() > 0
        assert unrelated.shape == (len(left), len(left))


def test_an_epoch_has_as_many_batches_as_it_says() -> None:
    """The learning rate falls with them."""
    made = batches(contrastive.related_pairs(corpus(), 2), word_dropout=0.0)
    assert len(made.pairs) > 4
    assert len(list(made(0))) == made.steps


def topics() -> contrastive.Corpus:
    """Twelve articles of six sentences of three words; an article has five words of its own."""
    draw = np.random.default_rng(5)
    documents = np.repeat(np.arange(12), 6)
    sentences = [(5 * article + draw.permutation(5)[:3]).tolist() for article in documents]
    return contrastive.Corpus(TokenIds.from_lists(sentences), documents)


def test_related_come_closer_and_unrelated_go_farther() -> None:
    """Unlike repulsion; at first the words share a large part, as skip-gram vectors do."""
    vectors = torch.from_numpy(np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)) + 2
    whole = topics()
    pairs = contrastive.related_pairs(whole, 1)
    first, *_, last = contrastive.refine(vectors, whole, pairs, settings(batch_size=32, learning_rate=0.05))
    assert last.loss < 0.5 * first.loss
    assert last.related_kl < 0.5 * first.related_kl
    assert last.mean_kl > 1.2 * first.mean_kl
    assert last.iteration == 20


def test_displacement_is_that_of_the_vectors() -> None:
    start, vectors = word_vectors(), word_vectors()
    last = contrastive.refine(vectors, corpus(), contrastive.related_pairs(corpus(), 1), settings())[-1]
    assert last.displacement == pytest.approx(kld.displacement(start, vectors))
    assert torch.equal(vectors[3], start[3])  # its only sentence is too short


@pytest.mark.fault(19)
def test_nothing_unrelated_moves_nothing() -> None:
    """Batches of one article have no unrelated sentences and give no NaN."""
    vectors = word_vectors()
    whole = contrastive.Corpus(TokenIds.from_lists(SENTENCES[:3]), np.array(DOCUMENTS[:3]))
    (step,) = contrastive.refine(vectors, whole, contrastive.related_pairs(whole, 1), settings(epochs=1))
    assert step == contrastive.Iteration(iteration=1, mean_kl=0.0, displacement=0.0, loss=0.0, related_kl=0.0)
    assert torch.equal(vectors, word_vectors())
