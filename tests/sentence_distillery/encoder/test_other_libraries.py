"""Models that sentence-transformers or model2vec made, of every kind of tokenizer: their own vectors, or one line.

Each model is made and saved by its own library, and encodes the same texts there. A library that is not installed skips
its models, by name.
"""

import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from sentence_distillery import InputError, StaticEncoder, load
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.exchange.text_rules import TextRules, unknown_id
from sentence_distillery.encoder.persistence.names import CONFIG, MODULES, SETTINGS, TOKENIZER, WEIGHTS
from sentence_distillery.io.artifacts import read_tensors, write_json, write_tensors
from sentence_distillery.io.ragged import Floats

both_ways = pytest.mark.usefixtures("both_ways")  # native and simple

TEXTS = [
    "The storm closed the port.",
    "A gale, shut the harbour: C++ is not C#!",
    "storm " * 40 + "at last, the PORT of Dover re-opened...",
    "Ünïcode café naïve Straße ﬁrm ½ 港が閉鎖 😀👍🏽 \u200b zero-width",
    "  leading\ttabs\nand lines ",
    "x",
    "",
    "[PAD] [UNK] <s> the [CLS]",
    "supercalifragilisticexpialidocious" * 6,
    "don't e-mail me@example.com 3.14 #tag snake_case camelCase",
]
CORPUS = [*TEXTS, "the port of the storm", "ships wait for the gale to pass", "naïve cafés"] * 3
DIMENSION = 16


def _trained(tokenizer: Tokenizer, trainer: Any) -> Tokenizer:
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def bert(lowercase: bool = True, special: tuple[str, ...] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")) -> Tokenizer:
    """As Google's: punctuation and special tokens in the vocabulary, and tokens put around each text."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained = _trained(
        tokenizer, trainers.WordPieceTrainer(vocab_size=150, special_tokens=[*special], show_progress=False)
    )
    if "[CLS]" in special:
        ids = [(token, trained.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
        trained.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ids)
    return trained


def byte_level(**options: Any) -> Tokenizer:
    """As GPT-2's: no unknown token."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    return _trained(tokenizer, trainer)


def unigram() -> Tokenizer:
    """As SentencePiece's: spaces are letters, and the unknown token has an id alone."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    return _trained(tokenizer, trainer)


def word_level() -> Tokenizer:
    """Whole words of letters, accents off, with an added token of several words."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Prepend("x ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(True)]
    )
    trainer = trainers.WordLevelTrainer(vocab_size=60, special_tokens=["a", "<unk>"], show_progress=False)
    tokenizer = _trained(tokenizer, trainer)
    tokenizer.add_tokens([AddedToken("closed the", single_word=True, normalized=True)])
    return tokenizer


def padded_and_cut() -> Tokenizer:
    tokenizer = bert()
    tokenizer.enable_padding(length=64, pad_id=0)
    tokenizer.enable_truncation(4, stride=1, direction="left")
    return tokenizer


