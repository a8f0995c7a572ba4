"""The link to the DVC remote breaks in the middle of an object: each transfer of a hand-off, reset or hanging."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prefect_dvc.execution.outcome import Outcome

from .conftest import dvc_
from .halfway import LARGE, Store
from .handoff_server import Server, running
from .site import Site

SECONDS = "15"  # for a transfer that hangs; one that passes takes a second
# The large transfers: home pushes the input, the worker pulls it, pushes the result, and home pulls that. Over HTTP,
# DVC asks for an object before it pulls it, by a GET of which it reads the head.
TRANSFERS = {
    "push of an input": ("PUT", 1, "Warning: the inputs are not sent yet; next try in 1 s. "),
    "pull of an input": ("GET", 2, "gpu | Warning: the inputs are not here yet; next try in 1 s. "),
    "push of the result": ("PUT", 2, "gpu | Warning: the result is not delivered yet; next try in 1 s. "),
    "pull of the result": ("GET", 4, "Warning: the result is not here yet; next try in 1 s. "),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Store]]:
    """Two clones whose default remote is a store over HTTP."""
    directory = tmp_path_factory.mktemp("site")
    store = Store(directory / "remote")
    with running(Server(tmp_path_factory.mktemp("prefect"))) as server, store.served() as address:
        site = Site(server, directory)
        site.use_store(address)
        site.start_worker(PREFECT_DVC_TRANSFER_SECONDS=SECONDS)
        yield site, store
        site.close()


@pytest.mark.parametrize(
    ("transfer", "hang"),
    [*((name, False) for name in TRANSFERS), ("pull of an input", True), ("push of the result", True)],
)
@pytest.mark.fault(37)
def test_an_object_stops_half_way(
    transfer: str, hang: bool, site: tuple[Site, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again once the link is back; no half object stays, and the stage runs once."""
    place, store = site
    monkeypatch.setenv("STAGE_LOG", str(place.ran_at_home))
    monkeypatch.setenv("PREFECT_DVC_TRANSFER_SECONDS", SECONDS)
    monkeypatch.setattr(
        "prefect_dvc.workers.handoff.TRY_SECONDS", 600.0
    )  # as long as the machine needs; the worker's is 10
    place.change()
    text = f"{transfer} {hang}\n" * LARGE
    (place.home / "text.txt").write_text(text, encoding="utf-8")
    dvc_("repro", "a", cwd=place.home)
    place.ran_at_home.unlink()
    method, number, told = TRANSFERS[transfer]
    lines, before, broken = list[str](), place.runs_there(), len(store.broken)

    def log(line: str) -> None:
        lines.append(line)
        if "; next try in" in line:
            store.mend()

    store.cut(method, number, hang=hang)
    assert place.hand_off(log=log) is Outcome.RAN_ON_GPU
    assert [(method, 2 * half // whole) for method, half, whole in store.broken[broken:]] == [(method, 1)]
    assert any(line.startswith(told) for line in lines), lines
    assert (place.home / "g.txt").read_text(encoding="utf-8") == f"{text}a 1\ng {place.value}\n"
    assert place.runs_there() == before + 1
    assert not place.ran_at_home.exists()
    place.assert_clean()
    assert list(Path(store.directory).rglob("*.tmp")) == []
