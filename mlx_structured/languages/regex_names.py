"""Names of groups within regular expressions, where they are given and where they are referred to.

ECMA-262 22.2.1, ``GroupName``, and its early errors about names.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import regex

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals, union
from mlx_structured.languages.characters import MAX, Ranges
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.regex_digits import (
    FIRST_HALVES,
    MOST_DIGITS,
    SECOND_HALVES,
    EscapeDigits,
    is_first_half,
    joined,
)

if TYPE_CHECKING:
    from mlx_structured.languages.regex_format import Pattern

_START = regex.compile(r"[$_\p{ID_Start}]+")
_PART = regex.compile(r"[$\u200C\u200D\p{ID_Continue}]+")
_FORGOTTEN = "\0"
"""In place of a character of a name that isn't told apart from others."""


class NameCharacters(NamedTuple):
    """What a name may begin with, and what may come later."""

    start: Ranges
    part: Ranges


@lru_cache(maxsize=1)
def name_characters() -> NameCharacters:
    """ECMA-262 12.7, ``IdentifierStartChar`` and ``IdentifierPartChar``."""
    return NameCharacters(_matched(_START), _matched(_PART))


def _matched(pattern: regex.Pattern[str]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sets.ALL:
        text = "".join(map(chr, range(low, high + 1)))
        found += ((low + each.start(), low + each.end() - 1) for each in pattern.finditer(text))
    return sets.normalise(found)


@dataclass(frozen=True)
class Name(MachineState):
    """In the angle brackets of a name.

    Arguments:
        group: the pattern after the name, but for what the name changes.
        name: its characters so far.
        refers: whether it refers to a group, and doesn't give one its name.
    """

    group: Pattern
    name: str = ""
    refers: bool = False

    longest = None
    stepwise = False

    @property
    def shortest(self) -> int:
        return min(
            len(name) - len(self.name) + 1 + self._ended(name).shortest for name in self._choices()
        )

    @property
    def hint(self) -> str:
        best = min(
            self._choices(), key=lambda name: len(name) + self._ended(name).shortest, default=""
        )
        return best[len(self.name) :] + ">"

    def _choices(self) -> list[str]:
        """Names that begin as this one, of which one leads to the shortest pattern."""
        group = self.group
        known = group.wanted | group.defined if self.refers else group.wanted
        choices = sorted(name for name in known if name.startswith(self.name))
        name = self.name
        while not self._may_be(name):
            name += "a"
        return [name, *choices]

    def _may_be(self, name: str) -> bool:
        return bool(name) and (self.refers or name not in self.group.taken)

    def _ended(self, name: str) -> Pattern:
        return self.group.referring(name) if self.refers else self.group.naming(name)

    @property
    def characters(self) -> Ranges:
        """What may come next in the name."""
        return name_characters().part if self.name else name_characters().start

    def _known(self) -> set[str]:
        """The characters that lead on to a name which is known already."""
        length = len(self.name)
        names = self.group.wanted | self.group.defined
        return {name[length] for name in names if name.startswith(self.name) and name != self.name}

    def blurred(self) -> Name:
        return replace(self, group=self.group.blurred())

    def partition(self) -> Partition:
        known = sorted(self._known())
        others = sets.difference(self.characters, sets.of("".join(known)))
        remembered = frozenset() if self.group.is_blurred else frozenset((0,))
        classes = (others, sets.of(">"), sets.of("\\"), *map(sets.single, known))
        return from_classes(classes, remembered)

    def after(self, character: int) -> Language:
        letter = chr(character)
        if letter == ">":
            return machine(self._ended(self.name)) if self._may_be(self.name) else EMPTY
        if letter == "\\":
            return concatenation(
                literals("u"),
                union(
                    machine(NameEscape(self, 0, 4)),
                    concatenation(literals("{"), machine(NameEscape(self, 0, None))),
                ),
            )
        if sets.contains(self.characters, character):
            return machine(self.following(letter))
        return EMPTY

    @cached_property
    def least_after_one(self) -> int:
        """The least of what :attr:`shortest` is after one more character."""
        return min(self.following(letter).shortest for letter in (_FORGOTTEN, *self._known()))

    def following(self, letter: str) -> Name:
        """After one more character of the name."""
        if self.group.is_blurred and letter not in self._known():
            letter = _FORGOTTEN
        return replace(self, name=self.name + letter)


@dataclass(frozen=True)
class NameEscape(EscapeDigits):
    """In the hexadecimal digits of an escape in a name.

    Arguments:
        name: what was read before it.
        value, left, begun: see :class:`EscapeDigits`.
        first: the first half of the pair, if these are the digits of the second half.
    """

    name: Name
    value: int
    left: int | None
    begun: bool = False
    first: int | None = None

    @property
    def shortest(self) -> int:
        return len(self.hint) + self.name.least_after_one

    def blurred(self) -> NameEscape:
        return replace(self, name=self.name.blurred())

    def read(self, value: int, left: int | None) -> NameEscape:
        return replace(self, value=value, left=left, begun=True)

    def closed(self) -> Language:
        if not sets.contains(self.name.characters, self.value):
            return EMPTY
        return machine(self.name.following(chr(self.value)))

    def ended(self) -> Language:
        if self.first is not None:
            return machine(self.name.following(chr(joined(self.first, self.value))))
        if is_first_half(self.value):
            second = NameEscape(self.name, 0, 4, first=self.value)
            return concatenation(literals(["\\u"]), machine(second))
        return machine(self.name.following(chr(self.value)))

    @cached_property
    def missing(self) -> str | None:
        letters = self.name.characters
        if self.left is None:
            for digits in range(not self.begun, MOST_DIGITS + 1):
                first, last = self.value << 4 * digits, ((self.value + 1) << 4 * digits) - 1
                point = _first_in(letters, first, last)
                if point is not None:
                    return f"{point - first:0{digits}x}" if digits else ""
            return None
        first, last = self.value << 4 * self.left, ((self.value + 1) << 4 * self.left) - 1
        if self.first is not None:
            unit = self._second_half(letters, first, last)
        else:
            unit = _first_in(letters, first, last)
            if unit is None:
                unit = _first_half(letters, first, last)
        return None if unit is None else f"{unit - first:0{self.left}x}"

    def _second_half(self, letters: Ranges, first: int, last: int) -> int | None:
        assert self.first is not None
        low, high = max(first, SECOND_HALVES[0]), min(last, SECOND_HALVES[1])
        point = _first_in(letters, joined(self.first, low), joined(self.first, high))
        return None if point is None else SECOND_HALVES[0] + (point & 0x3FF)


def _first_half(letters: Ranges, first: int, last: int) -> int | None:
    """One of the code units that begins a pair for one of the characters."""
    low, high = max(first, FIRST_HALVES[0]), min(last, FIRST_HALVES[1])
    point = _first_in(letters, joined(low, SECOND_HALVES[0]), joined(high, SECOND_HALVES[1]))
    return None if point is None else FIRST_HALVES[0] + (point - 0x10000 >> 10)


def _first_in(ranges: Ranges, low: int, high: int) -> int | None:
    """The first character of a set from ``low`` to ``high``."""
    index = max(bisect_right(ranges, (low, MAX)) - 1, 0)
    for first, last in ranges[index : index + 2]:
        if max(first, low) <= min(last, high):
            return max(first, low)
    return None
