"""Partitions of the alphabet into classes of characters that a language doesn't tell apart.

G. Owens, J. Reppy and A. Turon, "Regular-expression derivatives re-examined" (2009), section 4.2:
instead of 1.1 million derivatives a state has one for each class. Where a state remembers which
character was read, the characters of a class are alike, but each has a derivative of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Set
from weakref import WeakValueDictionary

from mlx_structured.languages.characters import MAX, SURROGATES, Ranges, normalise
from mlx_structured.languages.remembering import remembered

SURROGATE_CLASS = -1
"""The class of the code points that are no characters, in every partition."""


class Partition:
    """Interned: equal partitions are the same object.

    ``starts`` holds the first code points of the segments, from 0 on, ``classes`` the class of each
    segment, ``representatives`` the first character of each class. ``remembered`` has the classes
    whose characters lead to a derivative each. All of these are empty or none, as far as the
    state is asked alone, and none has the empty word. Of those classes, in ``ordered`` each
    character's derivative is part of that of any character before it.
    """

    __slots__ = (
        "__weakref__",
        "_sets",
        "classes",
        "ordered",
        "remembered",
        "representatives",
        "starts",
    )

    def __init__(
        self,
        starts: tuple[int, ...],
        classes: tuple[int, ...],
        remembered: frozenset[int],
        ordered: frozenset[int],
    ) -> None:
        self._sets: tuple[Ranges, ...] | None = None
        self.starts = starts
        self.classes = classes
        self.remembered = remembered
        self.ordered = ordered
        first: dict[int, int] = {}
        for start, number in zip(starts, classes, strict=True):
            first.setdefault(number, start)
        first.pop(SURROGATE_CLASS)
        self.representatives = tuple(first[number] for number in range(len(first)))

    def representative(self, code_point: int) -> int | None:
        """The character with the derivative of this one. ``None`` for a surrogate."""
        number = self.classes[bisect_right(self.starts, code_point) - 1]
        if number in self.remembered:
            return code_point
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


_INTERNED: WeakValueDictionary[Hashable, Partition] = WeakValueDictionary()


def _partition(
    segments: Iterable[tuple[int, Hashable]],
    remembered: Set[Hashable],
    ordered: Set[Hashable],
) -> Partition:
    """Segments (first code point, mark of its class), in order; ``None`` marks surrogates."""
    numbers: dict[Hashable, int] = {}
    starts: list[int] = []
    classes: list[int] = []
    for start, mark in segments:
        number = SURROGATE_CLASS if mark is None else numbers.setdefault(mark, len(numbers))
        if not classes or classes[-1] != number:
            starts.append(start)
            classes.append(number)
    key = (
        tuple(starts),
        tuple(classes),
        frozenset(numbers[mark] for mark in remembered if mark in numbers),
        frozenset(numbers[mark] for mark in ordered if mark in numbers),
    )
    found = _INTERNED.get(key)
    if found is None:
        # Two threads may both get here: a second object costs a cache miss and nothing else.
        found = _INTERNED[key] = Partition(*key)
    return found


def _size(partition: Partition) -> int:
    # With the sets, and the ranges that it was made from.
    return 1_000 + 300 * len(partition.starts)


@remembered(_size)
def from_classes(
    classes: tuple[Ranges, ...],
    remembered: frozenset[int] = frozenset(),
    ordered: frozenset[int] = frozenset(),
) -> Partition:
    """One class for each of the disjoint sets, and one for all other characters.

    ``remembered`` and ``ordered`` are those of the partition, as indices of the sets.
    """
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
    return _partition(segments, remembered, ordered)


@remembered(_size)
def refine(left: Partition, right: Partition) -> Partition:
    """The coarsest partition that tells apart whatever either of the two does."""
    if left is right:
        return left
    segments: list[tuple[int, Hashable]] = []
    remembered: set[Hashable] = set()
    ordered: set[Hashable] = set()
    i = j = 0
    starts = sorted({*left.starts, *right.starts})
    for start in starts:
        while i + 1 < len(left.starts) and left.starts[i + 1] <= start:
            i += 1
        while j + 1 < len(right.starts) and right.starts[j + 1] <= start:
            j += 1
        surrogate = left.classes[i] == SURROGATE_CLASS
        mark = (left.classes[i], right.classes[j])
        segments.append((start, None if surrogate else mark))
        remembering = [
            number in of.ordered
            for of, number in zip((left, right), mark, strict=True)
            if number in of.remembered
        ]
        if remembering:
            remembered.add(mark)
        if remembering and all(remembering):
            ordered.add(mark)
    return _partition(segments, remembered, ordered)


WHOLE = from_classes(())
"""All characters in one class."""
