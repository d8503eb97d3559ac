"""What lies beside the project: suites and tokenizers that are too large, or not ours, to ship."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)


def shared(path: str) -> Path:
    """The path below the shared folder; skips the test where it is missing."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"{path} isn't there: MLX_STRUCTURED_SHARED doesn't lead to it")
    return found


def maskbench() -> Iterator[dict[str, Any]]:
    """The real-world schemas: ``name``, ``schema`` and ``tests`` of ``valid`` and ``data``."""
    for file in sorted(shared("suites/maskbench").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