def plain() -> Tokenizer:
    """Like this library's own, with punctuation in the vocabulary."""
    words = ["[UNK]", "the", "port", "storm", "##s", "closed", ".", ",", "c", "+", "na", "##ive"]
    tokenizer = Tokenizer(models.WordPiece({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def as_here() -> Tokenizer:
    """Like this library's own."""
    tokenizer = plain()
    words = ["[UNK]", "the", "port", "storm", "##s", "closed", "na", "##ive"]
    tokenizer.model = models.WordPiece({word: place for place, word in enumerate(words)}, unk_token="[UNK]")
    return tokenizer


def table(tokenizer: Tokenizer, more: int = 0, dimension: int = DIMENSION) -> Floats:
    """A vector for each token, the unknown one, too, and for some ids that no token has."""
    rows = max(tokenizer.get_vocab().values()) + 1 + more
    return np.random.default_rng(3).normal(size=(rows, dimension)).astype(np.float32)


@dataclass(frozen=True)
class Foreign:
    """How to make a model in another library."""

    tokenizer: Callable[[], Tokenizer]
    options: dict[str, Any] = field(default_factory=dict)
    more: int = 0
    zero: bool = False  # the unknown token's vector


MODEL2VEC = {
    "bert": Foreign(bert),
    "cased": Foreign(lambda: bert(lowercase=False), {"normalize": True}),
    "byte-level": Foreign(byte_level, {"max_length": 5}),
    "unigram": Foreign(unigram, {"max_length": None, "normalize": True}),
    "word-level": Foreign(word_level, {"normalize": True}),
    "padded": Foreign(padded_and_cut),
    "plain": Foreign(plain, {"max_length": None}),
    "as here": Foreign(as_here, {"max_length": None}),
    "as here, cut": Foreign(as_here, {"max_length": 3}),
    "quantised": Foreign(bert, {"vocabulary_quantization": 20}),
    "weights": Foreign(bert, {"weights": True}),
    "int8": Foreign(bert, {"quantize_to": "int8"}),
    "dimensions": Foreign(unigram, {"dimensionality": 5, "normalize": True}),
}
SENTENCE_TRANSFORMERS = {
    "bert": Foreign(bert),
    "cased": Foreign(lambda: bert(lowercase=False)),
    "byte-level": Foreign(byte_level, more=7),
    "fused bytes": Foreign(lambda: byte_level(fuse_unk=True, unk_token=None), {"normalize": True}),
    "unigram": Foreign(unigram, {"normalize": True}),
    "word-level": Foreign(word_level),
    "padded": Foreign(padded_and_cut),
    "plain": Foreign(plain),
    "plain, zero": Foreign(plain, zero=True),
    "as here": Foreign(as_here),
    "as here, zero": Foreign(as_here, zero=True),
    "default prompt": Foreign(as_here, {"prompts": {"find": "the port: "}, "default_prompt_name": "find"}, zero=True),
    "prompts": Foreign(unigram, {"prompts": {"query": "find ", "document": "text: ", "other": "x"}}),
    "dimensions": Foreign(bert, {"truncate_dim": 5}),
    "dense": Foreign(bert, {"dense": 6}),
    "dense, normalised": Foreign(as_here, {"dense": 6, "normalize": True}, zero=True),
}


def by_model2vec(foreign: Foreign, directory: Path) -> Any:
    """Save a model, and load it there."""
    model2vec = pytest.importorskip("model2vec")
    options = dict(foreign.options)
    made = {
        name: options.pop(name)
        for name in ("quantize_to", "vocabulary_quantization", "dimensionality")
        if name in options
    }
    tokenizer = foreign.tokenizer()
    vectors = table(tokenizer)
    if options.pop("weights", False):
        options["weights"] = np.random.default_rng(4).uniform(0.1, 2, len(vectors)).astype(np.float32)
    model = model2vec.StaticModel(vectors, tokenizer, {"normalize": False}, **options)
    if made:
        from model2vec.model import quantize_model

        model = quantize_model(model, **made)
    model.save_pretrained(directory)
    return model2vec.StaticModel.from_pretrained(directory)


def by_sentence_transformers(foreign: Foreign, directory: Path) -> Any:
    """Save a model, and load it there."""
    library = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    import torch
    from sentence_transformers.base.modules import Dense

    options = dict(foreign.options)
    tokenizer = foreign.tokenizer()
    vectors = table(tokenizer, foreign.more)
    if foreign.zero:
        vectors[0] = 0
    layers: list[Any] = [modules.StaticEmbedding(tokenizer, embedding_weights=vectors)]
    if width := options.pop("dense", None):
        torch.manual_seed(0)
        layers.append(Dense(DIMENSION, width, activation_function=torch.nn.Identity()))
    if options.pop("normalize", False):
        layers.append(modules.Normalize())
    library.SentenceTransformer(modules=layers, device="cpu", **options).save_pretrained(str(directory))
    return library.SentenceTransformer(str(directory), device="cpu")


def unit(vectors: NDArray[Any]) -> Floats:
    found = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.where(lengths > 0, lengths, 1), np.float32)


@both_ways
@pytest.mark.parametrize("name", MODEL2VEC)
def test_a_model_of_model2vec(name: str, tmp_path: Path) -> None:
    theirs = by_model2vec(MODEL2VEC[name], tmp_path / "m")
    ours = load(tmp_path / "m")
    np.testing.assert_allclose(ours.encode(TEXTS), unit(theirs.encode(TEXTS, normalize=False)), atol=1e-6)
    means = theirs.encode(TEXTS, normalize=False)
    scale = max(1.0, float(np.abs(means).max()))
    np.testing.assert_allclose(ours.encode(TEXTS, normalize_embeddings=False), means, atol=1e-6 * scale)
    for length in (1, 7):
        cut = unit(theirs.encode(TEXTS, normalize=False, max_length=length))
        np.testing.assert_allclose(ours.encode(TEXTS, max_length=length), cut, atol=1e-6)
    for most in (None, 3):
        rows = theirs.encode_as_sequence(TEXTS, max_length=most)
        for own, other in zip(ours.encode_as_sequence(TEXTS, max_length=most), rows, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-6 * scale)
    _goes_on(ours, tmp_path)
    again = type(theirs).from_pretrained(tmp_path / "again").encode(TEXTS, normalize=True)
    np.testing.assert_allclose(again, ours.encode(TEXTS), atol=1e-6)


@both_ways
@pytest.mark.parametrize("name", SENTENCE_TRANSFORMERS)
def test_a_model_of_sentence_transformers(name: str, tmp_path: Path) -> None:
    theirs = by_sentence_transformers(SENTENCE_TRANSFORMERS[name], tmp_path / "m")
    ours = load(tmp_path / "m")
    assert ours.prompts == theirs.prompts and ours.default_prompt_name == theirs.default_prompt_name
    for method in ("encode", "encode_query", "encode_document"):
        expected = getattr(theirs, method)(TEXTS, normalize_embeddings=True)
        np.testing.assert_allclose(getattr(ours, method)(TEXTS), expected, atol=1e-6)
    expected = theirs.encode(TEXTS, prompt="the storm: ", normalize_embeddings=True)
    np.testing.assert_allclose(ours.encode(TEXTS, prompt="the storm: "), expected, atol=1e-6)
    if "normalize" not in SENTENCE_TRANSFORMERS[name].options and ours.rules is not None:
        means = ours.encode(TEXTS, normalize_embeddings=False)
        np.testing.assert_allclose(means, theirs.encode(TEXTS), atol=1e-6)
    _goes_on(ours, tmp_path)
    again = type(theirs)(str(tmp_path / "again"), device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(again, ours.encode(TEXTS), atol=1e-6)


def _goes_on(ours: StaticEncoder, tmp_path: Path) -> None:
    """A copy of any kind has the same vectors; `compress` keeps them but for the rounding."""
    expected = ours.encode(TEXTS)
    ours.save_pretrained(tmp_path / "again")
    again = load(tmp_path / "again")
    assert again.rules == ours.rules and again.prompts == ours.prompts
    for copy in (again, pickle.loads(pickle.dumps(ours)), ours.__sklearn_clone__()):
        np.testing.assert_array_equal(copy.encode(TEXTS), expected)
    alone = np.stack([ours.encode(text) for text in TEXTS])
    np.testing.assert_allclose(alone, expected, atol=1e-6 if ours.linear else 0)
    if ours.linear is None:
        whole = compress(ours, precision="float32")
        np.testing.assert_allclose(whole.encode(TEXTS), expected, atol=1e-6)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("made")
    by_sentence_transformers(Foreign(bert, {"dense": 6, "normalize": True}), directory / "st")
    by_model2vec(MODEL2VEC["bert"], directory / "m2v")
    return directory


@pytest.fixture
def saved(made: Path, tmp_path: Path) -> Path:
    """A model of each library, to be changed."""
    return shutil.copytree(made, tmp_path / "saved")


def changed(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, content | changes)


def _model(**changes: Any) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        content = json.loads((directory / TOKENIZER).read_text(encoding="utf-8"))
        changed(directory / TOKENIZER, model=content["model"] | changes)

    return change


def _normalised_first(directory: Path) -> None:
    first, second, third = json.loads((directory / MODULES).read_text(encoding="utf-8"))
    write_json(directory / MODULES, [first, third, second])


def _another_class(directory: Path) -> None:
    rows = json.loads((directory / MODULES).read_text(encoding="utf-8"))
    write_json(directory / MODULES, [rows[0] | {"type": "my_code.StaticEmbedding"}, *rows[1:]])


def _fewer_rows(directory: Path) -> None:
    vectors = read_tensors(directory / WEIGHTS, {"embedding.weight": (None, None)})["embedding.weight"]
    write_tensors(directory / WEIGHTS, {"embedding.weight": vectors[:-1]})


def _doubles(directory: Path) -> None:
    vectors = read_tensors(directory / WEIGHTS, {"embedding.weight": (None, None)})["embedding.weight"]
    write_tensors(directory / WEIGHTS, {"embedding.weight": vectors.astype(np.float64)})


IGNORED = "which sentence-transformers applies, and model2vec, which saved the model"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_normalised_first, r"modules\.json has the modules StaticEmbedding, Normalize, Dense in an order"),
        (_another_class, r"is not a static model but one of my_code\.StaticEmbedding, Dense, Normalize"),
        (_fewer_rows, r"model\.safetensors has \d+ token vectors, and the tokenizer ids up to \d+"),
        (_doubles, r"model\.safetensors: tensor 'embedding\.weight' is F64, expected F32"),
        (_model(unk_token="[NONE]"), r"tokenizer\.json: the unk_token of its model, '\[NONE\]', has no id"),
        (_model(vocab={}), r"tokenizer\.json: the unk_token of its model, '\[UNK\]', has no id in its vocabulary"),
        (
            _model(type="BPE", merges=[], dropout=0.3),
            r"tokenizer\.json: the dropout of its model is 0\.3, so",
        ),
        (lambda d: changed(d / "1_Dense" / CONFIG, activation_function="torch.nn.modules.activation.Tanh"), "is Tanh"),
        (lambda d: changed(d / "1_Dense" / CONFIG, use_residual=True), r"1_Dense/config\.json: use_residual is True"),
        (lambda d: changed(d / "1_Dense" / CONFIG, bias=False), r"1_Dense/config\.json: bias is False"),
        (lambda d: changed(d / "1_Dense" / CONFIG, module_input_name="token_embeddings"), "module_input_name is"),
        (lambda d: changed(d / "2_Normalize" / CONFIG, module_input_name="token_embeddings"), "module_input_name is"),
        (lambda d: changed(d / SETTINGS, similarity_fn_name="dot"), "similarity_fn_name is 'dot'"),
        (lambda d: changed(d / SETTINGS, model_type="SparseEncoder"), "model_type is 'SparseEncoder'"),
        (lambda d: changed(d / SETTINGS, default_prompt_name="none"), "default_prompt_name is 'none'; prompts has"),
        (lambda d: changed(d / SETTINGS, prompts={"query": 3}), "prompts is {'query': 3}"),
    ],
)
def test_what_is_not_computed_is_refused(saved: Path, change: Callable[[Path], None], message: str) -> None:
    """In one line, with the file and the entry."""
    load(saved / "st")
    change(saved / "st")
    with pytest.raises(InputError, match=message) as refused:
        load(saved / "st")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (SETTINGS, {"prompts": {"query": "find: "}, "default_prompt_name": "query"}, IGNORED),
        (SETTINGS, {"prompts": {"query": "find: "}, "truncate_dim": 4}, IGNORED),
        *((CONFIG, {"max_length": length}, r"config\.json: max_length is") for length in (0, True, "9", 1.5)),
    ],
)
def test_what_model2vec_would_not_have_saved(saved: Path, file: str, content: dict[str, Any], message: str) -> None:
    path = saved / "m2v" / file
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, before | content)
    with pytest.raises(InputError, match=message):
        load(saved / "m2v")


