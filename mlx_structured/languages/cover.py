"""Languages without machines that contain others: if those are empty, so are these."""

from __future__ import annotations

from mlx_structured.languages.algebra import concatenation, intersection, repetition, union
from mlx_structured.languages.expression import (
    Concatenation,
    Intersection,
    Language,
    Repetition,
    Union,
)
from mlx_structured.languages.machine import Machine


def cover(language: Language) -> Language | None:
    """A language without machines that has all of the words, and maybe others.

    Returns:
        ``None`` where none is known: not every machine has one, and no complement of one.
    """
    if not language.irregular:
        return language
    if isinstance(language, Machine):
        return language.state.cover
    if isinstance(language, Repetition):
        inner = cover(language.inner)
        return None if inner is None else repetition(inner, language.low, language.high)
    if not isinstance(language, (Concatenation, Union, Intersection)):
        return None
    parts: list[Language] = []
    for part in language.parts() if isinstance(language, Concatenation) else language.parts:
        found = cover(part)
        if found is None:
            return None
        parts.append(found)
    if isinstance(language, Concatenation):
        return concatenation(*parts)
    return union(parts) if isinstance(language, Union) else intersection(parts)
