"""The promoted model: a commit with its dvc.lock, a version and a stage in GTO's tags, and the rollback.

    main      ──A──────────B            commits of people; a promotion never touches it
               ╲            ╲
    promoted    P1 ───────── P2         A's and B's files, with the dvc.lock, parameters and reports of a run
                │             │
           student@v0.0.1   student@v0.0.2, student#production#2

A promotion never meets uncommitted work, and the profile and date of a run do not become everybody's params.yaml. The
registry is GTO's: git tags, which `gto show` and DVC Studio read as well.
"""

import argparse
import shlex
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import dvc.api
import gto.api
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc_data.index.index import DataIndexError
from gto.constants import name_re
from gto.exceptions import GTOException

from prefect_dvc.errors import Refusal, reasons
from prefect_dvc.execution.cache import missing, remove_broken
from prefect_dvc.registry.comparison import Figures
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.system.process import held
from prefect_dvc.workspace.contents import Outputs, contents, covers, files, inside, read_outputs
from prefect_dvc.workspace.directory import REFS
from prefect_dvc.workspace.git import END, IDENTITY, WorkspaceError, commit_tree, git, text_at, tree
from prefect_dvc.workspace.snapshot import refuse_read_only

LOCK = Path(".dvc/tmp/promotion.lock")
TAGS = "refs/tags"
NOBODY = "0" * 40  # git's value for a ref that does not exist yet
AUTHOR: dict[str, Any] = {"author": IDENTITY["NAME"], "author_email": IDENTITY["EMAIL"]}  # of GTO's tags
SECONDS_TO_WAIT = 5.0  # for the clock to pass the last tag


class PromotionError(Refusal):
    """Nothing was promoted or rolled back; the message has the reason and the remedy."""


@dataclass(frozen=True)
class Channel:
    """The place that models are promoted to."""

    artifact: str  # of dvc.yaml
    stage: str = "production"  # of GTO
    branch: str = "promoted"  # has the commits of promotions
    remote: str | None = None  # git remote that gets the branch and the tags; None keeps them here


@dataclass(frozen=True)
class Version:
    name: str  # v0.0.1
    commit: str

    def __str__(self) -> str:
        return f"{self.name} ({self.commit[:7]})"


def assigned(root: Path, channel: Channel) -> list[Version]:
    """List the versions that a rollback goes through; the last one is at the stage.

    Assigning an earlier version again goes back to it and forgets the later ones: assignments 1 2 3 2 4 leave 1 2 4.
    """
    stack: list[Version] = []
    for event in events(root, channel.artifact):
        version = Version(event["version"], event["commit"])
        if event["event"] == "assignment" and event["stage"] == channel.stage:
            stack = [*stack[: stack.index(version)], version] if version in stack else [*stack, version]
        elif version in stack and (
            event["event"] == "deregistration" or (event["event"] == "unassignment" and event["stage"] == channel.stage)
        ):
            stack.remove(version)
    return stack


def promoted(root: Path, channel: Channel) -> Version | None:
    """Return the version at the stage now, or None."""
    return next(reversed(assigned(root, channel)), None)


def registered(root: Path, artifact: str) -> list[Version]:
    """List every version of `artifact`, the oldest first."""
    changes = [event for event in events(root, artifact) if event["event"] in ("registration", "deregistration")]
    state = {Version(event["version"], event["commit"]): event["event"] == "registration" for event in changes}
    return [version for version, there in state.items() if there]


def events(root: Path, artifact: str) -> list[dict[str, Any]]:
    """List the events of `artifact` in GTO's tags, the oldest first; raises PromotionError if a tag is damaged."""
    if damaged := damaged_tags(root, artifact):
        raise PromotionError(
            f"{', '.join(damaged)} cannot be read, so the promoted version is not known and nothing is changed. "
            "Remove each by `git update-ref -d REF`, or by its file, and fetch it again from a clone that has it: "
            "git fetch --tags ADDRESS"
        )
    try:
        events: list[dict[str, Any]] = gto.api.history(str(root), artifact, ascending=True)
    except GTOException as error:
        raise PromotionError(
            f"The tags of '{artifact}' cannot be read: {error}; check them with `gto doctor`."
        ) from error
    return events


