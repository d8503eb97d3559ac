"""Sets of characters, as sorted tuples of code point ranges, and the classes that ECMA-262 names.

A character is a Unicode scalar value: surrogates (U+D800 to U+DFFF) are no characters and belong to
no set, not even to a complement. JSON can't hold a lone one either in UTF-8.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator

Ranges = tuple[tuple[int, int], ...]
"""Ranges ``(low, high)``, both ends included, sorted, with a gap between any two neighbours."""

MAX = sys.maxunicode
SURROGATES = (0xD800, 0xDFFF)
ALL: Ranges = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, MAX))
NONE: Ranges = ()


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same set, sorted, neighbours joined and surrogates left out."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(_without_surrogates(ranges)):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    first, last = SURROGATES
    for low, high in ranges:
        if high < first or low > last:
            yield low, high
            continue
        if low < first:
            yield low, first - 1
        if high > last:
            yield last + 1, high


def union(*sets: Ranges) -> Ranges:
    """The characters in any of the sets."""
    return normalise(pair for ranges in sets for pair in ranges)


def complement(ranges: Ranges) -> Ranges:
    """The characters that aren't in the set."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX:
        gaps.append((start, MAX))
    return normalise(gaps)


def intersection(*sets: Ranges) -> Ranges:
    """The characters in all of the sets."""
    return complement(union(*map(complement, sets)))


def difference(ranges: Ranges, other: Ranges) -> Ranges:
    """The characters of the first set that aren't in the second."""
    return complement(union(complement(ranges), other))


def contains(ranges: Ranges, character: int) -> bool:
    """Whether the code point is in the set."""
    index = bisect_right(ranges, (character, MAX)) - 1
    return index >= 0 and character <= ranges[index][1]


def overlaps(ranges: Ranges, low: int, high: int) -> bool:
    """Whether any code point from ``low`` to ``high`` is in the set."""
    index = bisect_right(ranges, (high, MAX)) - 1
    return index >= 0 and low <= ranges[index][1]


def size(ranges: Ranges) -> int:
    """How many characters the set has."""
    return sum(high - low + 1 for low, high in ranges)


def single(character: str) -> Ranges:
    """The set of one character."""
    return normalise([(ord(character), ord(character))])


def of(text: str) -> Ranges:
    """The set of the characters of a text."""
    return normalise((ord(character), ord(character)) for character in text)


DIGITS: Ranges = of("0123456789")
"""ECMA-262 22.2.2.9, ``\\d``: ASCII digits only."""

WORD: Ranges = normalise([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
"""``\\w``: ASCII letters, digits and the underscore."""

WHITESPACE: Ranges = normalise(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
"""``\\s``: WhiteSpace (with U+FEFF and all of category Zs) and LineTerminator of ECMA-262 12.2."""

LINE_TERMINATORS: Ranges = of("\n\r\u2028\u2029")
DOT: Ranges = complement(LINE_TERMINATORS)
"""``.`` without the s flag: all but the four line terminators."""


def each(ranges: Ranges) -> Iterable[tuple[int, int]]:
    """The characters of a set, each as a range."""
    return ((point, point) for low, high in ranges for point in range(low, high + 1))
