"""Which characters ECMA-262 doesn't tell apart with the flags i and u.

ECMA-262 22.2.2.7.3, Canonicalize: those with the same simple case folding, of Unicode's
CaseFolding.txt (status C and S). Python has the full case folding (C and F). The two agree about
which characters are the same since Unicode 15.1: what F makes the same word of, S makes the same
character of.
"""

from __future__ import annotations

from functools import lru_cache

from mlx_structured.languages.characters import ALL, Ranges, contains, union
from mlx_structured.languages.remembering import remembered


@lru_cache(maxsize=1)
def _cases() -> tuple[tuple[int, ...], ...]:
    """The characters that aren't told apart, for each that isn't alone."""
    folded: dict[str, list[int]] = {}
    for low, high in ALL:
        for point in range(low, high + 1):
            character = chr(point)
            folding = character.casefold()
            if folding != character:
                folded.setdefault(folding, []).append(point)
    for folding, points in folded.items():
        if len(folding) == 1:
            points.append(ord(folding))
    return tuple(tuple(points) for points in folded.values() if len(points) > 1)


def _size(ranges: Ranges) -> int:
    return 500 + 300 * len(ranges)


@remembered(_size)
def ignoring_case(ranges: Ranges) -> Ranges:
    """The characters of the set, and those that differ from one of them by case alone."""
    added = [
        (point, point)
        for points in _cases()
        if any(contains(ranges, point) for point in points)
        for point in points
    ]
    return union(ranges, tuple(added))