def damaged_tags(root: Path, artifact: str) -> list[str]:
    """List the tags of `artifact` that lead to no commit: an emptied file, a wrong hash, a commit that is gone."""
    common = Path(root, git(root, "rev-parse", "--git-common-dir"))
    files = (file for file in (common / TAGS).rglob("*") if file.is_file() and file.suffix != ".lock")
    names = {file.relative_to(common).as_posix() for file in files}  # git does not list an emptied one
    names |= set(git(root, "for-each-ref", "--format=%(refname)", END, TAGS).splitlines())
    ours = sorted(name for name in names if name.startswith((f"{TAGS}/{artifact}@", f"{TAGS}/{artifact}#")))
    told = git(root, "cat-file", "--batch-check", given="".join(f"{name}^{{commit}}\n" for name in ours)).splitlines()
    return [name for name, line in zip(ours, told, strict=True) if " commit " not in line]


def read_figures(root: Path, version: Version) -> Figures:
    """Read the scores, benchmarks and draws of a version; an older one may lack some of the files."""
    registry, there = read_config(root).registry, outputs(root, version.commit)
    figures = Figures.read(registry, partial(_text, root, version, there))
    if not figures.metrics:
        raise PromotionError(
            f"{version} has no {' or '.join(registry.metrics)} to compare with; assign a version that has one."
        )
    return figures


def _text(root: Path, version: Version, there: Outputs, path: str) -> str | None:
    """Read a file of a version from git or from DVC; None if it has no such file. Raises PromotionError."""
    if any(output.cached for output in there.at(path)):
        return read_data(root, version, path)
    return text_at(root, version.commit, path)


def read_data(root: Path, version: Version, path: str, remedy: str = "assign a version that has it") -> str:
    """Read a file of a version from DVC's cache or remote; raises PromotionError with the remedy."""
    try:
        return str(dvc.api.read(path, repo=str(root), rev=version.commit))
    except (DvcException, DataIndexError, OSError) as error:
        raise PromotionError(
            f"{path} of {version} is neither in DVC's cache nor in a remote, so there is nothing to compare "
            f"with: {error}. Fetch it with `dvc fetch` at that commit, or {remedy}."
        ) from error


def outputs(root: Path, revision: str | None = None) -> Outputs:
    """Read the outputs and the artifacts of a commit, or of the files in `root`; raises PromotionError."""
    try:
        return read_outputs(root, revision)
    except DvcException as error:
        raise PromotionError(f"DVC cannot read the graph of {revision or root}: {error}") from error


def _check_objects(root: Path, revision: str, what: str, artifact: str) -> None:
    """Raise PromotionError if somebody who fetches the model of `revision`, or compares with it, would not get all."""
    there, registry = outputs(root, revision), read_config(root).registry
    files = [_path(artifact, there), *registry.metrics, *registry.benchmarks, *registry.draws]
    by_remote = dict[str | None, list[str]]()
    for output in (output for file in files for output in there.at(file) if output.cached):
        by_remote.setdefault(output.remote, []).append(output.hash)
    for remote, names in by_remote.items():
        try:
            place, lacking = missing(root, names, remote)
        except Exception as error:  # any error of the library of a remote
            raise PromotionError(
                f"DVC's remote could not be asked for the data of {what}, so nothing was changed: "
                f"{type(error).__name__}: {error}. Try again when it answers."
            ) from error
        if lacking:
            some = ", ".join([*lacking[:3], *["..."] * (len(lacking) > 3)])
            raise PromotionError(
                f"{len(lacking)} objects of {what} are not in {place} ({some}), so nobody could fetch the model and "
                "nothing was changed. If a clone has them, `dvc push --all-tags` there; otherwise run the stages again "
                "at that commit."
            )


def model_hash(artifact: str, there: Outputs) -> str:
    """Return the MD5 of the files of `artifact`; raises PromotionError."""
    path = _path(artifact, there)
    for output in there.at(path):
        return output.hash
    raise PromotionError(f"dvc.lock has no {path}, the artifact '{artifact}': its stage has not run.")


