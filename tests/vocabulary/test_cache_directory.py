"""Where the cache lies on each platform."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from mlx_structured.cache_directory import cache_directory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLX_STRUCTURED_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def test_macos(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_directory() == home / "Library" / "Caches" / "mlx-structured"


@pytest.mark.parametrize(
    ("xdg", "expected"),
    [
        ("/xdg", "/xdg/mlx-structured"),
        ("", ".cache/mlx-structured"),
        ("relative", ".cache/mlx-structured"),
    ],
)
def test_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch, xdg: str, expected: str) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_directory() == home / expected


def test_the_environment_variable_comes_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("MLX_STRUCTURED_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_without_a_home_it_is_temporary(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_directory() == Path(tempfile.gettempdir()) / "mlx-structured"


def test_asking_creates_nothing(cache_folder: Path) -> None:
    assert cache_directory() == cache_folder
    assert not cache_folder.exists()
