"""Fixtures and settings that tests of several folders share."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.dask_cluster import cluster, patient

# A shell ignores SIGINT in what it starts in the background, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: an example may take as long as a busy machine needs. The same examples in every run, so that a tree that
# passes here passes elsewhere, and a failure can be repeated. `--hypothesis-profile default` draws new ones.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


MARKED = {
    "slow": re.compile(r"tests/(test_(pipeline|wheel)\.py|news_crawler/test_resume\.py|prefect_dvc/)"),
    "server": re.compile(
        r"tests/prefect_dvc/test_(browser|deployments|handoff|intruders|server|ten_runs|installed|cuts|random_kills)\.py"
    ),
    "browser": re.compile(r"tests/prefect_dvc/test_(browser|intruders)\.py"),
    # Kills, cuts, restarts and many runs at once, on real servers and clones: as long as all other tests together.
    "endurance": re.compile(
        r"tests/prefect_dvc/test_(handoff|any_graph|any_repository|ten_runs|browser|deployments|installed|random_kills|remotes"
        r"|cuts|two_hosts)\.py"
        r"|tests/news_crawler/test_(resume|hostile)\.py|tests/docsite/test_tutorial\.py|::test_\w*"
        r"(killed|sigkill|_restarts|on_a_cluster|of_the_cluster|a_cluster_with|two_\w*at_once|ends_with_dvc|to_the_slots)"
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first: a test process takes one file after another, and the last should be short."""
    longest = (
        "tests/test_pipeline.py",
        "tests/prefect_dvc/test_handoff.py",
        "tests/news_crawler/test_resume.py",
        "tests/prefect_dvc/",
    )

    def rank(item: pytest.Item) -> int:
        places = (place for place, start in enumerate(longest) if item.nodeid.startswith(start))
        return next(places, len(longest))

    items.sort(key=rank)
    for item in items:
        for marker, pattern in MARKED.items():
            if pattern.search(item.nodeid):
                item.add_marker(marker)


@pytest.fixture(scope="module")  # an idle cluster takes a twentieth of a core
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """The address of a Dask cluster with two workers, and the ids of its processes."""
    with cluster(tmp_path_factory.mktemp("dask")) as running, patient():
        yield running


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep data that outlives a run with the tests; a package is converted once for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTILLERY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a teacher that loads in no time."""
    from tests.tiny_bert import write_tiny_bert  # takes five seconds, which few tests need

    directory = tmp_path_factory.mktemp("teachers") / "tiny"
    write_tiny_bert(directory)
    return directory


@pytest.fixture
def on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A temporary directory to work in; torch on one thread of the processor, for the same bytes everywhere."""
    import torch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=["processes", "dask"])
def elsewhere(request: pytest.FixtureRequest) -> dict[str, object]:
    """`shards` in params.yaml for two processes, and for a Dask cluster."""
    if request.param == "processes":
        return {"processes": 2, "dask": None}
    return {"processes": 1, "dask": request.getfixturevalue("dask")[0]}