def _path(artifact: str, there: Outputs) -> str:
    if artifact not in there.artifacts:
        known = ", ".join(there.artifacts) or "none"
        raise PromotionError(f"dvc.yaml has no artifact '{artifact}'; it has {known}. Add it below `artifacts:`.")
    return there.artifacts[artifact]


def path_of(root: Path, channel: Channel, revision: str) -> str:
    """Return the path of the artifact at a commit; raises PromotionError."""
    return _path(channel.artifact, outputs(root, revision))


def check(root: Path, channel: Channel, revision: str = "HEAD") -> None:
    """Raise PromotionError if a promotion is bound to fail; called before a run that takes hours."""
    _path(channel.artifact, outputs(root, revision))
    if not name_re.search(channel.stage):
        raise PromotionError(f"'{channel.stage}' is not a stage name for GTO; use letters, digits, '-', '_' and '/'.")
    try:
        git(root, "check-ref-format", "--branch", channel.branch)
    except WorkspaceError as error:
        raise PromotionError(f"'{channel.branch}' is not a valid branch name; 'promoted' is the default.") from error
    _check_branch(root, channel.branch)
    remotes = git(root, "remote").split()
    if channel.remote is not None and channel.remote not in remotes:
        known = ", ".join(remotes) or "none"
        raise PromotionError(f"git has no remote '{channel.remote}'; it has {known}. Add it by `git remote add`.")


def _check_branch(root: Path, branch: str) -> None:
    """Refuse a branch that is checked out: a promotion would move it, and the files there would look changed."""
    for entry in git(root, "worktree", "list", "--porcelain").split("\n\n"):
        if f"branch refs/heads/{branch}" in entry.splitlines():
            place = entry.splitlines()[0].removeprefix("worktree ")
            raise PromotionError(
                f"Branch '{branch}' is checked out in {place}, and promotions are committed to it. Switch to another "
                f"branch there (`git switch -`), or name another branch for promotions."
            )


def fetch_registry(root: Path, channel: Channel) -> None:
    """Fetch the artifact's tags and the branch of promotions from the channel's git remote, if it has one.

    Raises PromotionError if the remote does not answer, or has other commits under the same names.
    """
    if channel.remote is None:
        return
    names = [f"refs/tags/{channel.artifact}@*", f"refs/tags/{channel.artifact}#*", f"refs/heads/{channel.branch}"]
    try:
        there = git(root, "ls-remote", "--quiet", END, channel.remote, *names)
        branch = names[-1:] if f"\t{names[-1]}" in there else []
        refs = [f"{name}:{name}" for name in [*names[:-1], *branch]]
        git(root, "fetch", "--no-tags", END, channel.remote, *refs)  # --quiet would not name a ref that is refused
    except WorkspaceError as error:
        raise PromotionError(
            f"The versions at '{channel.remote}' could not be fetched, so nothing was changed: {error}\nIf it refuses "
            "single refs, they differ here: delete them (`git update-ref -d REF`), and try again."
        ) from error


def promote(root: Path, run: str, channel: Channel, *, instead_of: Version | None, why: str = "") -> Version:
    """Promote the model of the kept run `run` in the place of `instead_of`; return its version.

    First the data goes to DVC's remote, if there is one, which is then asked whether it has all of it. Then come the
    commit, the tags, and git's remote, so whoever sees a tag can fetch its model. If it is killed in between, the next
    promotion of the same model resumes from there. The messages have the run's figures, after `why`.
    """
    check(root, channel)
    fetch_registry(root, channel)
    revision = git(root, "rev-parse", "--verify", END, f"{REFS}/{run}")
    told = "\n\n".join(part for part in (f"Run {run}", why, _figures_of(root, revision)) if part)
    model = model_hash(channel.artifact, outputs(root, revision))
    try:
        _push_data(root, revision, f"run {run}")
        _check_objects(root, revision, f"run {run}", channel.artifact)
    except PromotionError as error:
        raise PromotionError(f"{error}\nThe run is kept; after that: {command(channel, 'promote')} {run}") from error
    with _changing(root, channel, instead_of):
        version = same_model(root, model, channel)
        if version is None:
            parent = _commit(root, revision, channel, f"Promote the {channel.artifact} of run {run}\n\n{told}")
            version = _register(root, parent, channel, told)
        _assign(root, version, channel, told)
    _push_tags(root, version, channel)
    return version


