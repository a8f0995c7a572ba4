"""Estimate the cost of a transformer from its files, before it is loaded.

    seconds = parameters of its layers * word pieces / (share * multiply-adds a second)

The parameters are counted in the header of its weights; those of embeddings are looked up and not multiplied. How many
multiply-adds this device does is measured with one matrix product of the teacher's size, on one thread, since the
teacher's batches run side by side. A transformer reaches a share of it: attention, activations and padding take time,
too. Measured on one thread with MiniLM-L6: 0.5 to 0.6 of it.
"""

import time
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.runtime.device import device
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.sentence_modules import WEIGHTS, read_modules
from sentence_distillery.teachers.transformer import CPU_TOKENS, find_model

SHARE = 0.5  # of the measured rate
RUNS = 5
SECONDS = 0.02  # of one run, so that it is longer than the clock's grain
BYTES_A_PIECE = 4.5  # of English text in UTF-8
SPECIAL = 2  # word pieces at the ends of a text
GPU_TOKENS = 8_192


@dataclass(frozen=True)
class Cost:
    """The size of a transformer.

    Attributes:
        parameters: All of them.
        multiplied: Multiply-adds for a word piece, which is the number of parameters in layers, as often as they run.
        width: Of a hidden state.
    """

    parameters: int
    multiplied: int
    width: int


def cost_of(teacher: Teacher) -> Cost | None:
    """Read the size of a transformer from the header of its weights; None if it cannot be read, as loading will say."""
    try:
        directory = find_model(teacher.reference, teacher.revision)
        folder = directory / read_modules(directory).transformer
        config = read_json(folder / "config.json", dict[str, Any])
        with safe_open(folder / WEIGHTS, "np") as file:
            sizes = {name: prod(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  # no mapping
    except (InputError, OSError, SafetensorError):
        return None
    in_layers = sum(size for name, size in sizes.items() if "embed" not in name)
    repeated = config.get("num_hidden_layers", 1) if config.get("model_type") == "albert" else 1
    return Cost(sum(sizes.values()), in_layers * repeated, int(config.get("hidden_size") or config.get("dim") or 384))


def tokenizer_file(teacher: object) -> Tokenizer | None:
    """Read the tokenizer of a transformer without the transformer; None if no file has it, or it is another teacher."""
    if not isinstance(teacher, Teacher):
        return None
    try:
        directory = find_model(teacher.reference, teacher.revision)
        path = directory / read_modules(directory).transformer / "tokenizer.json"
    except InputError:
        return None  # which loading will say
    return Tokenizer.from_file(str(path)) if path.is_file() else None


def multiply_adds(width: int) -> float:
    """Measure how many multiply-adds a second all threads or the GPU do in products of a transformer's shape."""
    where = device()
    threads = torch.get_num_threads()
    rows = CPU_TOKENS if where.type == "cpu" else GPU_TOKENS
    left, right = torch.ones(rows, width, device=where), torch.ones(width, 4 * width, device=where)

    def seconds(times: int) -> float:
        started = time.perf_counter()
        for _ in range(times):
            product = left @ right
        float(product[0, 0])  # waits for a GPU
        return time.perf_counter() - started

    # On one thread, times their number: embedding runs whole batches side by side, one on each.
    torch.set_num_threads(1)
    try:
        times = 1
        while seconds(times) < SECONDS:
            times *= 2
        fastest = min(seconds(times) for _ in range(RUNS))
    finally:
        torch.set_num_threads(threads)
    side_by_side = threads if where.type == "cpu" else 1
    return side_by_side * times * rows * width * 4 * width / fastest


def pieces(texts: int, size: int) -> float:
    """Estimate the word pieces of texts that have `size` bytes in UTF-8."""
    return size / BYTES_A_PIECE + SPECIAL * texts


def seconds_for(cost: Cost, tokens: float) -> float:
    """Estimate how long the teacher takes for word pieces on this device."""
    return cost.multiplied * tokens / (SHARE * multiply_adds(cost.width))
