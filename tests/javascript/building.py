"""Build the JavaScript file, or skip the test with a word at the end if there is no compiler for WebAssembly."""

import subprocess
import sys
from pathlib import Path

import pytest

from javascript.build import FILE, PACKAGE, REMEDY, compiler
from tests.workspace import ROOT


def built() -> Path:
    """Return the file; `sentence_distillery/serving/page` has it, too."""
    if compiler() is None:
        pytest.skip(f"no compiler for WebAssembly: {REMEDY}")
    done = subprocess.run([sys.executable, str(ROOT / "javascript/build.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return PACKAGE / FILE
