"""The names under which other libraries look for an encoder; each one leads to `encode`.

    sentence-transformers   encode_query, encode_document, similarity, similarity_pairwise, get_*_dimension
    model2vec               encode_as_sequence, of static encoders alone
    LangChain               embed_documents, embed_query, aembed_documents, aembed_query, isinstance(…, Embeddings)
    LlamaIndex              model_name, for its LangchainEmbedding
    asyncio                 aencode
    scikit-learn            fit, transform, get_params, set_params, clone

None of these libraries is imported here.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentence_distillery.encoder.exchange.prompts import DOCUMENT, QUERY
from sentence_distillery.encoder.precision import Precision
from sentence_distillery.encoder.similarity import similarity, similarity_pairwise
from sentence_distillery.encoder.texts import is_whole, not_one
from sentence_distillery.io.ragged import Floats

OnUnknown = Literal["zero", "error"]


class CallOptions(TypedDict, total=False):
    """The keyword arguments of `encode` that do not change the type of its result."""

    normalize_embeddings: bool
    truncate_dim: int | None
    batch_size: int | None
    show_progress_bar: bool | None
    on_unknown: OnUnknown
    prompt: str | None
    prompt_name: str | None
    max_length: int | None


class EncodeOptions(CallOptions, total=False):
    """The keyword arguments of `encode`; `StaticEncoder.encode` says what each does."""

    convert_to_numpy: bool
    convert_to_tensor: bool
    precision: Precision


class Adapters(ABC):
    """The methods of every encoder with `encode`.

    Attributes:
        truncate_dim: The dimension to which it cuts by default, from 1 to `full_dimension`; None does not cut.
    """

    truncate_dim: int | None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    @abstractmethod
    def full_dimension(self) -> int:
        """Numbers in a vector that is not cut."""

    @abstractmethod
    def encode(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """Turn texts into vectors."""

    @property
    @abstractmethod
    def for_search(self) -> Self:
        """The encoder that searches: the same, unless it has a lexical channel that `encode` weights otherwise."""

    def __call__(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, for a library that takes a function of texts."""
        return self.encode(texts, **options)

    # ---- sentence-transformers

    def encode_query(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, with the prompt "query" if the model has one.

        A lexical channel has the weight of searches, and the vector as many numbers as that of `encode_document`.
        """
        return self.for_search.encode(texts, **_prompted(options, QUERY))

    def encode_document(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, with the prompt "document" if the model has one, and the weight of `encode_query`."""
        return self.for_search.encode(texts, **_prompted(options, DOCUMENT))

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Any:
        """Compute the cosines of each embedding with each, (texts of the first, texts of the second) float32.

        They are a tensor if the first embeddings are one, and otherwise an array.
        """
        return _of_the_kind_of(embeddings1, similarity(embeddings1, embeddings2))

    def similarity_pairwise(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Any:
        """Compute the cosines pair by pair, (pairs,) float32, as `similarity`; ValueError if the shapes differ."""
        return _of_the_kind_of(embeddings1, similarity_pairwise(embeddings1, embeddings2))

    @property
    def similarity_fn_name(self) -> Literal["cosine"]:
        """The name of the similarity."""
        return "cosine"

    def get_sentence_embedding_dimension(self) -> int:
        """As `dimension`: of `encode`. Vectors of searches may have more numbers, `for_search.dimension`."""
        return self.dimension

    def get_embedding_dimension(self) -> int:
        """As `dimension`; its name since version 6."""
        return self.dimension

    @property
    def model_name(self) -> str:
        """What LlamaIndex calls the encoder."""
        return type(self).__name__

    # ---- asyncio

    async def aencode(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, in a thread, so that an event loop goes on with other tasks."""
        from asyncio import to_thread  # few programs have an event loop

        return await to_thread(self.encode, texts, **options)

    # ---- LangChain, and vector stores with the same names

    def embed_documents(self, texts: Iterable[str]) -> list[list[float]]:
        """As `encode_document`, in lists of floats; TypeError for one str."""
        vectors: list[list[float]] = self.encode_document(not_one(texts)).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """As `encode_query` of one str, in a list of floats."""
        if not isinstance(text, str):
            raise TypeError(f"embed_query takes one str, not {type(text).__name__}; embed_documents takes many.")
        vector: list[float] = self.encode_query(text).tolist()
        return vector

    async def aembed_documents(self, texts: Iterable[str]) -> list[list[float]]:
        """As `embed_documents`, in a thread."""
        from asyncio import to_thread  # few programs have an event loop

        return await to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, in a thread."""
        from asyncio import to_thread  # few programs have an event loop

        return await to_thread(self.embed_query, text)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Self]:
        """The class, which `isinstance` asks for; LangChain registers it if a program has imported it.

        LangChain's Embeddings then count it as one of theirs, and it need not be imported here.
        """
        kind = type(self)
        embeddings = getattr(sys.modules.get("langchain_core.embeddings.embeddings"), "Embeddings", None)
        if embeddings is not None and not issubclass(kind, embeddings):
            embeddings.register(kind)
        return kind

    # ---- scikit-learn

    def fit(self, texts: object = None, labels: object = None) -> Self:
        """Do nothing: the encoder is trained already."""
        return self

    def transform(self, texts: Iterable[str]) -> Floats:
        """As `encode` of a list or a column of a table; TypeError for one str."""
        vectors: Floats = self.encode(not_one(texts))
        return vectors

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> Floats:
        """As `transform`."""
        return self.transform(texts)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Name the dimensions, (dimension,) object."""
        return np.array([f"dimension_{index}" for index in range(self.dimension)], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """List the parameters that may be set, as in a grid search: `truncate_dim`."""
        return {"truncate_dim": self.truncate_dim}

    def set_params(self, **params: Any) -> Self:
        """Set parameters that `get_params` lists; ValueError for others, and out of range."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"'{name}' is not a parameter; the parameters are {', '.join(self.get_params())}.")
            setattr(self, name, checked_dimension(value, self.full_dimension))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # only scikit-learn asks for this

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            requires_fit=False,
        )


def checked_dimension(truncate_dim: int | None, full: int) -> int | None:
    """Return a number of dimensions, None for all; ValueError if it is no number from 1 to `full`."""
    if truncate_dim is None:
        return None
    if not is_whole(truncate_dim, 1, full):
        raise ValueError(
            f"truncate_dim is {truncate_dim!r}; this model has {full} dimensions. Give 1 to {full}, or None for all."
        )
    return int(truncate_dim)


def as_tensors(vectors: NDArray[Any], one: bool) -> Any:
    """Convert arrays to torch tensors on the CPU, which share their memory: all to one, or each text to one in a list.

    Raises ImportError if torch is not installed; the message says how to install it.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "Tensors need torch, which is not installed: pip install 'sentence-distillery[distill]'. Without it, leave "
            "convert_to_tensor=False and convert_to_numpy=True as they are."
        ) from error
    tensor = torch.from_numpy(vectors)
    return tensor if one or vectors.ndim == 1 else list(tensor)


def _of_the_kind_of(given: Any, cosines: Floats) -> Any:
    """Return cosines as a torch tensor, if the embeddings are one."""
    torch = sys.modules.get("torch")  # not imported: without it nothing is a tensor
    if torch is None or not isinstance(given, torch.Tensor):
        return cosines
    return torch.from_numpy(cosines).to(given.device)


def _prompted(options: EncodeOptions, name: str) -> EncodeOptions:
    """Choose a prompt by name, unless a call has its own."""
    if options.get("prompt") is not None or options.get("prompt_name") is not None:
        return options
    return {**options, "prompt_name": name}
