"""Where prepared vocabularies and converted models are kept between runs."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ENVIRONMENT_VARIABLE = "MLX_STRUCTURED_CACHE"


def cache_directory() -> Path:
    """The folder for everything that this package caches on disk. It may not exist yet.

    ``$MLX_STRUCTURED_CACHE`` if it is set, else ``~/Library/Caches/mlx-structured`` on macOS and
    ``$XDG_CACHE_HOME/mlx-structured`` (``~/.cache/mlx-structured``) elsewhere. A relative
    ``XDG_CACHE_HOME`` is ignored, as the XDG Base Directory Specification demands. Without a home
    folder it lies in the system's folder for temporary files.
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform != "darwin" and os.path.isabs(xdg):
        return Path(xdg, "mlx-structured")
    try:
        home = Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir(), "mlx-structured")
    return home.joinpath(
        *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)), "mlx-structured"
    )
