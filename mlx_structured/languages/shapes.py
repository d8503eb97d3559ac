"""What a regular language looks like: one word, a counter, all but some words.

The constructors in :mod:`~.languages.algebra` look here for what they can join.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from mlx_structured.languages import characters as sets
from mlx_structured.languages.expression import (
    EPSILON,
    Characters,
    Complement,
    Concatenation,
    Intersection,
    Language,
    Literals,
    Repetition,
    Union,
    length_bounds,
)

Bounds = tuple[int, "int | None"]
"""From and to, of which ``None`` is infinite."""

SMALL_CLASS = 16
"""A class of at most so many characters joins a set of words as words."""


def single_word(language: Language) -> str | None:
    """The only word, where that is easy to see."""
    if isinstance(language, Literals) and len(language.words) == 1:
        return next(iter(language.words))
    if isinstance(language, Characters) and sets.size(language.ranges) == 1:
        return chr(language.ranges[0][0])
    return None


def counts(language: Language) -> tuple[Language, int, int | None]:
    """The language as a repetition."""
    if isinstance(language, Repetition):
        return language.inner, language.low, language.high
    return language, 1, 1


def excluded_words(language: Language) -> frozenset[str] | None:
    """The words that alone aren't in the language, where it is made so."""
    if not isinstance(language, Complement):
        return None
    inner = language.inner
    if isinstance(inner, Literals):
        return inner.words
    if isinstance(inner, Characters) and sets.size(inner.ranges) <= SMALL_CLASS:
        return frozenset(
            chr(character) for low, high in inner.ranges for character in range(low, high + 1)
        )
    return None


def never_fails(language: Language) -> bool:
    """Whether each string whatsoever begins some word, where that is easy to see.

    So it is after a search: ``.*R`` takes in all that comes, and then a word of ``R``.
    """
    if isinstance(language, Union):
        return any(map(never_fails, language.parts))
    if isinstance(language, Intersection):
        # Where anything may follow as well, a string that satisfies one part can satisfy the next.
        unlimited = [part for part in language.parts if excluded_words(part) is None]
        return all(map(never_fails, unlimited)) and sum(not _is_open(x) for x in unlimited) <= 1
    return isinstance(language, Concatenation) and _is_anything(next(language.parts()))


def _is_open(language: Language) -> bool:
    """Whether anything may follow a word."""
    if isinstance(language, Union):
        return all(map(_is_open, language.parts))
    return isinstance(language, Concatenation) and _is_anything(deque(language.parts(), 1)[0])


def _is_anything(language: Language) -> bool:
    return length_bounds(language) == (0, None)


def drop_tails(parts: dict[Language, None]) -> None:
    """Leave out ``T`` beside ``HT`` where ``H`` may be empty."""
    seen: set[Language] = set()
    for part in list(parts):
        rest = part
        while isinstance(rest, Concatenation) and rest.head.nullable and rest not in seen:
            seen.add(rest)
            rest = rest.tail
            parts.pop(rest, None)


def counter_views(
    part: Language,
) -> Iterator[tuple[tuple[Language | None, Language, Language], Bounds]]:
    """``(before, repeated, after)`` and the counts, for ``X{a,b}T`` and ``HX{a,b}T``."""
    head, tail = (part.head, part.tail) if isinstance(part, Concatenation) else (part, EPSILON)
    inner, low, high = counts(head)
    yield (None, inner, tail), (low, high)
    if isinstance(part, Concatenation):
        head, after = (tail.head, tail.tail) if isinstance(tail, Concatenation) else (tail, EPSILON)
        if isinstance(head, Repetition):
            yield (part.head, head.inner, after), (head.low, head.high)


def least(left: int | None, right: int | None) -> int | None:
    """The smaller of two upper bounds, of which ``None`` is infinite."""
    return right if left is None else left if right is None else min(left, right)


def joined_counts(group: Iterable[Bounds]) -> list[Bounds]:
    """The same counts, where the ranges that overlap or touch are one."""
    merged: list[Bounds] = []
    for low, high in sorted(group, key=lambda bounds: bounds[0]):
        last = merged[-1][1] if merged else 0
        if merged and (last is None or low <= last + 1):
            top = None if last is None or high is None else max(last, high)
            merged[-1] = (merged[-1][0], top)
        else:
            merged.append((low, high))
    return merged
