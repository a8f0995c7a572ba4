"""The names under which other libraries look for an encoder; each one leads to `encode`.

    sentence-transformers   encode_query, encode_document, similarity, similarity_pairwise, get_*_dimension
    model2vec               encode_as_sequence, of static encoders alone
    LangChain               embed_documents, embed_query, aembed_documents, aembed_query, isinstance(…, Embeddings)
    asyncio                 aencode
    scikit-learn            fit, transform, get_params, set_params, clone

None of these libraries is imported here.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentence_distillery.encoder.exchange.prompts import DOCUMENT, QUERY
from sentence_distillery.encoder.precision import Precision
from sentence_distillery.encoder.similarity import similarity, similarity_pairwise
from sentence_distillery.io.ragged import Floats

OnUnknown = Literal["zero", "error"]


class EncodeOptions(TypedDict, total=False):
    """The keyword arguments of `encode`; `StaticEncoder.encode` says what each does."""

    normalize_embeddings: bool
    truncate_dim: int | None
    batch_size: int | None
    show_progress_bar: bool | None
    convert_to_numpy: bool
    convert_to_tensor: bool
    precision: Precision
    on_unknown: OnUnknown
    prompt: str | None
    prompt_name: str | None
    max_length: int | None


class Interface(ABC):
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

    @abstractmethod
    def _sharing_arrays(self) -> Self:
        """Make another encoder with the same content, which shares the arrays."""

    def __call__(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """Encode, so that the encoder itself can be passed to a library that takes a function of texts.

        Args:
            texts: As for `encode`.
            **options: As for `encode`.

        Returns:
            What `encode` returns: (texts, dimension) float32, or (dimension,) for one str.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> from sentence_distillery import load
            >>> load("released")("The storm closed the port.").shape
            (256,)
        """
        return self.encode(texts, **options)

    def encode_query(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """Encode questions, with the prompt "query" if the model has one; this library's models do not.

        Args:
            texts: As for `encode`.
            **options: As for `encode`.

        Returns:
            What `encode` returns: (texts, dimension) float32, or (dimension,) for one str.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").encode_query(["Where is the port?"]).shape
            (1, 256)
        """
        return self.encode(texts, **_prompted(options, QUERY))

    def encode_document(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """Encode documents, with the prompt "document" if the model has one; this library's models do not.

        Args:
            texts: As for `encode`.
            **options: As for `encode`.

        Returns:
            What `encode` returns: (texts, dimension) float32, or (dimension,) for one str.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").encode_document(["The port is closed.", "Shares fell."]).shape
            (2, 256)
        """
        return self.encode(texts, **_prompted(options, DOCUMENT))

    async def aencode(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any:
        """Encode in a thread, so that an event loop goes on with other tasks.

        Args:
            texts: As for `encode`.
            **options: As for `encode`.

        Returns:
            What `encode` returns: (texts, dimension) float32, or (dimension,) for one str.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> import asyncio
            >>> from sentence_distillery import load
            >>> asyncio.run(load("released").aencode(["The port is closed.", "Shares fell."])).shape
            (2, 256)
        """
        from asyncio import to_thread  # few programs have an event loop

        return await to_thread(self.encode, texts, **options)

    async def aembed_documents(self, texts: Iterable[str]) -> list[list[float]]:
        """Do as `embed_documents`, in a thread.

        Args:
            texts: As for `embed_documents`.

        Returns:
            What `embed_documents` returns.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> import asyncio
            >>> from sentence_distillery import load
            >>> [len(vector) for vector in asyncio.run(load("released").aembed_documents(["The port."]))]
            [256]
        """
        from asyncio import to_thread  # few programs have an event loop

        return await to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Do as `embed_query`, in a thread.

        Args:
            text: One str.

        Returns:
            What `embed_query` returns.

        Raises:
            TypeError: If `text` is not a str.

        Example:
            >>> import asyncio
            >>> from sentence_distillery import load
            >>> len(asyncio.run(load("released").aembed_query("Where is the port?")))
            256
        """
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

    def embed_documents(self, texts: Iterable[str]) -> list[list[float]]:
        """Encode documents for LangChain and for vector stores with the same interface.

        Args:
            texts: Any iterable of str.

        Returns:
            A list of `dimension` floats in [-1, 1] for each text, at unit length; zeros if no word is known.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> from sentence_distillery import load
            >>> [len(vector) for vector in load("released").embed_documents(["The port.", "Shares fell."])]
            [256, 256]
        """
        vectors: list[list[float]] = self.encode_document(_not_one(texts)).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Encode a question for LangChain and for vector stores with the same interface.

        Args:
            text: One str.

        Returns:
            `dimension` floats in [-1, 1], at unit length; zeros for a text without a known word.

        Raises:
            TypeError: If `text` is not a str.

        Example:
            >>> from sentence_distillery import load
            >>> len(load("released").embed_query("Where is the port?"))
            256
        """
        if not isinstance(text, str):
            raise TypeError(f"embed_query takes one str, not {type(text).__name__}; embed_documents takes many.")
        vector: list[float] = self.encode_query(text).tolist()
        return vector

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
        """Compare each embedding of one list with each of another.

        Args:
            embeddings1: (texts, dimension), or (dimension,) for one text; of any length and type of number.
            embeddings2: The same for the other list.

        Returns:
            (texts of the first, texts of the second) float32 cosines in [-1, 1]; 0 for a zero vector.

        Raises:
            ValueError: If the dimensions differ.

        Example:
            >>> from sentence_distillery import load
            >>> model = load("released")
            >>> cosines = model.similarity(model.encode("The storm."), model.encode(["The gale.", "Shares fell."]))
            >>> cosines.shape, bool(cosines[0, 0] > cosines[0, 1])
            ((1, 2), True)
        """
        return similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
        """Compare the embeddings of two lists pair by pair.

        Args:
            embeddings1: (pairs, dimension), or (dimension,) for one pair; of any length and type of number.
            embeddings2: The same for the other side.

        Returns:
            (pairs,) float32 cosines in [-1, 1]; 0 if a vector of the pair is zero.

        Raises:
            ValueError: If the shapes differ.

        Example:
            >>> from sentence_distillery import load
            >>> model = load("released")
            >>> storms, gales = model.encode(["A storm.", "A port."]), model.encode(["A gale.", "A harbour."])
            >>> model.similarity_pairwise(storms, gales).shape
            (2,)
        """
        return similarity_pairwise(embeddings1, embeddings2)

    @property
    def similarity_fn_name(self) -> Literal["cosine"]:
        """The name of the similarity, as sentence-transformers has it."""
        return "cosine"

    def get_sentence_embedding_dimension(self) -> int:
        """Tell the dimension, as sentence-transformers does.

        Returns:
            Numbers in a vector, after `truncate_dim`.

        Example:
            >>> from sentence_distillery import load
            >>> load("released", truncate_dim=64).get_sentence_embedding_dimension()
            64
        """
        return self.dimension

    def get_embedding_dimension(self) -> int:
        """Tell the dimension, under the name that sentence-transformers has for it since version 6.

        Returns:
            Numbers in a vector, after `truncate_dim`.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").get_embedding_dimension()
            256
        """
        return self.dimension

    def fit(self, texts: object = None, labels: object = None) -> Self:
        """Do nothing: the encoder is trained already. scikit-learn's pipelines call it.

        Args:
            texts: Ignored.
            labels: Ignored.

        Returns:
            The encoder.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").fit(["The port."]).dimension
            256
        """
        return self

    def transform(self, texts: Iterable[str]) -> Floats:
        """Encode texts as a step of a scikit-learn pipeline.

        Args:
            texts: Any iterable of str; one column of a table, not the table.

        Returns:
            (texts, dimension) float32 at unit length; zeros for a text without a known word.

        Raises:
            TypeError: As `encode` does, and for a single str.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").set_params(truncate_dim=32).transform(["The port."]).shape
            (1, 32)
        """
        vectors: Floats = self.encode(_not_one(texts))
        return vectors

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> Floats:
        """Encode texts; there is nothing to fit.

        Args:
            texts: As for `transform`.
            labels: Ignored.

        Returns:
            (texts, dimension) float32 at unit length, as `transform`.

        Raises:
            TypeError: As `transform` does.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").fit_transform(["The port."]).shape
            (1, 256)
        """
        return self.transform(texts)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Name the dimensions for scikit-learn.

        Args:
            input_features: Ignored.

        Returns:
            (dimension,) object, the names.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").get_feature_names_out()[:2].tolist()
            ['dimension_0', 'dimension_1']
        """
        return np.array([f"dimension_{index}" for index in range(self.dimension)], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """List the parameters that scikit-learn may set, as in a grid search.

        Args:
            deep: Ignored: there are no estimators inside.

        Returns:
            `truncate_dim` and its value.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").get_params()
            {'truncate_dim': None}
        """
        return {"truncate_dim": self.truncate_dim}

    def set_params(self, **params: Any) -> Self:
        """Set parameters that `get_params` lists.

        Args:
            **params: `truncate_dim`, from 1 to the full dimension, or None.

        Returns:
            The encoder.

        Raises:
            ValueError: If there is no such parameter, or the value is out of its range.

        Example:
            >>> from sentence_distillery import load
            >>> load("released").set_params(truncate_dim=64).dimension
            64
        """
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"'{name}' is not a parameter; the parameters are {', '.join(self.get_params())}.")
            setattr(self, name, checked_dimension(value, self.full_dimension))
        return self

    def __sklearn_clone__(self) -> Self:
        return self._sharing_arrays()

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
    """Check a number of dimensions.

    Args:
        truncate_dim: The dimensions to keep, from 1 to `full`; None keeps all.
        full: The dimensions of the model, at least 1.

    Returns:
        The number, or None.

    Raises:
        ValueError: If it is neither None nor a number from 1 to `full`.

    Example:
        >>> checked_dimension(64, 256), checked_dimension(None, 256)
        (64, None)
        >>> checked_dimension(0, 256)
        Traceback (most recent call last):
        ValueError: truncate_dim is 0; this model has 256 dimensions. Give 1 to 256, or None for all.
    """
    if truncate_dim is None:
        return None
    if (
        isinstance(truncate_dim, bool)
        or not isinstance(truncate_dim, int | np.integer)
        or not 1 <= truncate_dim <= full
    ):
        raise ValueError(
            f"truncate_dim is {truncate_dim!r}; this model has {full} dimensions. Give 1 to {full}, or None for all."
        )
    return int(truncate_dim)


def _prompted(options: EncodeOptions, name: str) -> EncodeOptions:
    """Choose a prompt by name, unless a call has its own."""
    if options.get("prompt") is not None or options.get("prompt_name") is not None:
        return options
    return {**options, "prompt_name": name}


def _not_one(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise TypeError("This takes a list of texts, not one str; encode takes both.")
    return texts
