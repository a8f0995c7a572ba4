"""The JavaScript file in Node: similarity, prompts, and models that it refuses, each with one line that says why."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sentence_distillery import StaticEncoder, load
from tests.sentence_distillery.distillation.conftest import deep_encoder, paper_encoder, static_encoder
from tests.workspace import ROOT

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node: apt-get install nodejs")


def run(library: Path, code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a module with the library's exports; process.argv has the arguments from place 1 on."""
    script = f"import {{ load, similarity }} from {json.dumps(library.as_uri())};\n{code}"
    command = ["node", "--input-type=module", "--eval", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def answer(library: Path, code: str, *arguments: object) -> object:
    done = run(library, code, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def message(library: Path, directory: Path) -> str:
    """Return what the failure to load a directory says."""
    done = run(library, "await load(process.argv[1]).catch((error) => console.log(error.message));", directory)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_one_text_and_several(library: Path, tmp_path: Path) -> None:
    """A text is a vector, a list is a list; cosines of each pair; tokens as they are in the vocabulary."""
    static_encoder().save_pretrained(tmp_path / "model")
    code = """
    const encoder = await load(process.argv[1]);
    const [storm, port] = encoder.encode(["the storm", "the port"]);
    const same = encoder.encode("the storm");
    console.log(JSON.stringify([
      encoder.dimension, storm.length, encoder.encode([]), similarity(storm, same).toFixed(4),
      similarity([storm, port], [same, port]).map((row) => [...row].map((cosine) => cosine === 1 || cosine.toFixed(3))),
      encoder.tokens("The storm, the 𓀀"), similarity([0, 0], [1, 0]),
    ]));
    """
    encoder = load(tmp_path / "model")
    found = answer(library, code, tmp_path / "model")
    assert isinstance(found, list)
    storm, port = encoder.encode(["the storm", "the port"])
    dimension, length, none, same, rows, tokens, zero = found
    assert (dimension, length, none, same, zero) == (encoder.dimension, encoder.dimension, [], "1.0000", 0)
    assert abs(float(rows[0][1]) - float(storm @ port)) < 1e-3
    assert tokens == ["the", "storm", "the", "[UNK]"]


def test_wrong_arguments(library: Path, tmp_path: Path) -> None:
    static_encoder().save_pretrained(tmp_path / "model")
    code = """
    const said = [];
    const trying = async (act) => {
      try { await act(); } catch (error) { said.push(`${error.name}: ${error.message}`); }
    };
    const encoder = await load(process.argv[1]);
    await trying(() => encoder.encode(["a", 3]));
    await trying(() => similarity([1, 0], [1]));
    await trying(() => load(process.argv[1], { truncateDim: 0 }));
    await trying(() => load(process.argv[1], { lexicalWeight: 1 }));
    console.log(JSON.stringify(said));
    """
    dimension = static_encoder().dimension
    assert answer(library, code, tmp_path / "model") == [
        "TypeError: texts[1] is number, not a string.",
        "RangeError: The vectors have 2 and 1 numbers; encode both by one encoder.",
        f"RangeError: truncateDim is 0; it is a whole number from 1 to {dimension}.",
        "RangeError: lexicalWeight is 1, but this model has no lexical channel: leave it out.",
    ]


def test_the_default_prompt(library: Path, tmp_path: Path) -> None:
    """The prompt of config_sentence_transformers.json is put before each text, unless another one is given."""
    static_encoder().save_pretrained(tmp_path / "model")
    settings = tmp_path / "model" / "config_sentence_transformers.json"
    content = json.loads(settings.read_text("utf-8"))
    content |= {"prompts": {"query": "storm "}, "default_prompt_name": "query"}
    settings.write_text(json.dumps(content), encoding="utf-8")
    code = """
    const encoder = await load(process.argv[1]);
    const [one, other] = [encoder.encode("the"), encoder.encode("storm the", { prompt: "" })];
    console.log(JSON.stringify(similarity(one, other).toFixed(5)));
    """
    assert answer(library, code, tmp_path / "model") == "1.00000"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (deep_encoder, 'kind is "deep", which has layers'),
        (paper_encoder, 'kind is "paper", which has layers'),
    ],
)
def test_layers_are_refused(library: Path, tmp_path: Path, make: Callable[[], StaticEncoder], reason: str) -> None:
    make().save_pretrained(tmp_path / "model")
    assert reason in message(library, tmp_path / "model")


def test_damage_is_refused(library: Path, tmp_path: Path) -> None:
    """A byte of the weights, a file that is missing, JSON that is none, a normalizer that is another one."""
    model = tmp_path / "model"
    static_encoder().save_pretrained(model)
    assert "config.json cannot be read: it does not exist" in message(library, tmp_path)
    weights = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert "model.safetensors is not the file that config.json describes" in message(library, model)
    (model / "model.safetensors").write_bytes(weights)
    tokenizer = json.loads((model / "tokenizer.json").read_text("utf-8"))
    tokenizer["normalizer"]["normalizers"][-1]["lowercase"] = False
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert "its normalizer is not BERT's in lower case, without accents" in message(library, model)
    (model / "tokenizer.json").write_text("null", encoding="utf-8")
    assert "it is not the tokenizer of a static model" in message(library, model)
    (model / "tokenizer.json").write_text("{", encoding="utf-8")
    assert "tokenizer.json is not JSON" in message(library, model)


@pytest.mark.parametrize("size", [0, 7, 8, 40, 200])
def test_cut_weights_are_refused(library: Path, tmp_path: Path, size: int) -> None:
    """Also if config.json has no digest that tells."""
    model = tmp_path / "model"
    static_encoder().save_pretrained(model)
    config = json.loads((model / "config.json").read_text("utf-8"))
    del config["weights_sha256"]
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:size])
    assert "model.safetensors: it " in message(library, model) or "model.safetensors is not JSON" in message(
        library, model
    )


def test_any_header_is_refused(library: Path, tmp_path: Path) -> None:
    """Headers of safetensors that point outside the file, or have other shapes and types, each with one line."""
    model = tmp_path / "model"
    static_encoder().save_pretrained(model)
    config = json.loads((model / "config.json").read_text("utf-8"))
    del config["weights_sha256"]
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    content = (model / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    table = header["embeddings"]
    changes = (
        {"shape": [2**31, 2**31]},
        {"shape": [1.5, 2]},
        {"shape": [-1, -1]},
        {"shape": [0, 4], "data_offsets": [0, 0]},
        {"data_offsets": [0, 2**40]},
        {"data_offsets": [-4, 0]},
        {"data_offsets": ["0", "9"]},
        {"dtype": "I64"},
        {"dtype": "__proto__"},
    )
    for change in changes:
        changed = json.dumps({**header, "embeddings": {**table, **change}}).encode()
        (model / "model.safetensors").write_bytes(len(changed).to_bytes(8, "little") + changed + data)
        assert 'it has no tensor "embeddings"' in message(library, model), change


def test_the_version_is_that_of_the_python_package(library: Path) -> None:
    """The package for npm has all of its files."""
    package = json.loads((library.parent / "package.json").read_text("utf-8"))
    assert package["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert all((library.parent / name).exists() for name in package["files"])
