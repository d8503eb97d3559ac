"""Whether a text is in a language."""

from __future__ import annotations

from mlx_structured.languages.expression import (
    EMPTY,
    Complement,
    Intersection,
    Language,
    Literals,
    Union,
    length_bounds,
)


def is_string(text: str) -> bool:
    """Whether the text has no surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def matches(language: Language, text: str) -> bool:
    """Whether the text is in the language."""
    return is_string(text) and _matches(language, text)


def _matches(language: Language, text: str) -> bool:
    # Sets of words are asked as they are: by derivatives each of their letters makes new sets.
    if isinstance(language, Literals):
        return text in language.words
    if isinstance(language, Complement):
        return not _matches(language.inner, text)
    if isinstance(language, Union):
        return any(_matches(part, text) for part in language.parts)
    if isinstance(language, Intersection):
        return all(_matches(part, text) for part in language.parts)
    bounds = length_bounds(language)
    if bounds is not None:
        return bounds[0] <= len(text) and (bounds[1] is None or len(text) <= bounds[1])
    for character in text:
        if language is EMPTY:
            return False
        language = language.derivative(ord(character))
    return language.nullable
