"""The parts of DVC beyond its API, as they were when the tests of this package passed with them."""

import hashlib
import inspect
import pkgutil
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "prefect_dvc"
# sha256 of the source of each part in DVC 3.67.1; of methods that the package calls, too
KNOWN = {
    "dvc.config.Config._save_config": "38b5b13b5bf79e85",
    "dvc.config._pack_named": "b17c4998b9b1a3dc",
    "dvc.repo.reproduce.get_active_graph": "6f91d99314c7e8f2",
    "dvc.rwlock._edit_rwlock": "cf3a97fb9efaa672",
    "dvc.rwlock.rwlock": "e8e87c10cc6499ad",
    "dvc.stage.cache._can_hash": "5fbce5b4695b37cf",
    "dvc.stage.cache._get_cache_hash": "a880dc015fd451b4",
    "dvc.stage.cache._get_stage_hash": "72e8460cc11b3350",
    "dvc.stage.run._enforce_cmd_list": "e2f456bb1e5aeb2e",
    "dvc.stage.run._make_cmd": "1f0d025340258868",
    "dvc.stage.run._pull_missing_deps": "e8bfd6ec004c422a",
    "dvc.stage.run.get_executable": "e6e3f98647452346",
    "dvc.stage.run.prepare_kwargs": "b7f2672fdcd47784",
    "dvc.stage.serialize.to_single_stage_lockfile": "a8510947237441d0",
    "dvc.output.Output.save": "778821cfa71d84b1",
    "dvc.dependency.param.ParamsDependency.save": "066e195e66c92fa8",
    "dvc.repo.Repo.__init__": "158aa00cbed6e32b",
    "dvc.stage.Stage.changed": "1425cb5a6a8ca831",
    "dvc.stage.Stage.reproduce": "a4fd0ff85381f2a5",
    "dvc.stage.Stage.run": "d0e5527866ee6f38",
    "dvc.stage.Stage.save": "277cc65d776c7909",
    "dvc.stage.Stage.commit": "3c89c4b860247567",
    "dvc.stage.Stage.remove_outs": "3872e7bd2955e8d9",
    "dvc.stage.cache.StageCache.restore": "c7e43f44087e4b85",
    "dvc.stage.cache.StageCache.save": "49b8f5c04149c767",
    "dvc.stage.cache.StageCache._load": "387d30ed46756308",
    "dvc.stage.cache.StageCache._create_stage": "ade1cc22e4d43d08",
    "dvc.stage.cache.StageCache._get_cache_path": "87cabc965d02ef74",
    "dvc.stage.cache.StageCache.get_used_objs": "0590a7e7752cfb77",
    "dvc.stage.Stage.save_deps": "28d20539e9569c2a",
    "dvc.stage.Stage.outs_cached": "72be31251462959a",
    "dvc.dvcfile.ProjectFile.dump_stages": "29132648dbd72780",
    "dvc.data_cloud.DataCloud.get_remote_odb": "93d8db45df012dba",
    "dvc.data_cloud.DataCloud.pull": "b35a621d864336ea",
    "dvc.data_cloud.DataCloud.push": "b91fcf3cc7d1c631",
    "dvc.fs.generic.copy": "fcf0cc9f0be2902f",
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_part_of_dvc_is_as_it_was(name: str) -> None:
    """If this fails, read what DVC has changed, mend dvc_private.py or execution/stages.py, and note the new hash."""
    source = inspect.getsource(inspect.unwrap(pkgutil.resolve_name(name)))
    assert KNOWN[name] == hashlib.sha256(source.encode()).hexdigest()[:16], name


def test_all_private_names_are_known() -> None:
    text = (PACKAGE / "dvc_private.py").read_text(encoding="utf-8")
    imported = re.findall(r"^from (dvc[\w.]*) import (.*)$", text, re.MULTILINE)
    private = {f"{module}.{name}" for module, names in imported for name in names.split(", ") if name.startswith("_")}
    assert private <= KNOWN.keys()


def test_no_newer_dvc_is_allowed() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (bound,) = [entry for entry in project["dependencies"] if entry.startswith("dvc>=")]
    newest = bound.rpartition("<=")[2]
    assert newest == version("dvc")


def test_private_names_stand_in_one_module() -> None:
    private = re.compile(r"^from dvc[\w.]* import .*\b_[a-z]|\b(?:repo|stage|runs|stage_cache)\._[a-z]", re.MULTILINE)
    found = [file.name for file in PACKAGE.rglob("*.py") if private.search(file.read_text(encoding="utf-8"))]
    assert found == ["dvc_private.py"]
