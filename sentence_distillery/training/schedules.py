"""Learning rates over a training.

A schedule gives the share of the full rate at each step, counted from 0 over all epochs.

    linear(epochs=2, steps=4)                  1, 0.875, 0.75 ... 0.125
    warm_up(steps=10, share=0.2)               1/3, 2/3, 1, 0.875 ... 0.125
    halving(every=4)                           1, 1, 1, 1, 0.5 ...
"""

from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(step: int) -> float:
    """Return 1 at every step.

    Args:
        step: The number of the step, from 0; ignored.

    Returns:
        The share of the full learning rate, 1.

    Example:
        >>> constant(100)
        1.0
    """
    return 1.0


def linear(epochs: int, steps: int) -> Schedule:
    """Fall in a straight line from 1 to 0.

    Args:
        epochs: The number of epochs, at least 1.
        steps: The number of steps in an epoch, at least 1.

    Returns:
        A function from the number of a step to the share of the full learning rate, in (0, 1].

    Example:
        >>> [linear(epochs=2, steps=2)(step) for step in range(4)]
        [1.0, 0.75, 0.5, 0.25]
    """

    def share(step: int) -> float:
        epoch, within = divmod(step, steps)
        return 1 - (epoch + within / steps) / epochs

    return share


def halving(every: int) -> Schedule:
    """Halve the rate at regular intervals.

    Args:
        every: The number of steps between halvings, at least 1.

    Returns:
        A function from the number of a step to the share of the full learning rate, in (0, 1].

    Example:
        >>> [halving(every=2)(step) for step in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return lambda step: 0.5 ** (step // every)


def warm_up(steps: int, share: float, then: Schedule | None = None) -> Schedule:
    """Rise in a straight line to 1, then fall in a straight line to 0, or follow another schedule.

    Args:
        steps: The number of steps in the whole training, at least 1.
        share: The share of these steps in which the rate rises, in [0, 1].
        then: The schedule after the rise; it counts steps from the start of the training.

    Returns:
        A function from the number of a step to the share of the full learning rate, in (0, 1].

    Example:
        >>> [round(warm_up(steps=4, share=0.25)(step), 2) for step in range(4)]
        [0.5, 1.0, 0.67, 0.33]

    Reference:
        Goyal et al. 2017, Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, https://arxiv.org/abs/1706.02677
    """
    rise = share * steps
    falling: Schedule = then or (lambda step: (steps - step) / (steps - rise))
    return lambda step: (step + 1) / (rise + 1) if step < rise else falling(step)