def _figures_of(root: Path, revision: str) -> str:
    """Return the metrics of a run, one a line; none if it has no such file."""
    with suppress(PromotionError):
        metrics = read_figures(root, Version("the run", revision)).metrics
        return "\n".join(f"{name}: {value:.6g}" for name, value in metrics.items() if value is not None)
    return ""


def same_model(root: Path, model: str, channel: Channel) -> Version | None:
    """Return the version with exactly this model, if it is registered and was never at the stage.

    Raises PromotionError if it was at the stage: it is there now, or somebody has rolled it back.
    """
    once = {(event["version"], event["stage"]) for event in events(root, channel.artifact)}
    for version in reversed(registered(root, channel.artifact)):
        if _is_model(root, version, model, channel.artifact):
            if version == promoted(root, channel):
                raise PromotionError(
                    f"The model is the same as that of {version.name}, which is already at {channel.stage}."
                )
            if (version.name, channel.stage) in once:
                raise PromotionError(
                    f"The model is the same as that of {version.name}, which was at {channel.stage} and has been "
                    f"replaced. To go back to it: {command(channel, 'rollback')} --to {version.name}"
                )
            return version
    return None


def _is_model(root: Path, version: Version, model: str, artifact: str) -> bool:
    """Return whether a version has this model; the texts exclude most, without DVC's reading of the graph."""
    with suppress(PromotionError, WorkspaceError):  # registered by hand at a commit where DVC has no such model
        locks = [file for file in tree(root, version.commit) if Path(file).name == "dvc.lock"]
        if not any(model in str(text_at(root, version.commit, lock)) for lock in locks):
            return False
        return model_hash(artifact, outputs(root, version.commit)) == model
    return False


@contextmanager
def _changing(root: Path, channel: Channel, instead_of: Version | None) -> Iterator[None]:
    """Hold the stage's lock; raise PromotionError if another version is there than the caller compared with."""
    with held(root / LOCK, channel.stage, wait=True):
        now = promoted(root, channel)
        if now != instead_of:
            before, after = (version.name if version else "nothing" for version in (instead_of, now))
            raise PromotionError(
                f"{channel.stage} went from {before} to {after} during the comparison, which is now out of date; "
                "start again."
            )
        yield


def _push_data(root: Path, revision: str, what: str) -> None:
    """Push the outputs of a commit to the DVC remotes that the workspace has today, but not those never made here."""
    try:
        with chdir(root), Repo(str(root), rev=revision) as repo:
            remove_broken(repo)  # or DVC would push damaged objects
            outs = [out for out in repo.index.outs if out.use_cache and out.hash_info and out.can_push]
            outs = [out for out in outs if out.cache.exists(out.hash_info.value)]
            objects = [(out.remote, set[Any]().union(*out.get_used_objs().values())) for out in outs]
        with chdir(root), Repo(str(root), _wait_for_lock=True) as repo:
            if "remote" not in repo.config["core"]:
                return
            by_remote = {name: set[Any]().union(*(each for of, each in objects if of == name)) for name, _ in objects}
            failed = [each for name, names in by_remote.items() for each in repo.cloud.push(names, remote=name).failed]
    except Exception as error:  # any error of the library of a remote
        raise PromotionError(
            f"The data of {what} did not reach DVC's remote, so nothing was changed: {reasons(error)}"
        ) from error
    if failed:
        raise PromotionError(f"{len(failed)} objects of {what} did not reach DVC's remote, so nothing was changed.")


