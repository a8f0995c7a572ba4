"""Which promoted versions stay: by count and age, and never the one at a stage or the one before it.

A version that goes loses its tags, so the next `dvc gc --all-branches --all-tags` collects its data. Its commit stays
on the branch of promotions.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prefect_dvc.registry.promotion import Channel, assigned, events, registered
from prefect_dvc.workspace.git import END, git


def retire_versions(root: Path, channel: Channel, days: float, number: int) -> list[str]:
    """Delete the tags of versions that are older than `days` and not among the newest `number`, here and at the remote.

    Args:
        root: The workspace.
        channel: Its artifact, and the git remote that has its tags.
        days: Every younger version is kept.
        number: So many are kept, however old.

    Returns:
        The names of the versions, the oldest first.

    Raises:
        PromotionError: A tag of the registry is damaged.

    Example:
        >>> retire_versions(Path.cwd(), Channel("student"), days=365, number=20)  # doctest: +SKIP
        ['v0.0.1']
    """
    versions = registered(root, channel.artifact)
    past = events(root, channel.artifact)
    born = {event["version"]: event["timestamp"] for event in past if event["event"] == "registration"}
    stages = {str(event["stage"]) for event in past if event["event"] == "assignment"}
    oldest = datetime.now(UTC) - timedelta(days=days)
    needed = {version for stage in stages for version in assigned(root, replace(channel, stage=stage))[-2:]}
    retired = [
        version
        for version in versions[: max(0, len(versions) - number)]
        if version not in needed and born[version.name] < oldest
    ]
    tags = [
        f"refs/tags/{tag}"
        for version in retired
        for tag in git(root, "tag", "--points-at", version.commit).split()
        if tag.startswith((f"{channel.artifact}@", f"{channel.artifact}#"))
    ]
    if tags and channel.remote is not None:
        there = git(root, "ls-remote", "--quiet", END, channel.remote, *tags).split()
        if gone := [f":{tag}" for tag in tags if tag in there]:
            git(root, "push", "--quiet", END, channel.remote, *gone)
    for tag in tags:
        git(root, "update-ref", "-d", END, tag)
    return [version.name for version in retired]
