"""Algorithm 1: the batched loss is the printed loop over pairs."""

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from reproductions.paper1.word_vectors import kld
from sentence_distillery.io.ragged import TokenIds

SENTENCES = [[0, 1, 1, 4], [2], [], [3, 0, 2], [5, 5], [1, 5, 6]]


def word_vectors(seed: int = 0) -> Tensor:
    """Seven words in four dimensions."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(7, 4)))


def word_weights() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.linspace(0.5, 2, 7, dtype=np.float32)


def printed_pair(sentence_i: list[int], sentence_j: list[int], vectors: Tensor) -> Tensor | None:
    """Lines 10-18 of Algorithm 1 for one pair, as printed; None where it says `continue`."""
    weights = torch.from_numpy(word_weights()).double()
    mean_i, mean_j = (
        (weights[words, None] * vectors[words]).sum(dim=0) / weights[words].sum() if words else torch.zeros(4)
        for words in (sentence_i, sentence_j)
    )
    if not mean_i.any() or not mean_j.any():
        return None
    p_i, p_j = mean_i.softmax(dim=0), mean_j.softmax(dim=0)
    return -(p_i * (p_i / p_j).log()).sum()


def printed_loop(vectors: Tensor, batch_size: int, learning_rate: float) -> Tensor:
    """One iteration of Algorithm 1 with a step after each pair."""
    for first in range(0, len(SENTENCES), batch_size):
        for i, j in permutations(SENTENCES[first : first + batch_size], 2):
            parameter = vectors.clone().requires_grad_()
            loss = printed_pair(i, j, parameter)
            if loss is not None:
                (gradient,) = torch.autograd.grad(loss, parameter)
                vectors = vectors - learning_rate * gradient
    return vectors


def cut(batch_size: int, sentences: TokenIds | None = None) -> list[kld.Batch]:
    return kld.batches(TokenIds.from_lists(SENTENCES) if sentences is None else sentences, word_weights(), batch_size)


def test_kl_matrix_is_equation_1() -> None:
    vectors = word_vectors()
    p = vectors.softmax(dim=1).numpy()
    reference = [[sum(a * np.log(a / b) for a, b in zip(p_i, p_j, strict=True)) for p_j in p] for p_i in p]
    np.testing.assert_allclose(kld.kl_matrix(vectors).numpy(), reference, atol=1e-14)


def test_loss_and_gradient_are_those_of_the_printed_pairs() -> None:
    vectors = word_vectors().requires_grad_()
    (batch,) = cut(batch_size=100)
    loss = -kld.kl_matrix(batch.sentence_vectors(vectors)).sum()
    (gradient,) = torch.autograd.grad(loss, vectors)
    losses = [printed_pair(i, j, vectors) for i, j in permutations(SENTENCES, 2)]
    printed = torch.stack([pair for pair in losses if pair is not None])
    assert len(printed) == 5 * 4
    (expected,) = torch.autograd.grad(printed.sum(), vectors)
    assert loss.item() == pytest.approx(printed.sum().item(), rel=1e-12)
    np.testing.assert_allclose(gradient.to_dense().numpy(), expected.numpy(), rtol=1e-10, atol=1e-14)


def test_one_step_a_batch_is_the_printed_step_a_pair_to_first_order() -> None:
    """At the printed learning rate they differ by less than a thousandth of the step; hence the sum, not the mean."""
    start, batched = word_vectors(), word_vectors()
    kld.refine(batched, cut(batch_size=3), learning_rate=1e-4, iterations=1)
    printed = printed_loop(start, batch_size=3, learning_rate=1e-4)
    assert (batched - printed).norm() < 1e-3 * (printed - start).norm()


def test_iterations_report_the_mean_kl_and_the_displacement() -> None:
    start, vectors = word_vectors(), word_vectors()
    first, second = kld.refine(vectors, cut(batch_size=6), learning_rate=0.01, iterations=2)
    losses = [printed_pair(i, j, start) for i, j in permutations(SENTENCES, 2)]
    assert first.mean_kl == pytest.approx(-np.mean([pair.item() for pair in losses if pair is not None]))
    moves = (vectors - start).norm(dim=1) / start.norm(dim=1)
    assert second.displacement == pytest.approx(moves.mean().item())
    assert second.mean_kl > first.mean_kl
    assert second.iteration == 2


@pytest.mark.parametrize("sentences", [[[], []], [[0], []], [[3]], []])
@pytest.mark.fault(19)
def test_no_pair_moves_nothing(sentences: list[list[int]]) -> None:
    """Batches of zero vectors or a single sentence have no pair and give no NaN."""
    vectors = word_vectors()
    (step,) = kld.refine(vectors, cut(2, TokenIds.from_lists(sentences)), learning_rate=0.1, iterations=1)
    assert step == kld.Iteration(iteration=1, mean_kl=0.0, displacement=0.0)
    assert torch.equal(vectors, word_vectors())


@pytest.mark.fault(19)
def test_zero_word_vectors_make_a_zero_sentence() -> None:
    """Known words whose vectors are zero make a sentence that is skipped as printed."""
    vectors = word_vectors()
    vectors[2] = 0
    (batch,) = cut(batch_size=6)
    assert len(batch.sentence_vectors(vectors)) == 4
    assert kld.displacement(torch.zeros(2, 3), torch.ones(2, 3)) == 0.0
