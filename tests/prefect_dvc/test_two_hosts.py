"""Home and worker as two hosts: the worker in a network namespace of its own, with one link that can be cut.

    home, server on 127.0.0.1 ── relay and store at 10.213.0.1 ══ link ══ 10.213.0.2, the worker, with another home

The clones are on one disk, for git alone. Only root may make a namespace; elsewhere these tests are left out, and
test_handoff.py and test_cuts.py cut the same links with separate folders and ports.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_HOME, temporary_settings

from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.workers import pool
from prefect_dvc.workers.pool import Limits
from tests.waiting import LIMIT

from .halfway import Store
from .handoff_server import Server
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


def switch(state: str) -> None:
    """Set the link `up` or `down`."""
    assert ip("link", "set", NEAR, state)


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
        switch("up")
        yield
    finally:
        ip("link", "del", NEAR)
        ip("netns", "del", NAME)


@pytest.fixture(scope="module")
def site(link: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Store]]:
    home, directory = tmp_path_factory.mktemp("prefect"), tmp_path_factory.mktemp("site")
    relay, store = Relay(HERE), Store(directory / "remote")
    server = Server(home, f"http://{HERE}:{relay.port}")
    (directory / "other home").mkdir()
    with ExitStack() as stack:
        settings = {PREFECT_API_URL: server.api, PREFECT_API_AUTH_STRING: server.key, PREFECT_HOME: home}
        stack.enter_context(temporary_settings(settings))
        address = stack.enter_context(store.served(HERE))
        server.start()
        stack.callback(server.stop)
        server.deploy()
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
        yield site, store


def test_the_worker_reaches_home_by_the_link_alone(site: tuple[Site, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """Code, inputs, result and lines travel between the hosts; 127.0.0.1 is another one there."""
    place, _ = site
    monkeypatch.setattr(pool, "LIMITS", Limits(silence=LIMIT, server=LIMIT))
    place.change()
    lines = list[str]()
    assert place.hand_off(log=lines.append) is Outcome.RAN_ON_GPU
    assert "gpu | g: at work" in lines
    probe = f"import socket; socket.create_connection(('127.0.0.1', {place.server.port}), 5)"
    done = subprocess.run(["ip", "netns", "exec", NAME, "python3", "-c", probe], capture_output=True, check=False)
    assert b"refused" in done.stderr
    place.assert_clean()


@pytest.mark.fault(37)
def test_the_link_is_down_for_longer_than_the_heartbeat(
    site: tuple[Site, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No packet passes; home loses the worker, asks it again, and gets what it has done."""
    place, _ = site
    limits = Limits(silence=LIMIT, server=LIMIT)
    monkeypatch.setattr(pool, "LIMITS", limits)
    monkeypatch.setenv("STAGE_LOG", str(place.ran_at_home))
    place.ran_at_home.unlink(missing_ok=True)
    before = place.runs_there()

    def cut() -> None:
        switch("down")
        object.__setattr__(limits, "silence", 12)

    def log(line: str) -> None:
        if "is asked for the result of stage 'g'" in line:
            object.__setattr__(limits, "silence", LIMIT)
            switch("up")

    try:
        with place.meanwhile(cut):
            assert place.hand_off(log=log) in (Outcome.RESTORED, Outcome.RAN_ON_GPU)
    finally:
        switch("up")
    assert place.runs_there() == before + 1
    assert not place.ran_at_home.exists()
    place.assert_clean()
