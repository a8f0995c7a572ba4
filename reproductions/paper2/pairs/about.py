"""Read pairs.json, which says how a model of pairs decides. Needs neither torch nor the model."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from reproductions.paper2.pairs.options import Combination
from sentence_distillery.io.artifacts import read_json, read_tensors
from sentence_distillery.io.checksums import check_directory
from sentence_distillery.io.contents import Content
from sentence_distillery.io.options import Count

ABOUT = "pairs.json"
WEIGHTS = "model.safetensors"


def _known(head: str | None) -> str | None:
    """Return the name of a head; raises ValueError for an unknown one."""
    return None if head is None else Combination(head).value


class About(Content):
    """The content of pairs.json about a model."""

    pooling: Literal["mean", "max", "cls"]
    maximum_length: Count
    head: Annotated[str | None, AfterValidator(_known)]
    strategy: str
    threshold: float
    both_orders: bool = False


def refuse_damaged(directory: Path) -> None:
    """Check the files of a model that is to be copied; raises InputError for one that its reader would refuse."""
    check_directory(directory)
    read_json(directory / ABOUT, About)
    read_tensors(directory / WEIGHTS, {})
