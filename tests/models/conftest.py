from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    monkeypatch.setenv("MLX_STRUCTURED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Refuses every connection, as on a machine without a network; lists what was tried."""
    tried: list[str] = []

    def refuse(*address: object, **_: object) -> None:
        tried.append(repr(address))
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


@pytest.fixture
def on_cpu() -> Iterator[None]:
    """Computes on the CPU, also on a machine with a GPU."""
    device = mx.default_device()
    mx.set_default_device(mx.cpu)
    yield
    mx.set_default_device(device)
