"""The native core, which is optional: without a compiler the encoder takes its simple path."""

import sys

from setuptools import Extension, setup

SOURCES = "sentence_distillery/encoder/native"
FLAGS = (
    ["/std:c11", "/O2"]
    if sys.platform == "win32"
    else ["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra"]
)

setup(
    ext_modules=[
        Extension(
            "sentence_distillery.encoder.native._core",
            [f"{SOURCES}/{name}.c" for name in ("module", "text", "vocabulary", "vectors", "kernels")],
            depends=[f"{SOURCES}/{name}.h" for name in ("core", "kernels", "unicode_tables")],
            extra_compile_args=FLAGS,
            libraries=[] if sys.platform == "win32" else ["m"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},  # one build for every Python from 3.11 on
)
