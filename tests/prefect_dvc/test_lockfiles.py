"""What DVC adds to .gitignore files during a run stands in the order of the plan, whichever stage ends first."""

from pathlib import Path

from prefect_dvc.execution.lockfiles import IgnoredOutputs


def test_lines_of_two_directories(tmp_path: Path) -> None:
    ignored = IgnoredOutputs()
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / ".gitignore").write_text("*.log\n")
    for rank, outputs in ((3, ["a/late", "b/late"]), (0, ["a/early"]), (1, ["b/one", "a/middle", "b/two"])):
        paths = [tmp_path / output for output in outputs]
        for path in paths:
            with (path.parent / ".gitignore").open("a") as file:
                file.write(f"/{path.name}\n")
        ignored.put_in_order(list(map(str, paths)), rank)
    assert (tmp_path / "a/.gitignore").read_text().split() == ["*.log", "/early", "/middle", "/late"]
    assert (tmp_path / "b/.gitignore").read_text().split() == ["*.log", "/one", "/two", "/late"]


def test_lines_that_somebody_else_has_changed_stay(tmp_path: Path) -> None:
    ignored, file = IgnoredOutputs(), tmp_path / ".gitignore"
    for rank, content in ((2, "/late\n"), (1, "/other\n/early\n")):
        file.write_text(content)
        ignored.put_in_order([str(tmp_path / content.split("/")[-1].strip())], rank)
    assert file.read_text() == "/other\n/early\n"
