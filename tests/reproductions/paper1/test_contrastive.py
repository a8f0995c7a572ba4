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


def word_vectors(seed: int = 0) -> Tensor:
    """Seven words in four dimensions."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32))


def settings(**changes: object) -> Contrastive:
    return Contrastive(**demo_params()["contrastive"] | {"epochs": 20, "batch_size": 4} | changes)


def course(vectors: Tensor, distance: int = 1, **changes: object) -> list[contrastive.Iteration]:
    whole = corpus()
    pairs = contrastive.related_pairs(whole, distance)
    return contrastive.refine(vectors, whole, pairs, settings(**changes))


def test_loss_is_a_smooth_hinge() -> None:
    """s · loss_i tends to max(0, m + d_ii - min_j d_ij): 0.4 + 0.2 - 0.3, then 0.4 + 0.1 - 0.9 cut off at 0."""
    d = torch.tensor([[0.2, 0.3, 1.0], [0.9, 0.1, 2.0], [1.5, 1.5, 0.0]], dtype=torch.float64)
    s = 1e-4
    rows = [0.3, 0.0, 0.0]
    columns = [0.0, 0.2, 0.0]
    loss = contrastive.contrast(d, ~torch.eye(3, dtype=torch.bool), margin=0.4, batch_temperature=s)
    assert s * loss.item() == pytest.approx((sum(rows) + sum(columns)) / 6, abs=1e-6)


def test_what_is_not_unrelated_does_not_count() -> None:
    d = torch.tensor([[0.2, 1.2, 0.0], [0.7, 0.2, 0.0], [0.0, 0.0, 0.0]])
    unrelated = torch.tensor([[False, True, False], [True, False, False], [False, False, False]])
    loss = contrastive.contrast(d, unrelated, margin=0.5, batch_temperature=0.5)
    assert loss.item() == pytest.approx(0.5032 * 2 / 3, abs=5e-5)


def test_gradient_is_that_of_a_loop_over_pairs() -> None:
    """The equations as written, pair by pair, have the same loss and gradient."""
    left, right = TokenIds.from_lists([[0, 1], [4, 5, 5]]), TokenIds.from_lists([[2], [6, 4]])
    vectors = word_vectors().double().requires_grad_()
    d = contrastive.divergences(contrastive.unit_means(vectors, left), contrastive.unit_means(vectors, right), 0.5)
    loss = contrastive.contrast(d, ~torch.eye(2, dtype=torch.bool), 0.3, 0.2)
    p, q = ([vectors[words].mean(dim=0) for words in side] for side in ([[0, 1], [4, 5, 5]], [[2], [6, 4]]))
    p, q = ([(mean / mean.norm() / 0.5).softmax(dim=0) for mean in side] for side in (p, q))
    kl = [[(one * (one / other).log()).sum() for other in q] for one in p]
    terms = [(kl[0][0], kl[0][1]), (kl[1][1], kl[1][0]), (kl[0][0], kl[1][0]), (kl[1][1], kl[0][1])]
    expected = torch.stack([(1 + ((0.3 + near - far) / 0.2).exp()).log() for near, far in terms]).mean()
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
    left, right, unrelated = next(
        contrastive.Batches(
            corpus(),
            np.array([[0, 2], [3, 4], [2, 2]]),
            settings(word_dropout=0.0),
            np.random.default_rng(0),
        )(0)
    )
    owners = [0 if ids.tolist()[0] < 3 else 1 for ids in np.split(left.ids, left.offsets[1:-1])]
    assert unrelated.tolist() == [[one != other for other in owners] for one in owners]
    assert len(left) == len(right) == 3


@pytest.mark.fault(19)
def test_a_side_that_lost_all_its_words_takes_no_part() -> None:
    """With six words in ten left out many sides are empty; the remaining pairs have words on both sides."""
    found = list(
        contrastive.Batches(
            corpus(), contrastive.related_pairs(corpus(), 2), settings(word_dropout=0.6), np.random.default_rng(3)
        )(0)
    )
    assert found
    for left, right, unrelated in found:
        assert left.lengths.min() > 0 and right.lengths.min() > 0
        assert unrelated.shape == (len(left), len(left))


def test_an_epoch_has_as_many_batches_as_it_says() -> None:
    """The learning rate falls with them."""
    batches = contrastive.Batches(
        corpus(),
        contrastive.related_pairs(corpus(), 2),
        settings(word_dropout=0.0, batch_size=4),
        np.random.default_rng(3),
    )
    assert len(batches.pairs) > 4
    assert len(list(batches(0))) == batches.steps


def topics(common: bool = False) -> contrastive.Corpus:
    """Twelve articles of six sentences of three words; an article has five words of its own, word 60 is everywhere."""
    draw = np.random.default_rng(5)
    documents = np.repeat(np.arange(12), 6)
    sentences = [(5 * article + draw.permutation(5)[:3]).tolist() + [60] * common for article in documents]
    return contrastive.Corpus(TokenIds.from_lists(sentences), documents)


def alike() -> Tensor:
    """61 words in eight dimensions, which share a large part as skip-gram vectors do."""
    return torch.from_numpy(np.random.default_rng(0).normal(size=(61, 8)).astype(np.float32)) + 2


def test_related_come_closer_and_unrelated_go_farther() -> None:
    """Unlike repulsion: the divergence of related sentences falls while that of unrelated ones grows."""
    vectors = alike()
    whole = topics()
    first, *_, last = contrastive.refine(
        vectors, whole, contrastive.related_pairs(whole, 1), settings(batch_size=32, learning_rate=0.05)
    )
    assert last.loss < 0.5 * first.loss
    assert last.related_kl < 0.5 * first.related_kl
    assert last.mean_kl > 1.2 * first.mean_kl
    assert last.iteration == 20


def test_displacement_is_that_of_the_vectors() -> None:
    start, vectors = word_vectors(), word_vectors()
    last = course(vectors)[-1]
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
