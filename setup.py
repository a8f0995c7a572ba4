"""The native core, which is optional: without a compiler the encoder takes its simple path.

So is the encoder in JavaScript, which `explore --static` needs: a wheel has it if a compiler for WebAssembly was there.
"""

import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

SOURCES = "sentence_distillery/encoder/native"
NAMES = ("module", "text", "tokenizer_json", "vocabulary", "words", "vectors", "layers", "kernels", "sha256")
FLAGS = (
    ["/std:c11", "/O2"]
    if sys.platform == "win32"
    else ["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra"]
)

JAVASCRIPT = Path(__file__).parent / "javascript" / "build.py"


class BuildPython(build_py):
    """Builds the JavaScript file among the package's data first."""

    def run(self):
        if JAVASCRIPT.exists():  # not in a source distribution, which has the built file
            subprocess.run([sys.executable, str(JAVASCRIPT)], check=False)
        super().run()


setup(
    cmdclass={"build_py": BuildPython},
    ext_modules=[
        Extension(
            "sentence_distillery.encoder.native._core",
            [f"{SOURCES}/{name}.c" for name in NAMES],
            depends=[f"{SOURCES}/{name}.h" for name in ("core", "kernels", "unicode_tables")],
            extra_compile_args=FLAGS,
            libraries=[] if sys.platform == "win32" else ["m"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},  # one build for every Python from 3.11 on
)