@both_ways
def test_prompts_of_ones_own(tmp_path: Path) -> None:
    by_sentence_transformers(SENTENCE_TRANSFORMERS["prompts"], tmp_path / "m")
    model = load(tmp_path / "m")
    expected = model.encode(["xstorm"])
    np.testing.assert_array_equal(model.encode(["storm"], prompt_name="other"), expected)
    np.testing.assert_array_equal(next(model.encode_stream(["storm"], prompt="x")), expected)
    np.testing.assert_array_equal(model.encode_query(["storm"], prompt="x"), expected)
    with pytest.raises(ValueError, match="prompt_name is 'no'; this model has 'query', 'document', 'other'"):
        model.encode(["storm"], prompt_name="no")
    with pytest.raises(ValueError, match="prompt 'x' and prompt_name 'other' are given; give one"):
        model.encode(["storm"], prompt="x", prompt_name="other")


def test_the_unknown_token_of_any_tokenizer() -> None:
    """WordPiece and BPE name it, Unigram numbers it; a table without one has none."""
    words = {"storm": 0, "[UNK]": 1}
    assert unknown_id(Tokenizer(models.WordPiece(words, unk_token="[UNK]"))) == 1
    assert unknown_id(Tokenizer(models.BPE(words, []))) is None
    assert unknown_id(Tokenizer(models.Unigram([("storm", -1.0), ("port", -2.0), ("<unk>", -3.0)], unk_id=2))) == 2
    none = Tokenizer(models.Unigram([("storm", -1.0)]))
    assert unknown_id(none) is None
    with pytest.raises(InputError, match=r"cannot cut these texts: .*`unk_id` is missing\. Give its model an unknown"):
        TextRules().token_ids(none, ["port"], 0)
