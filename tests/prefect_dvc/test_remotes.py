"""DVC remotes as the flows use them: S3 by moto's server, SSH by asyncssh's, both on loopback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from prefect_dvc.execution.cache import missing
from prefect_dvc.execution.commands import Commands
from prefect_dvc.workers.handoff import Steps, fetch, give, opened
from prefect_dvc.workers.request import HandoffError

from .conftest import PAIR, commit_all, dvc_, git, make_repository, pipeline

S3 = """
import sys, boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer("127.0.0.1", 0)
server.start()
host, port = server.get_host_and_port()
address = f"http://{host}:{port}"
boto3.client("s3", endpoint_url=address, region_name="us-east-1").create_bucket(Bucket="bucket")
print("at", address, flush=True)
sys.stdin.read()
"""
SSH = """
import asyncio, sys
import asyncssh

async def main(directory):
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(f"{directory}/key")
    key.write_public_key(f"{directory}/key.pub")
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
        authorized_client_keys=f"{directory}/key.pub", sftp_factory=True,
    )
    print("at", server.get_port(), flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(main(sys.argv[1]))
"""
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def serving(program: str, *arguments: str) -> Iterator[str]:
    """Run a server until the block ends; yield the place that it prints."""
    server = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | KEYS,
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        try:
            yield next(line for line in server.stdout if line.startswith("at ")).split()[1]
        finally:
            server.kill()


@pytest.fixture(params=["s3", "ssh"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The lines of .dvc/config for a remote."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    if request.param == "s3":
        with serving(S3) as address:
            yield f"    url = s3://bucket/store\n    endpointurl = {address}\n"
    else:
        with serving(SSH, str(tmp_path)) as port:
            settings = {"url": f"ssh://127.0.0.1/{tmp_path}/store", "port": port, "user": "me"}
            settings |= {"keyfile": f"{tmp_path}/key"}
            yield "".join(f"    {name} = {value}\n" for name, value in settings.items())


def with_remote(root: Path, store: str) -> Path:
    """a, then b, and a default remote with these settings."""
    make_repository(root, PAIR)
    with (root / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write(f"    remote = store\n['remote \"store\"']\n{store}")
    git(root, "commit", "--quiet", "--all", "--message", "A remote")
    return root


@pytest.mark.fault(37)
def test_push_pull_restore_and_check(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone pulls outputs and finds an earlier run by its key; a promotion's check sees what is there."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = with_remote(tmp_path / "workspace", store)
    assert "Ran: a, b" in pipeline(root, "--apply").stdout
    commit_all(root, "Done")
    dvc_("push", "--quiet", cwd=root)

    git(tmp_path, "clone", "--quiet", str(root), "clone")
    done = pipeline(tmp_path / "clone")
    assert "Pulled: a, b" in done.stdout, done.stdout + done.stderr
    monkeypatch.chdir(root)
    lock = yaml.safe_load((root / "dvc.lock").read_text(encoding="utf-8"))
    (output,) = lock["stages"]["b"]["outs"]
    place, lacking = missing(root, [output["md5"], "0" * 32])
    assert (place, lacking) == ("the DVC remote 'store'", ["0" * 32])

    with opened(root, None) as repo:
        entry = give(repo, "a")
    git(tmp_path, "clone", "--quiet", str(root), "other")
    with opened(tmp_path / "other", None) as repo:
        fetch(repo, entry)
    (tmp_path / "other/dvc.lock").unlink()
    git(tmp_path / "other", "rm", "--quiet", "--cached", "dvc.lock")
    done = pipeline(tmp_path / "other", "--target", "a")
    assert "Restored: a" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("store", ["s3"], indirect=True)
@pytest.mark.fault(37)
def test_a_bucket_that_is_not_there(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run says so in a line with the remedy, and works without the remote; a result cannot be given."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = with_remote(tmp_path / "workspace", store.replace("s3://bucket", "s3://nowhere"))
    done = pipeline(root, "--apply")
    assert "Ran: a, b" in done.stdout, done.stdout + done.stderr
    with pytest.raises(HandoffError) as raised:
        Steps(Commands(), print).do("give", root, name="a")
    (line,) = str(raised.value).splitlines()[-1:]
    assert "bucket does not exist" in line
    assert line.endswith("Create it, or correct the address: dvc remote modify NAME url ADDRESS")