def _commit(root: Path, revision: str, channel: Channel, message: str) -> str:
    """Commit the files of `revision` to the promotions' branch; the other parent is the run's first commit."""
    _check_branch(root, channel.branch)
    branch = f"refs/heads/{channel.branch}"
    tip = git(root, "for-each-ref", "--format=%(objectname)", END, branch)
    parents = [tip] * bool(tip) + [git(root, "rev-parse", "--verify", END, f"{revision}^")]
    files = git(root, "rev-parse", "--verify", END, f"{revision}^{{tree}}")
    new = commit_tree(root, files, message, list(dict.fromkeys(parents)))
    git(root, "update-ref", "-m", message, END, branch, new, tip or NOBODY)  # fails if the branch has moved
    return new


def _register(root: Path, commit: str, channel: Channel, message: str) -> Version:
    try:
        event = gto.api.register(str(root), channel.artifact, commit, message=message, **AUTHOR)
    except GTOException as error:
        raise PromotionError(f"GTO did not register {commit[:7]}: {error}; see `gto doctor`.") from error
    return Version(event.version, commit)


def _assign(root: Path, version: Version, channel: Channel, message: str) -> None:
    _wait_for_the_clock(root, channel.artifact)
    options: dict[str, Any] = {"version": version.name, "message": message, "force": True, **AUTHOR}
    try:
        gto.api.assign(str(root), channel.artifact, channel.stage, **options)
    except GTOException as error:
        raise PromotionError(f"GTO did not assign {version.name} to {channel.stage}: {error}") from error


def _wait_for_the_clock(root: Path, artifact: str) -> None:
    """Wait for the next second: GTO and DVC order tags by seconds, so two tags in one second have no order."""
    last = max((event["timestamp"] for event in events(root, artifact)), default=datetime.fromtimestamp(0).astimezone())
    seconds = last.timestamp() + 1 - time.time()
    if seconds > SECONDS_TO_WAIT:
        raise PromotionError(
            f"The last tag of '{artifact}' is dated {last}, which is in the future; correct the clock."
        )
    time.sleep(max(0.0, seconds))


def _push_tags(root: Path, version: Version, channel: Channel) -> None:
    """Push the branch and the artifact's tags at `version` to git's remote, if the channel has one."""
    if channel.remote is None:
        return
    tags = [f"refs/tags/{tag}" for tag in git(root, "tag", "--points-at", version.commit).split()]
    push = ["push", "--quiet", "--atomic", END, channel.remote, f"refs/heads/{channel.branch}", *tags]
    try:
        git(root, *push)
    except WorkspaceError as error:
        raise PromotionError(
            f"{version.name} is at {channel.stage} here, but '{channel.remote}' does not know it: {error}\n"
            f"Once it answers: {shlex.join(['git', *push])}"
        ) from error


def rollback(root: Path, channel: Channel, to: str | None = None) -> tuple[Version, Version]:
    """Assign the previous version, or `to`, again; return the versions at the stage before and after."""
    fetch_registry(root, channel)
    stack = assigned(root, channel)
    if not stack:
        raise PromotionError(
            f"No version of '{channel.artifact}' is at {channel.stage}; see {command(channel, 'show')}"
        )
    if to is None and len(stack) == 1:
        raise PromotionError(
            f"{stack[0].name} is the first version at {channel.stage}, so there is nothing to go back to."
        )
    now = stack[-1]
    known = {version.name: version for version in registered(root, channel.artifact)}
    target = stack[-2] if to is None else known.get(to)
    if target is None:
        raise PromotionError(f"'{channel.artifact}' has no version '{to}'; it has {', '.join(known)}.")
    if target == now:
        raise PromotionError(f"{to} is already at {channel.stage}.")
    with suppress(PromotionError):  # the cache need not have what the remote has
        _push_data(root, target.commit, target.name)
    _check_objects(root, target.commit, target.name, channel.artifact)
    with _changing(root, channel, now):
        _assign(root, target, channel, f"Rolled back from {now.name}")
    _push_tags(root, target, channel)
    return now, target


