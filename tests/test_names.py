"""The public names without the packages of an extra: whatever walks through them goes on, and a user is told why."""

import subprocess
import sys

CODE = """
import copy, inspect, pydoc, rlcompleter, sys, unittest.mock
for absent in ("pyarrow", "pydantic", "torch", "transformers"):
    sys.modules[absent] = None
import sentence_distillery as library
members = dict(inspect.getmembers(library))
assert "load" in members and "distill" not in members
absent = [name for name in dir(library) if not hasattr(library, name)]
assert getattr(library, "distill", None) is None
assert "encode" in pydoc.render_doc(library.load) and "sentence_distillery" in pydoc.render_doc(library)
assert rlcompleter.Completer({"library": library}).complete("library.loa", 0) == "library.load("
assert rlcompleter.Completer({"library": library}).complete("library.distil", 0) == "library.distill"
for name in [*absent, "distil"]:
    try:
        getattr(library, name)
    except AttributeError as error:
        print(error)
try:
    from sentence_distillery import distill
except ImportError as error:
    print(error)
"""
EXTRAS = {
    "BenchmarkData": "evaluate",
    "DocumentSet": "evaluate",
    "PairSet": "evaluate",
    "QuerySet": "evaluate",
    "distill": "distill",
    "evaluate": "evaluate",
    "evaluate_on_texts": "distill",
    "fit_to_size": "distill",
    "texts_to_embed": "distill",
}


def test_names_whose_packages_are_absent() -> None:
    """regression: `hasattr(sentence_distillery, "distill")` raised an ImportError."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *messages, unknown, imported = done.stdout.splitlines()
    for (name, extra), message in zip(EXTRAS.items(), messages, strict=True):
        assert message.startswith(f"sentence_distillery.{name} needs ")
        assert message.endswith(f"; run `pip install 'sentence-distillery[{extra}]'`.")
    assert imported == messages[list(EXTRAS).index("distill")]
    assert unknown == "module 'sentence_distillery' has no attribute 'distil'"
