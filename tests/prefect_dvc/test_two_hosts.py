"""Home and worker as two hosts: the worker in a network namespace of its own, with one link.

    home, server on 127.0.0.1 ── relay and store at 10.213.0.1 ══ link ══ 10.213.0.2, the worker, with another home

The clones are on one disk, for git alone. Only root may make a namespace; elsewhere these tests are left out, and
test_handoff.py and test_cuts.py cut the same links with separate folders and ports.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.workers import pool
from prefect_dvc.workers.pool import Limits
from tests.waiting import LIMIT

from .halfway import Store
from .handoff_server import Server, running
from .relay import Relay
from .site import Site

NAME = f"flows{os.getpid()}"
NEAR, FAR = f"n{os.getpid()}", f"f{os.getpid()}"  # the ends of the link
HERE, THERE = "10.213.0.1", "10.213.0.2"


def ip(*arguments: str) -> bool:
    """Run iproute2's command; return whether it succeeded."""
    try:
        return not subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def link() -> Iterator[None]:
    """A namespace with a link to it."""
    if not ip("netns", "add", NAME):
        pytest.skip("this user may not make a network namespace, or iproute2 is missing")
    inside = ("netns", "exec", NAME, "ip")
    try:
        assert ip("link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", NAME)
        assert ip("addr", "add", f"{HERE}/30", "dev", NEAR)
        assert ip(*inside, "addr", "add", f"{THERE}/30", "dev", FAR)
        assert ip(*inside, "link", "set", FAR, "up")
        assert ip(*inside, "link", "set", "lo", "up")
        assert ip("link", "set", NEAR, "up")
        yield
    finally:
        ip("link", "del", NEAR)
        ip("netns", "del", NAME)


@pytest.fixture(scope="module")
def site(link: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    relay, store = Relay(HERE), Store(directory / "remote")
    (directory / "other home").mkdir()
    with ExitStack() as stack:
        address = stack.enter_context(store.served(HERE))
        home = Server(tmp_path_factory.mktemp("prefect"), f"http://{HERE}:{relay.port}")
        server = stack.enter_context(running(home))
        stack.enter_context(relay.to(server.port))
        site = Site(server, directory)
        stack.callback(site.close)
        site.use_store(address)
        site.start_worker(
            ("ip", "netns", "exec", NAME),
            HOME=str(directory / "other home"),
            PREFECT_HOME=str(directory / "other home"),
            PREFECT_API_URL=f"http://{HERE}:{relay.port}/api",
        )
        yield site


@pytest.mark.fault(37)
def test_the_worker_reaches_home_by_the_link_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code, inputs, result and lines travel between the hosts; 127.0.0.1 is another one there."""
    monkeypatch.setattr(pool, "LIMITS", Limits(silence=LIMIT, server=LIMIT))
    site.change()
    lines = list[str]()
    assert site.hand_off(log=lines.append) is Outcome.RAN_ON_GPU
    assert "gpu | g: at work" in lines
    probe = f"import socket; socket.create_connection(('127.0.0.1', {site.server.port}), 5)"
    done = subprocess.run(["ip", "netns", "exec", NAME, "python3", "-c", probe], capture_output=True, check=False)
    assert b"refused" in done.stderr
    site.assert_clean()
