"""Build the JavaScript file, or skip the test with a word at the end if there is no compiler for WebAssembly."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT


def built() -> Path:
    """Return the file; `sentence_distillery/serving/page` has it, too."""
    done = subprocess.run([sys.executable, str(ROOT / "javascript/build.py")], capture_output=True, text=True)
    if done.returncode:
        pytest.skip((done.stderr.strip().splitlines() or ["The JavaScript file cannot be built."])[-1])
    return ROOT / "build/javascript/sentence-distillery.js"
