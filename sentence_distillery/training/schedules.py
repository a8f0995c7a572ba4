"""Learning rates over a training: the share of the full rate at each step, counted from 0 over all epochs.

linear(epochs=2, steps=4)                  1, 0.875, 0.75 ... 0.125
warm_up(steps=10, share=0.2)               1/3, 2/3, 1, 0.875 ... 0.125
halving(every=4)                           1, 1, 1, 1, 0.5 ...
"""

from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(step: int) -> float:
    """Return 1 at every step."""
    return 1.0


def linear(epochs: int, steps: int) -> Schedule:
    """Fall in a straight line from 1 to 0; `steps` is the number in an epoch."""

    def share(step: int) -> float:
        epoch, within = divmod(step, steps)
        return 1 - (epoch + within / steps) / epochs

    return share


def halving(every: int) -> Schedule:
    """Halve after each `every` steps."""
    return lambda step: 0.5 ** (step // every)


def warm_up(steps: int, share: float, then: Schedule | None = None) -> Schedule:
    """Rise in a straight line to 1, then fall in a straight line to 0, or follow another schedule.

    Args:
        steps: The number of steps in the whole training.
        share: The share of these steps in which the rate rises, in [0, 1].
        then: The schedule after the rise; it counts steps from the start of the training.
    """
    rise = share * steps
    falling: Schedule = then or (lambda step: (steps - step) / (steps - rise))
    return lambda step: (step + 1) / (rise + 1) if step < rise else falling(step)
