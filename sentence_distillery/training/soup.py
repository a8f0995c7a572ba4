"""Model soup: the mean of the weights of several trainings from one start (Wortsman et al. 2022, "Model soups").

It costs no more to run than each of them.
"""

from torch import Tensor, nn


class ModelSoup:
    """Collects the weights of models of one shape.

    Example:
        >>> soup = ModelSoup()
        >>> for value in (1.0, 3.0):
        ...     model = nn.Linear(1, 1, bias=False)
        ...     _ = nn.init.constant_(model.weight, value)
        ...     soup.add(model)
        >>> soup.load_into(model)
        >>> model.weight.item()
        2.0
    """

    def __init__(self) -> None:
        self.count = 0
        self._sums: dict[str, Tensor] = {}

    def add(self, model: nn.Module) -> None:
        """Add the weights that a model has now."""
        self._sums = {name: tensor + self._sums.get(name, 0) for name, tensor in model.state_dict().items()}
        self.count += 1

    def load_into(self, model: nn.Module) -> None:
        """Give a model the mean of all weights that were added."""
        model.load_state_dict({name: total / self.count for name, total in self._sums.items()})
