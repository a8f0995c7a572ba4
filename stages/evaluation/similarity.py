"""How well cosines agree with people: Pearson, Spearman and mean absolute error (paper 1, equations 14 and 15).

    MAE = mean |2.5 (cos + 1) - gold|, in units of a 0-5 scale

The cosine is mapped from [-1, 1] to [0, 5] as in paper 1, and so is the gold score from its own scale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from stages.ragged import Floats, unit_rows


@dataclass(frozen=True)
class Undefined:
    """A figure that does not exist, and why."""

    reason: str

    def __str__(self) -> str:
        return f"undefined: {self.reason}"


Figure = float | Undefined


def cosines(left: Floats, right: Floats) -> Floats:
    """Cosine of each pair of rows, (pairs,) in [-1, 1]; 0 where a vector is zero."""
    return np.asarray(np.einsum("nd,nd->n", unit_rows(left), unit_rows(right)))


def similarity_figures(predicted: Floats, gold: NDArray[np.float32], scale: tuple[float, float]) -> dict[str, Figure]:
    """Pearson, Spearman and MAE of `predicted` cosines; `gold` is on `scale` = (lowest, highest)."""
    low, high = scale
    on_five = (gold - low) * 5.0 / (high - low)
    error = np.abs(2.5 * (predicted + 1.0) - on_five).mean() if len(gold) else np.nan
    mae = float(error) if np.isfinite(error) else Undefined(_why_undefined(predicted, gold))
    return correlations(predicted, gold) | {"mae": mae}


def correlations(predicted: Floats, gold: NDArray[np.float32]) -> dict[str, Figure]:
    """Pearson and Spearman in [-1, 1]; undefined, with the reason, where one side is constant or too short."""
    reason = _why_undefined(predicted, gold)
    if reason:
        return {"pearson": Undefined(reason), "spearman": Undefined(reason)}
    return {
        "pearson": float(pearsonr(predicted, gold).statistic),
        "spearman": float(spearmanr(predicted, gold).statistic),
    }


def _why_undefined(predicted: Floats, gold: NDArray[np.float32]) -> str:
    if len(gold) < 2:
        return f"{len(gold)} pairs"
    if not np.isfinite(predicted).all():
        return "some predictions are not finite"
    if np.ptp(predicted) <= 1e-6:  # cosines of equal vectors differ in their last bits
        return "all predictions are alike"
    if np.ptp(gold) == 0:
        return "all gold scores are alike"
    return ""
