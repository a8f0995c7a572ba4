"""Check that the tags of the registry are whole: GTO and git silently leave out a damaged one."""

from pathlib import Path

from prefect_dvc.workspace.git import END, git

TAGS = "refs/tags"


def damaged_tags(root: Path, artifact: str) -> list[str]:
    """List the tags of `artifact` that lead to no commit: an emptied file, a wrong hash, a commit that is gone."""
    common = Path(root, git(root, "rev-parse", "--git-common-dir"))
    files = (file for file in (common / TAGS).rglob("*") if file.is_file() and file.suffix != ".lock")
    names = {file.relative_to(common).as_posix() for file in files}  # git does not list an emptied one
    names |= set(git(root, "for-each-ref", "--format=%(refname)", END, TAGS).splitlines())
    ours = sorted(name for name in names if name.startswith((f"{TAGS}/{artifact}@", f"{TAGS}/{artifact}#")))
    told = git(root, "cat-file", "--batch-check", given="".join(f"{name}^{{commit}}\n" for name in ours)).splitlines()
    return [name for name, line in zip(ours, told, strict=True) if " commit " not in line]
