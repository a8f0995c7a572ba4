"""A static student as ONNX, which onnxruntime and transformers.js run.

    input_ids, attention_mask (batch, tokens) -> last_hidden_state (batch, tokens, dimension)
                                                 sentence_embedding (batch, dimension), unit length

    onnx/model.onnx         the table as it is stored, and the layers after the sum
    tokenizer.json          the student's own, so that JavaScript cuts as we do; tokenizer_config.json pads with the
                            unknown token, whose vector is zero
    config.json             where the model comes from, and which file transformers.js takes

`last_hidden_state` has the token vectors. Their mean over a text, at unit length, is its embedding, and that is what
transformers.js computes with `pooling: "mean", normalize: true`. A student with an MLP head transforms the sum, which
no pooling does. So each position has the embedding of the whole text there, and the mean is the same.

The same encoder gives the same bytes, whichever version of the `onnx` package writes them.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.native.characters import replacement
from sentence_distillery.encoder.native.vocabulary import terms_of
from sentence_distillery.encoder.persistence.names import CONFIG, TOKENIZER
from sentence_distillery.encoder.tokenizer import SPLITTER, UNKNOWN, is_emoji
from sentence_distillery.io.artifacts import InputError, atomic_directory, refuse_all_but, write_json

if TYPE_CHECKING:  # `onnx` is an extra package
    from collections.abc import Iterable

    from onnx import GraphProto, NodeProto

    from sentence_distillery.encoder.static_encoder import StaticEncoder

MODEL: Final = "onnx/model.onnx"  # where transformers.js looks for it
TOKENIZER_CONFIG: Final = "tokenizer_config.json"
OPSET: Final = 17  # of 2022, which every onnxruntime since 1.12 has
FORMAT: Final = 8  # ONNX's version of the file format for it
LARGEST: Final = 2**31 - 2**20  # bytes; a protobuf file holds less than 2 GiB
SMALLEST: Final = 1e-30  # a length below it is zero; no sum of a student's vectors is so short

# Ideographs that `tokenizers` sets apart; JavaScript's normalizer overlooks those of two units of UTF-16.
IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# JavaScript's NFKC changes these, which the Unicode of `tokenizers` does not have; STRANGE is in no vocabulary either.
NOT_YET: Final = (
    (0x32FF, 0x32FF),
    (0xA7F2, 0xA7F4),
    (0xAB69, 0xAB69),
    (0x10781, 0x10785),
    (0x10787, 0x107B0),
    (0x107B2, 0x107BA),
    (0x1F16C, 0x1F16C),
    (0x1FBF0, 0x1FBF9),
)
STRANGE: Final = "ꙮ"
_LETTER: Final = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"  # characters that may not be next to a term
PLANES: Final = (0x21, 0x20000)  # all punctuation

_SPECIAL_TOKENS: Final = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "unk_token": UNKNOWN,
    "pad_token": UNKNOWN,  # row 0, the zero vector: padding changes no sum
    "clean_up_tokenization_spaces": False,
}
_OF_A_MODEL = frozenset({CONFIG, TOKENIZER, TOKENIZER_CONFIG, "onnx", "README.md"})


def write_onnx(encoder: "StaticEncoder", directory: Path) -> None:
    """Write an encoder with its tokenizer, to a new or empty directory or in place of such a model, all or nothing.

    Raises InputError if the student is of kind paper or has a lexical channel, its table is too large for one file, or
    the directory holds anything else or cannot be written; ModuleNotFoundError if the package `onnx` is not installed.
    """
    _refuse(encoder, directory)
    content = onnx_bytes(encoder)
    with atomic_directory(directory) as partial:
        (partial / MODEL).parent.mkdir()
        (partial / MODEL).write_bytes(content)
        (partial / TOKENIZER).write_text(_tokenizer(encoder), encoding="utf-8")
        write_json(partial / TOKENIZER_CONFIG, _SPECIAL_TOKENS)
        write_json(partial / CONFIG, _config(encoder))


def _refuse(encoder: "StaticEncoder", directory: Path) -> None:
    # What a graph of ONNX, or the tokenizer beside it, cannot express
    if encoder.linear is not None:
        raise InputError(
            "A student of kind paper cannot be written as ONNX: its tokenizer has regular expressions that "
            "JavaScript lacks. Write a student of kind static or deep."
        )
    if encoder.rules is not None:
        raise InputError(
            "A model of another library whose tokenizer is not like this library's own cannot be written as ONNX; "
            "export it with the library that made it."
        )
    if encoder.kind == "lexical" and encoder.dimension > encoder.token_dimension:
        raise InputError(
            "A lexical channel cannot be written as ONNX, since it counts how often a word occurs. To write the "
            f"{encoder.token_dimension} dimensions before it, load the model in Python with load(directory, "
            "lexical_weight=0), and call save_onnx."
        )

    # A file of protobuf is below 2 GiB.
    if encoder.stored.nbytes > LARGEST:
        raise InputError(
            f"The table has {encoder.stored.nbytes / 1e9:.1f} GB, and an ONNX file holds less than 2.1; compress the "
            "student first, to fewer dimensions or bits."
        )
    refuse_all_but(directory, lambda entry: entry.name in _OF_A_MODEL, "an ONNX model")


def _tokenizer(encoder: "StaticEncoder") -> str:
    """Return a tokenizer.json that cuts in JavaScript as the encoder's own does in Rust.

    JavaScript has a later Unicode, with more punctuation. So the file lists the characters that stand apart, and no
    step asks for their category. Its lower case of a sigma depends on the place in the word. And it finds added tokens
    within words, so that terms are cut by a regular expression here.
    """
    content = json.loads(encoder.tokenizer.to_str())
    terms = terms_of(content)
    content["added_tokens"] = []
    content["normalizer"] = _normalizer(content)
    marks = _split("|".join([*_term_patterns(terms), _any_of(_marks())]), "Isolated")
    steps = [_split(r"\s+", "Removed"), _split(_any_of(IDEOGRAPHS), "Isolated"), marks]
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    return json.dumps(content, ensure_ascii=False)


def _normalizer(content: dict[str, Any]) -> dict[str, object]:
    """Return the normalizer of a tokenizer with the steps that JavaScript needs."""
    own = content["normalizer"]
    *earlier, bert = own["normalizers"] if own["type"] == "Sequence" else [own]
    known = set().union(*content["model"]["vocab"])
    later = [(code, code) for first, last in NOT_YET for code in range(first, last + 1) if chr(code) not in known]
    if earlier:  # they include NFKC
        earlier = [replacement({"Regex": _any_of(later)}, STRANGE), *earlier]
    return {"type": "Sequence", "normalizers": [*earlier, replacement({"String": "Σ"}, "σ"), bert]}


def _term_patterns(terms: list[str]) -> list[str]:
    """Return regular expressions for the terms, the longest first; only emoji may be next to letters."""
    signed = sorted((term for term in terms if not is_emoji(term)), key=lambda term: (-len(term), term))
    patterns = [f"(?<!{_LETTER})(?:{'|'.join(map(_literal, signed))})(?!{_LETTER})"] if signed else []
    return [*patterns, *(term for term in terms if is_emoji(term))]


def _literal(term: str) -> str:
    return re.sub(r"[.+]", r"\\\g<0>", term)  # a term's only characters that mean something else


def _split(pattern: str, behavior: str) -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def _any_of(ranges: "Iterable[tuple[int, int]]") -> str:
    """Return a regular expression for one character of these ranges, both ends included."""
    return f"[{''.join(f'{_escaped(first)}-{_escaped(last)}' for first, last in ranges)}]"


def _escaped(code: int) -> str:
    return f"\\{chr(code)}" if chr(code) in "\\[]^-" else chr(code)


@cache
def _marks() -> tuple[tuple[int, int], ...]:
    """Return the ranges of characters that the splitter of `tokenizers` sets apart."""
    listed = " ".join(f"a{chr(code)}a" for code in range(*PLANES) if not 0xD800 <= code < 0xE000)
    codes = sorted(ord(part) for part, _ in SPLITTER.pre_tokenize_str(listed) if len(part) == 1 and part != "a")
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    return tuple(zip(starts, ends, strict=True))


def _config(encoder: "StaticEncoder") -> dict[str, object]:
    return {
        "model_type": "sentence-distillery",
        "kind": encoder.kind,
        "hidden_size": encoder.dimension,
        "vocab_size": len(encoder.stored),
        "embedding_dtype": encoder.stored.dtype.name,
        "pad_token_id": 0,
        "transformers.js_config": {"dtype": "fp32"},  # the one file, which its default in browsers is not
        **encoder.model.origin,
    }


def onnx_bytes(encoder: "StaticEncoder") -> bytes:
    """Return the ONNX file of an encoder of kind static or deep, the same for the same encoder."""
    from onnx import ModelProto, OperatorSetIdProto

    model = ModelProto(
        ir_version=FORMAT,
        producer_name="sentence-distillery",
        graph=_graph(encoder),
        opset_import=[OperatorSetIdProto(domain="", version=OPSET)],
    )
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _graph(encoder: "StaticEncoder") -> "GraphProto":
    from onnx import TensorProto, helper, numpy_helper

    # A hidden layer needs all dimensions of the sum; there the cut comes after it.
    cut = None if encoder.kind == "deep" else encoder.truncate_dim
    table = encoder.stored if cut is None else encoder.stored[:, :cut]
    constants: dict[str, NDArray[Any]] = {
        "table": table,
        "last_axis": np.array([2], np.int64),
        "tokens_axis": np.array([1], np.int64),
        "smallest": np.array(SMALLEST, np.float32),
    }
    nodes = _sum_nodes()
    if encoder.kind == "deep":
        constants |= _layers(encoder)
        nodes += _deep_nodes(encoder.truncate_dim is not None)
    nodes += _unit_nodes("deepened" if encoder.kind == "deep" else "sum", spread=encoder.kind == "deep")

    # Inputs and outputs have the names that transformers.js and onnxruntime look for.
    names = ("input_ids", "attention_mask")
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    width = encoder.dimension
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", width]),
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", width]),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_graph(nodes, "static_student", ids, outputs, tensors)


def _node(kind: str, inputs: str, output: str, **attributes: Any) -> "NodeProto":
    from onnx import helper

    return helper.make_node(kind, inputs.split(), [output], name=output, **attributes)


def _sum_nodes() -> "list[NodeProto]":
    """Gather the token vectors and add up those that are not padding."""
    from onnx import TensorProto

    return [
        _node("Gather", "table input_ids", "rows"),
        _node("Cast", "rows", "vectors", to=TensorProto.FLOAT),
        _node("Cast", "attention_mask", "mask", to=TensorProto.FLOAT),
        _node("Unsqueeze", "mask last_axis", "factors"),
        _node("Mul", "vectors factors", "kept"),
        _node("ReduceSum", "kept tokens_axis", "sum", keepdims=0),
    ]


def _layers(encoder: "StaticEncoder") -> dict[str, NDArray[Any]]:
    assert encoder.hidden is not None
    widen, narrow = encoder.hidden
    start, end = np.array([[0], [encoder.dimension]], np.int64)
    return {"widen": widen, "narrow": narrow, "start": start, "end": end}


def _deep_nodes(cut: bool) -> "list[NodeProto]":
    """Compute s + relu(s A) B, and keep the first dimensions if the encoder is cut."""
    whole = "whole" if cut else "deepened"
    nodes = [
        _node("MatMul", "sum widen", "widened"),
        _node("Relu", "widened", "active"),
        _node("MatMul", "active narrow", "narrowed"),
        _node("Add", "sum narrowed", whole),
    ]
    return [*nodes, _node("Slice", "whole start end tokens_axis", "deepened")] if cut else nodes


def _unit_nodes(vectors: str, spread: bool) -> "list[NodeProto]":
    """Bring rows to unit length, zero rows left as they are, and give `last_hidden_state`."""
    nodes = [
        _node("ReduceL2", vectors, "length", axes=[1], keepdims=1),
        _node("Max", "length smallest", "divisor"),
        _node("Div", f"{vectors} divisor", "sentence_embedding"),
    ]

    # Where a layer follows, each token gets the vector of its text, so that their mean is this vector.
    if not spread:
        return [*nodes, _node("Identity", "vectors", "last_hidden_state")]
    return [
        *nodes,
        _node("Unsqueeze", "sentence_embedding tokens_axis", "at_each_token"),
        _node("Mul", "at_each_token factors", "last_hidden_state"),
    ]
