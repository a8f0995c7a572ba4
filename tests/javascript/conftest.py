"""The built JavaScript file; skipped, with a word at the end, if there is no compiler for WebAssembly."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "javascript" / "sentence-distillery.js"


@pytest.fixture(scope="session")
def library() -> Path:
    done = subprocess.run([sys.executable, ROOT / "javascript" / "build.py"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip((done.stderr.strip().splitlines() or ["The JavaScript file cannot be built."])[-1])
    return BUILT
