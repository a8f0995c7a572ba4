"""Learning rates over a training: a schedule gives the share of the full rate at a step, from 0 on over all epochs."""

from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(step: int) -> float:
    """Return 1 at every step."""
    return 1.0


def linear(epochs: int, steps: int) -> Schedule:
    """Fall in a straight line from 1 to 0, over `epochs` of `steps` each.

    Example:
        >>> [linear(epochs=2, steps=2)(step) for step in range(4)]
        [1.0, 0.75, 0.5, 0.25]
    """

    def share(step: int) -> float:
        epoch, within = divmod(step, steps)
        return 1 - (epoch + within / steps) / epochs

    return share


def halving(every: int) -> Schedule:
    """Halve the rate after every so many steps.

    Example:
        >>> [halving(every=2)(step) for step in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return lambda step: 0.5 ** (step // every)


def warm_up(steps: int, share: float, then: Schedule | None = None) -> Schedule:
    """Rise to 1 in a `share` of the steps, then fall in a straight line to 0, or follow another schedule.

    Example:
        >>> [round(warm_up(steps=4, share=0.25)(step), 2) for step in range(4)]
        [0.5, 1.0, 0.67, 0.33]

    Reference:
        Goyal et al. 2017, Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, https://arxiv.org/abs/1706.02677
    """
    rise = share * steps
    falling: Schedule = then or (lambda step: (steps - step) / (steps - rise))
    return lambda step: (step + 1) / (rise + 1) if step < rise else falling(step)
