"""The device comes from the environment, never from parameters: CPU and GPU runs share one cache key."""

import logging
import os
from functools import cache

import torch

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.options import Precision

VARIABLE = "DISTILLERY_DEVICE"

log = logging.getLogger(__name__)


def device() -> torch.device:
    """Return the device that DISTILLERY_DEVICE names (auto, cpu, cuda, cuda:1 ...); auto prefers a GPU."""
    name = os.environ.get(VARIABLE, "auto")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"{VARIABLE}={name} is not a device; use auto, cpu or cuda.") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"{VARIABLE}={name}, but torch finds no GPU here; use auto or cpu.")
    return chosen


def autocast(where: torch.device, precision: Precision) -> torch.autocast:
    """Return a context in which matrix products have this precision; warn once if the device emulates bfloat16."""
    mixed = precision == "bfloat16"
    if mixed and not multiplies_bfloat16(where.type):
        _warn(where.type)
    return torch.autocast(where.type, torch.bfloat16, enabled=mixed)


@cache
def multiplies_bfloat16(kind: str) -> bool:
    """Tell whether a device of this kind (cpu, cuda) has instructions for products of bfloat16."""
    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return any(there for name, there in torch.cpu.get_capabilities().items() if name.endswith("bf16"))


@cache
def _warn(kind: str) -> None:
    log.warning("precision: this %s only emulates bfloat16, which is much slower than float32; set float32", kind)
