"""Languages judged by texts that they have and texts that they don't have."""

from __future__ import annotations

from collections.abc import Collection

from mlx_structured.languages.language import Language, is_empty, matches


def assert_texts(language: Language, found: Collection[str], missing: Collection[str]) -> None:
    """The first texts are in the language, the others aren't; without any it is empty."""
    for text in found:
        assert matches(language, text), text
    for text in missing:
        assert not matches(language, text), text
    assert is_empty(language) is (not found)
