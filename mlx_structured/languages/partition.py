"""Partitions of the alphabet into classes of characters that a language doesn't tell apart.

G. Owens, J. Reppy and A. Turon, "Regular-expression derivatives re-examined" (2009), section 4.2:
instead of 1.1 million derivatives a state has one for each class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from weakref import WeakValueDictionary

from mlx_structured.languages.characters import MAX, SURROGATES, Ranges, normalise
from mlx_structured.languages.remembering import remembered

SURROGATE_CLASS = -1
"""The class of the code points that are no characters, in every partition."""


class Partition:
    """Interned: equal partitions are the same object.

    ``starts`` holds the first code points of the segments, from 0 on, ``classes`` the class of each
    segment, ``representatives`` the first character of each class.
    """

    __slots__ = ("__weakref__", "_sets", "classes", "representatives", "starts")

    def __init__(self, starts: tuple[int, ...], classes: tuple[int, ...]) -> None:
        self._sets: tuple[Ranges, ...] | None = None
        self.starts = starts
        self.classes = classes
        first: dict[int, int] = {}
        for start, number in zip(starts, classes, strict=True):
            first.setdefault(number, start)
        first.pop(SURROGATE_CLASS)
        self.representatives = tuple(first[number] for number in range(len(first)))

    def representative(self, code_point: int) -> int | None:
        """The character that stands for this one's class. ``None`` for a surrogate."""
        number = self.classes[bisect_right(self.starts, code_point) - 1]
        return None if number == SURROGATE_CLASS else self.representatives[number]

    @property
    def sets(self) -> tuple[Ranges, ...]:
        """The characters of each class."""
        if self._sets is None:
            ranges: list[list[tuple[int, int]]] = [[] for _ in self.representatives]
            ends = (*self.starts[1:], MAX + 1)
            for start, end, number in zip(self.starts, ends, self.classes, strict=True):
                if number != SURROGATE_CLASS:
                    ranges[number].append((start, end - 1))
            self._sets = tuple(map(normalise, ranges))
        return self._sets


_INTERNED: WeakValueDictionary[tuple[tuple[int, ...], tuple[int, ...]], Partition] = (
    WeakValueDictionary()
)


def _partition(segments: Iterable[tuple[int, Hashable]]) -> Partition:
    """Segments (first code point, mark of its class), in order; ``None`` marks surrogates."""
    numbers: dict[Hashable, int] = {}
    starts: list[int] = []
    classes: list[int] = []
    for start, mark in segments:
        number = SURROGATE_CLASS if mark is None else numbers.setdefault(mark, len(numbers))
        if not classes or classes[-1] != number:
            starts.append(start)
            classes.append(number)
    key = (tuple(starts), tuple(classes))
    found = _INTERNED.get(key)
    if found is None:
        # Two threads may both get here: a second object costs a cache miss and nothing else.
        found = _INTERNED[key] = Partition(*key)
    return found


def _size(partition: Partition) -> int:
    # With the sets, and the ranges that it was made from.
    return 1_000 + 300 * len(partition.starts)


@remembered(_size)
def from_classes(classes: tuple[Ranges, ...]) -> Partition:
    """One class for each of the disjoint sets, and one for all other characters."""
    marked: list[tuple[int, int, Hashable]] = [(*SURROGATES, None)]
    for number, ranges in enumerate(classes):
        marked += ((first, last, number) for first, last in ranges)
    segments: list[tuple[int, Hashable]] = []
    position = 0
    for first, last, mark in sorted(marked, key=lambda segment: segment[0]):
        if position < first:
            segments.append((position, "other"))
        segments.append((first, mark))
        position = last + 1
    if position <= MAX:
        segments.append((position, "other"))
    return _partition(segments)


@remembered(_size)
def refine(left: Partition, right: Partition) -> Partition:
    """The coarsest partition that tells apart whatever either of the two does."""
    if left is right:
        return left
    segments: list[tuple[int, Hashable]] = []
    i = j = 0
    starts = sorted({*left.starts, *right.starts})
    for start in starts:
        while i + 1 < len(left.starts) and left.starts[i + 1] <= start:
            i += 1
        while j + 1 < len(right.starts) and right.starts[j + 1] <= start:
            j += 1
        surrogate = left.classes[i] == SURROGATE_CLASS
        segments.append((start, None if surrogate else (left.classes[i], right.classes[j])))
    return _partition(segments)


WHOLE = from_classes(())
"""All characters in one class."""
