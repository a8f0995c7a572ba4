"""The public names without the packages of an extra: whatever walks through them goes on, and a user is told why."""

import subprocess
import sys

CODE = """
import copy, inspect, pydoc, rlcompleter, sys, unittest.mock
for absent in ("pydantic", "torch", "transformers"):
    sys.modules[absent] = None
import sentence_distillery as library
members = dict(inspect.getmembers(library))
assert "load" in members and "distill" not in members
absent = [name for name in dir(library) if not hasattr(library, name)]
assert absent == ["distill", "evaluate_on_texts", "fit_to_size", "texts_to_embed"], absent
assert getattr(library, "distill", None) is None
assert "encode" in pydoc.render_doc(library.load) and "sentence_distillery" in pydoc.render_doc(library)
assert rlcompleter.Completer({"library": library}).complete("library.loa", 0) == "library.load("
assert rlcompleter.Completer({"library": library}).complete("library.distil", 0) == "library.distill"
try:
    library.distill
except AttributeError as error:
    print(error)
try:
    from sentence_distillery import distill
except ImportError as error:
    print(error)
try:
    library.distil
except AttributeError as error:
    print(error)
"""


def test_names_whose_packages_are_absent() -> None:
    """regression: `hasattr(sentence_distillery, "distill")` raised an ImportError."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert first == second
    assert first.startswith("sentence_distillery.distill needs ")
    assert first.endswith("; run `pip install 'sentence-distillery[distill]'`.")
    assert third == "module 'sentence_distillery' has no attribute 'distil'"
