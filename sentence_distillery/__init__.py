"""Small, fast sentence encoders: load one, distil one from your own text, and measure how good it is.

>>> from sentence_distillery import load
>>> storm, gale = load().encode(["The storm closed the port.", "The harbour was shut by the gale."])
>>> bool(storm @ gale > 0.5)
True
"""

import gc
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_distillery.distillation.distill import distill, texts_to_embed
    from sentence_distillery.distillation.sizing import fit_to_size
    from sentence_distillery.encoder.compression import compress
    from sentence_distillery.encoder.precision import quantize_embeddings
    from sentence_distillery.encoder.static_encoder import StaticEncoder
    from sentence_distillery.evaluation.evaluate import evaluate
    from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet, QuerySet
    from sentence_distillery.io.artifacts import InputError

    __version__: str

# Name -> (module that has it, extra that the module needs). They are imported when they are asked for: `import
# sentence_distillery` alone costs nothing, and the encoder never loads torch.
_HOMES = {
    "BenchmarkData": ("evaluation.sets.data", "evaluate"),
    "DocumentSet": ("evaluation.sets.data", "evaluate"),
    "InputError": ("io.artifacts", ""),
    "PairSet": ("evaluation.sets.data", "evaluate"),
    "QuerySet": ("evaluation.sets.data", "evaluate"),
    "StaticEncoder": ("encoder.static_encoder", ""),
    "compress": ("encoder.compression", ""),
    "distill": ("distillation.distill", "distill"),
    "evaluate": ("evaluation.evaluate", "evaluate"),
    "evaluate_on_texts": ("domain.texts", "distill"),
    "fit_to_size": ("distillation.sizing", "distill"),
    "quantize_embeddings": ("encoder.precision", ""),
    "texts_to_embed": ("distillation.distill", "distill"),
}


def load(
    directory: "Path | str" = "released",
    *,
    truncate_dim: int | None = None,
    lexical_weight: float | tuple[float, float] | None = None,
    lexical_dimension: int | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
) -> "StaticEncoder":
    """Load the model that comes with the library, one from a directory, or one of a hub.

    Args:
        directory: "released", or "released-search" for the same with its lexical channel in `encode`, too;
            "released-multilingual" for the one that `make multilingual` builds in a clone; or a directory that this
            library, sentence-transformers or model2vec saved; or the id of a model on a hub, such as
            "minishlab/potion-base-8M", which is downloaded into the cache of huggingface_hub.
        truncate_dim: The dimensions to keep, the first ones, from 1 to the model's; None keeps as many as the model was
            saved with.
        lexical_weight: The length of the lexical channel relative to the rest, from 0 to 1,000: the greater, the more
            shared words count. Or two such numbers, for texts of up to 12 known tokens and for those from 32 on; the
            second is that of all texts in `encode_query` and `encode_document`. 0 leaves the channel out, in these two
            as well; None takes what the model was saved with.
        lexical_dimension: The numbers of the channel, a multiple of 8 up to 65,536: the fewer words share
            a place. None takes what the model was saved with.
        revision: The commit, branch or tag of a hub id; None takes its main branch.
        token: A token of the hub, for a private model; None takes the one that `hf auth login` keeps.

    Returns:
        The encoder. Its `encode` takes texts and returns (texts, dimension) float32, rows of unit length: their
        products are cosines. A text without a known word is a zero row.

    Raises:
        InputError: If the directory or one of its files is missing or broken, or holds another kind of model, or if a
            hub cannot be reached and its cache has no such model.
        ValueError: If `truncate_dim`, `lexical_weight` or `lexical_dimension` is out of its range, or the model has no
            lexical channel.

    Example:
        >>> load("released").encode(["The storm closed the port.", "Shares fell."]).shape
        (2, 256)
        >>> load("released").encode_document(["The storm closed the port.", "Shares fell."]).shape
        (2, 1024)
    """
    from sentence_distillery.encoder.persistence.files import model_files

    # NumPy's import takes longer than all else. Meanwhile threads read the files, and the garbage collector is off.
    files, collects = model_files(directory, revision, token), gc.isenabled()
    if "numpy" not in sys.modules:
        files.begin()
        gc.disable()
    try:
        from sentence_distillery.encoder.static_encoder import StaticEncoder
    finally:
        if collects:
            gc.enable()

    return StaticEncoder.from_files(
        files, truncate_dim=truncate_dim, lexical_weight=lexical_weight, lexical_dimension=lexical_dimension
    )


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for; an error names the extra that it needs."""
    if name == "__version__":
        return import_module("importlib.metadata").version("sentence-distillery")
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module, extra = _HOMES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        if not extra or (error.name or "").startswith(__name__):
            raise
        # Whatever walks through the names (hasattr, inspect, pydoc) expects an AttributeError, of which `from
        # sentence_distillery import distill` would drop the message.
        imports = sys._getframe(1).f_code.co_name == "_handle_fromlist"
        raise (ImportError if imports else AttributeError)(
            f"sentence_distillery.{name} needs {error.name}; run `pip install 'sentence-distillery[{extra}]'`."
        ) from error


def __dir__() -> list[str]:
    """List the public names, those that are not imported yet, too."""
    return list(__all__)


__all__ = [
    "BenchmarkData",
    "DocumentSet",
    "InputError",
    "PairSet",
    "QuerySet",
    "StaticEncoder",
    "__version__",
    "compress",
    "distill",
    "evaluate",
    "evaluate_on_texts",
    "fit_to_size",
    "load",
    "quantize_embeddings",
    "texts_to_embed",
]
