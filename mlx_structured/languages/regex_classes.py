"""Classes of characters within regular expressions: ECMA-262 22.2.1, ``ClassContents``, u flag.

A class is read character by character. Of what was read, only the last character matters: a range
may start there, and must not end below.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals, union
from mlx_structured.languages.characters import MAX, Ranges
from mlx_structured.languages.expression import EMPTY, EPSILON, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.unicode_properties import property_names

SYNTAX = r"^$\.*+?()[]{}|/"
"""What a backslash makes a character like others."""

LETTERS = sets.normalise([(0x41, 0x5A), (0x61, 0x7A)])
HEXADECIMAL = sets.of("0123456789ABCDEFabcdef")

_PLAIN = sets.difference(sets.ALL, sets.of("\\]-"))
_FIRST_HALVES = (0xD800, 0xDBFF)
_SECOND_HALVES = (0xDC00, 0xDFFF)
_LANDMARKS = (
    *range(0x80),
    *(0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xD6, 0xD8, 0xDF, 0xE0, 0xF6, 0xF8, 0xFF, 0x100, 0x17F),
    *(0x250, 0x300, 0x36F, 0x370, 0x391, 0x3A9, 0x3B1, 0x3C9, 0x400, 0x410, 0x42F, 0x430, 0x44F),
    *(0x4FF, 0x531, 0x590, 0x5D0, 0x5EA, 0x600, 0x621, 0x64A, 0x6FF, 0x900, 0x97F, 0xE01, 0xE5B),
    *(0x10A0, 0x10D0, 0x1100, 0x1E00, 0x1FFF, 0x2000, 0x200B, 0x200F, 0x2010, 0x2028, 0x206F),
    *(0x2190, 0x2600, 0x27BF, 0x3000, 0x303F, 0x3041, 0x3096, 0x30A0, 0x30A1, 0x30FF, 0x3400),
    *(0x4E00, 0x9FA5, 0x9FFF, 0xAC00, 0xD7A3, 0xE000, 0xF8FF, 0xF900, 0xFE00, 0xFEFF, 0xFF01),
    *(0xFF5E, 0xFFFF, 0x10000, 0x1F300, 0x1F600, 0x1F64F, 0x1FAFF, 0x20000, MAX),
)
"""Code points of which one must lie within a range from a character that isn't escaped."""


def each(ranges: Ranges) -> Iterable[tuple[int, int]]:
    """The characters of a set, each as a range."""
    return ((point, point) for low, high in ranges for point in range(low, high + 1))


@lru_cache(maxsize=1)
def properties() -> Language:
    """``p{...}`` and ``P{...}``."""
    return concatenation(literals(["p{", "P{"]), literals(property_names()), literals(["}"]))


def joined(first: int, second: int) -> int:
    """The code point of a surrogate pair."""
    return 0x10000 + (first - _FIRST_HALVES[0] << 10) + second - _SECOND_HALVES[0]


def is_first_half(value: int) -> bool:
    """Whether it is the first code unit of surrogate pairs."""
    return _FIRST_HALVES[0] <= value <= _FIRST_HALVES[1]


def is_second_half(value: int) -> bool:
    """Whether it is the second code unit of surrogate pairs."""
    return _SECOND_HALVES[0] <= value <= _SECOND_HALVES[1]


@dataclass(frozen=True)
class ClassBody(MachineState):
    """In brackets, between two characters.

    Arguments:
        first: whether nothing was read yet, so that ``^`` is the complement's sign.
        low: the code point from which on a range may end that starts with the last character;
            ``None`` where no range starts there.
        joined: whether a character, which isn't the end of a range, comes before.
        dash: whether a hyphen follows that character.
    """

    first: bool = True
    low: int | None = None
    joined: bool = False
    dash: bool = False

    shortest = 1
    longest = None
    hint = "]"
    stepwise = False

    def partition(self) -> Partition:
        if self.dash:
            above = sets.intersection(_PLAIN, sets.normalise([(self.least(), MAX)]))
            return from_classes((above, *_CLASS_SYNTAX))
        return from_classes((*_SPANS, sets.of("^"), *_CLASS_SYNTAX))

    def after(self, character: int) -> Language:
        letter = chr(character)
        if letter == "]":
            return EPSILON
        if letter == "\\":
            return _escapes(self, None)
        if letter == "^" and self.first:
            return machine(ClassBody(first=False))
        if letter == "-" and self.joined and not self.dash:
            return machine(replace(self, dash=True))
        following = self.following(character)
        if following is not None and not self.dash:
            following = replace(following, low=_LANDMARKS[bisect_left(_LANDMARKS, character)])
        return _language(following)

    def following(self, value: int) -> ClassBody | None:
        """After a character with this code point."""
        if not self.dash:
            return ClassBody(first=False, low=value, joined=True)
        return None if value < self.least() else ClassBody(first=False)

    def least(self) -> int:
        """The least code point that may come."""
        return 0 if not self.dash else MAX + 1 if self.low is None else self.low


def _language(state: ClassBody | None) -> Language:
    return EMPTY if state is None else machine(state)


