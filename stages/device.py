"""The device comes from the environment, never from parameters: CPU and GPU runs share one cache key."""

import os

import torch

from stages.artifacts import InputError

VARIABLE = "DISTILLERY_DEVICE"


def device() -> torch.device:
    """The device named by DISTILLERY_DEVICE (auto, cpu, cuda, cuda:1 ...); auto takes a GPU where there is one."""
    name = os.environ.get(VARIABLE, "auto")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"{VARIABLE}={name} is no device; use auto, cpu or cuda.") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"{VARIABLE}={name}, but torch sees no GPU here; use auto or cpu.")
    return chosen