def show(root: Path, channel: Channel) -> str:
    """List the versions, one a line, the newest first, and mark the current and the previous one."""
    stack = assigned(root, channel)
    notes = dict.fromkeys(stack[-2:-1], "the one before") | dict.fromkeys(stack[-1:], channel.stage)
    lines = []
    for version in reversed(registered(root, channel.artifact)):
        told = git(root, "log", "-1", "--date=iso", "--format=%h  %ad  %s", END, version.commit)
        lines.append(f"{channel.artifact}@{version.name}  {told}  {notes.get(version, '')}".rstrip())
    return "\n".join(lines) or f"No version of '{channel.artifact}' is registered."


def trace(root: Path, channel: Channel, directory: Path) -> str:
    """Say which version a copied model is, by the hash of its files, and list its inputs.

    Raises PromotionError if it is none.
    """
    with Repo(str(root)) as repo:
        found = contents(repo, directory.absolute()).total
    for version in reversed(registered(root, channel.artifact)):
        if found == model_hash(channel.artifact, outputs(root, version.commit)):
            told = git(root, "log", "-1", "--date=iso", "--format=%h  %ad  %s%n%n%b", END, version.commit)
            return f"{channel.artifact}@{version.name}  {told}\n\n{_made_of(root, channel, version)}"
    raise PromotionError(
        f"{directory} is not a registered version of '{channel.artifact}': its hash is {found or 'that of no file'}. "
        f"Fetch the tags of its registry, or see {command(channel, 'show')}"
    )


def _made_of(root: Path, channel: Channel, version: Version) -> str:
    """List the inputs of the stage that makes the artifact of a version, each with DVC's hash of it."""
    path = path_of(root, channel, version.commit)
    with Repo(str(root), rev=version.commit) as repo:
        makers = {out.stage for each, out in inside(repo.index.outs, Path(repo.root_dir)) if covers(each, path)}
        deps = [dep for stage in makers for dep in files(stage.deps) if dep.hash_info]
        return "\n".join(f"made of {dep.def_path}: {dep.hash_info.name} {dep.hash_info.value}" for dep in deps)


def command(channel: Channel, action: str) -> str:
    """Return a command line for this channel: show, rollback or promote."""
    given = {"artifact": channel.artifact, "stage": channel.stage, "remote": channel.remote}
    usual = {"artifact": read_config(Path.cwd()).registry.artifact, "stage": Channel.stage, "remote": Channel.remote}
    changed = {name: value for name, value in given.items() if value != usual[name]}
    return " ".join(["prefect-dvc", action, *(f"--{name} {value}" for name, value in changed.items())])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="prefect-dvc", description="The promoted model.")
    actions = parser.add_subparsers(dest="action", required=True)
    shown = actions.add_parser("show", help="list the versions, and mark the one at the stage")
    shown.add_argument("model", nargs="?", type=Path, help="a copy of a model: say which version it is, and of what")
    back = actions.add_parser("rollback", help="assign the previous version again")
    back.add_argument("--to", metavar="VERSION", help="the version to assign (default: the previous one)")
    by_hand = actions.add_parser("promote", help="promote a kept run without comparing it")
    by_hand.add_argument("run", help="its name: 20261121-153012-3fa2")
    for action in (shown, back, by_hand):
        action.add_argument("--artifact", help="an artifact of dvc.yaml (default: that of flows.yaml)")
        action.add_argument("--stage", default=Channel.stage, help="a stage of GTO")
        action.add_argument("--branch", default=Channel.branch, help="the branch that gets the commits")
        action.add_argument("--remote", help="git remote that gets the branch and the tags (default: none)")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    root = Path.cwd()
    artifact = options.artifact or read_config(root).registry.artifact
    channel = Channel(artifact, options.stage, options.branch, options.remote)
    if options.action == "show":
        print(trace(root, channel, options.model) if options.model else show(root, channel))
        return
    refuse_read_only(root)
    if options.action == "rollback":
        before, after = rollback(root, channel, options.to)
        print(f"{channel.artifact} at {channel.stage}: {before.name} -> {after.name}")
    else:
        version = promote(root, options.run, channel, instead_of=promoted(root, channel))
        print(f"{channel.artifact} at {channel.stage}: {version.name}")