def _escapes(body: ClassBody | None, half: Half | None) -> Language:
    """After a backslash in a class.

    Arguments:
        body: the class before it; ``None`` where only the second half of a pair may come.
        half: what that would be the second half of.
    """
    choices: list[Language] = []
    starts: list[tuple[str, CodePoint]] = [("u", CodePoint(body, 0, 4, half=half))]
    if body is not None:
        words: dict[Language, list[str]] = {}
        for text, value in _CLASS_ESCAPES.items():
            words.setdefault(_language(body.following(value)), []).append(text)
        choices += (concatenation(literals(texts), after) for after, texts in words.items())
        starts += [("x", CodePoint(body, 0, 2)), ("u{", CodePoint(body, 0, None))]
        after_null = body.following(0)
        if after_null is not None:
            choices.append(concatenation(literals("0"), machine(NoDigit(after_null))))
        if not body.dash:
            after_set = machine(ClassBody(first=False, joined=True))
            choices.append(concatenation(union(literals("dDsSwW"), properties()), after_set))
    choices += (
        concatenation(literals([prefix]), machine(state))
        for prefix, state in starts
        if state.is_alive()
    )
    return union(choices)


def _spans() -> Iterable[Ranges]:
    """The characters without a meaning of their own in a class, from landmark to landmark."""
    plain = sets.difference(_PLAIN, sets.of("^"))
    for low, high in pairwise((-1, *_LANDMARKS)):
        yield sets.intersection(plain, sets.normalise([(low + 1, high)]))


_SPANS = tuple(_spans())
_CLASS_SYNTAX = (sets.of("\\"), sets.of("]"), sets.of("-"))
_CLASS_ESCAPES = {
    **{letter: ord(letter) for letter in (*SYNTAX, "-")},
    **{"b": 0x08, "t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D},
    **{f"c{chr(letter)}": letter % 32 for letter, _ in each(LETTERS)},
}
"""What follows a backslash in a class, for one character, but its digits."""


@dataclass(frozen=True)
class CodePoint(MachineState):
    """In the hexadecimal digits of an escape in a class.

    Arguments:
        body: the class before the escape; ``None`` where only a second half may come.
        value: of the digits so far.
        left: how many digits are missing; ``None`` in braces.
        begun: whether a digit was read.
        half: what stands before, if it may be the second half of a pair.
    """

    body: ClassBody | None
    value: int
    left: int | None
    begun: bool = False
    half: Half | None = None

    longest = None
    hint = ""
    stepwise = False

    @property
    def shortest(self) -> int:
        return 1 + (self.left or 1)

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in each(HEXADECIMAL)), sets.of("}")))

    def after(self, character: int) -> Language:
        if sets.contains(HEXADECIMAL, character):
            value = self.value * 16 + int(chr(character), 16)
            left = None if self.left is None else self.left - 1
            state = replace(self, value=value, left=left, begun=True)
            if not state.is_alive():
                return EMPTY
            return state._ended() if left == 0 else machine(state)
        if chr(character) == "}" and self.left is None and self.begun:
            return self._ended()
        return EMPTY

    def _ended(self) -> Language:
        if self.half is not None and is_second_half(self.value):
            return _language(self.half.with_second(self.value))
        if self.body is None:
            return EMPTY
        if self.left is not None and is_first_half(self.value):
            return machine(Half(self.body, self.value))
        return _language(self.body.following(self.value))

    def is_alive(self) -> bool:
        """Whether some digits make it a character that may come."""
        least = MAX + 1 if self.body is None else self.body.least()
        if self.left is None:
            first, last = self.value, self.value or MAX
            while first and first * 16 <= MAX:
                first, last = first * 16, last * 16 + 15
            return first <= MAX and least <= min(last, MAX)
        first, last = self.value << 4 * self.left, ((self.value + 1) << 4 * self.left) - 1
        return any(end >= least for end in self._ends(first, last)) or (
            self.half is not None
            and first <= _SECOND_HALVES[1]
            and last >= _SECOND_HALVES[0]
            and self.half.with_second(min(last, _SECOND_HALVES[1])) is not None
        )

    def _ends(self, first: int, last: int) -> Iterator[int]:
        """The greatest code points that a code unit between the two may lead to."""
        if last < _SECOND_HALVES[0] or last > _SECOND_HALVES[1] or self.half is None:
            yield last
        elif first < _SECOND_HALVES[0]:
            yield _FIRST_HALVES[1]
        if first <= _FIRST_HALVES[1] and last >= _FIRST_HALVES[0]:
            yield joined(min(last, _FIRST_HALVES[1]), _SECOND_HALVES[1])


@dataclass(frozen=True)
class Half(MachineState):
    """After the first half of a surrogate pair: alone it is a code point of its own.

    Arguments:
        body: the class before it.
        value: the code unit.
    """

    body: ClassBody
    value: int

    longest = None
    stepwise = False

    @property
    def alone(self) -> ClassBody | None:
        """The class after it, without a second half."""
        return self.body.following(self.value)

    @property
    def shortest(self) -> int:
        return 1 if self.alone is not None else len("\\udfff]")

    @property
    def hint(self) -> str:
        return "]" if self.alone is not None else "\\udfff]"

    def with_second(self, second: int) -> ClassBody | None:
        """The class after both halves."""
        return self.body.following(joined(self.value, second))

    def partition(self) -> Partition:
        return from_classes(_CLASS_SYNTAX) if self.alone is None else self.alone.partition()

    def after(self, character: int) -> Language:
        alone = self.alone
        if chr(character) == "\\":
            return _escapes(alone, self)
        return EMPTY if alone is None else alone.after(character)


@dataclass(frozen=True)
class NoDigit(MachineState):
    """In a class, where no digit may come: it would change the escape before it."""

    body: ClassBody

    shortest = 1
    longest = None
    hint = "]"
    stepwise = False

    def partition(self) -> Partition:
        return self.body.partition()

    def after(self, character: int) -> Language:
        return EMPTY if sets.contains(sets.DIGITS, character) else self.body.after(character)
