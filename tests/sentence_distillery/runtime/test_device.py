"""The device, and the precision that pays on it."""

from collections.abc import Iterator

import pytest
import torch

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime import device as module


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Detect the processor's features again, in each test and after it."""
    for known in (module.multiplies_bfloat16, module._warn):
        known.cache_clear()
    yield
    for known in (module.multiplies_bfloat16, module._warn):
        known.cache_clear()


@pytest.mark.parametrize("name", ["toaster", "cuda:99"])
def test_a_device_that_is_not_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.VARIABLE, name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=f"{module.VARIABLE}={name}.* use auto"):
        module.device()


@pytest.mark.parametrize(
    ("capabilities", "warnings"),
    [({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, 1), ({"avx512_bf16": True}, 0), ({"arm_bf16": True}, 0)],
)
def test_emulated_bfloat16_is_said_once(
    capabilities: dict[str, bool], warnings: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    one = torch.ones(2, 2)
    for _ in range(2):
        with module.autocast(one.device, "float32"):
            assert (one @ one).dtype == torch.float32
    assert not caplog.records
    for _ in range(2):
        with module.autocast(one.device, "bfloat16"):
            assert (one @ one).dtype == torch.bfloat16
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
