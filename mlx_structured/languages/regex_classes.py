"""Classes of characters within regular expressions: ECMA-262 22.2.1, ``ClassContents``, u flag.

A class is read character by character. Of what was read, only the last character matters: a range
may start there, and must not end below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals, union
from mlx_structured.languages.characters import MAX
from mlx_structured.languages.expression import EMPTY, EPSILON, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.regex_digits import (
    FIRST_HALVES,
    MOST_DIGITS,
    SECOND_HALVES,
    EscapeDigits,
    is_first_half,
    is_second_half,
    joined,
)
from mlx_structured.languages.unicode_properties import property_names

SYNTAX = r"^$\.*+?()[]{}|/"
"""What a backslash makes a character like others."""

LETTERS = sets.normalise([(0x41, 0x5A), (0x61, 0x7A)])
_PLAIN = sets.difference(sets.ALL, sets.of("\\]-"))


@lru_cache(maxsize=1)
def properties() -> Language:
    """``p{...}`` and ``P{...}``."""
    return concatenation(literals(["p{", "P{"]), literals(property_names()), literals(["}"]))


@dataclass(frozen=True)
class ClassBody(MachineState):
    """In brackets, between two characters.

    Arguments:
        first: whether nothing was read yet, so that ``^`` is the complement's sign.
        low: the code point from which on a range may end that starts with the last character;
            ``None`` where no range starts there.
        joined: whether a character, which isn't the end of a range, comes before.
        dash: whether a hyphen follows that character.
        is_blurred: whether characters beyond ASCII aren't told apart.
    """

    first: bool = True
    low: int | None = None
    joined: bool = False
    dash: bool = False
    is_blurred: bool = False

    shortest = 1
    longest = None
    hint = "]"
    stepwise = False

    def blurred(self) -> ClassBody:
        return replace(self, is_blurred=True)

    def partition(self) -> Partition:
        if self.dash:
            above = sets.intersection(_PLAIN, sets.normalise([(self.least(), MAX)]))
            return from_classes((above, *_CLASS_SYNTAX))
        last = frozenset() if self.is_blurred else frozenset((0,))
        classes = (
            _BEYOND_ASCII,
            *((pair,) for pair in sets.each(_ASCII)),
            sets.of("^"),
            *_CLASS_SYNTAX,
        )
        return from_classes(classes, last, last)

    def after(self, character: int) -> Language:
        letter = chr(character)
        if letter == "]":
            return EPSILON
        if letter == "\\":
            return _escapes(self, None)
        if letter == "^" and self.first:
            return machine(replace(self, first=False))
        if letter == "-" and self.joined and not self.dash:
            return machine(replace(self, dash=True))
        following = self.following(character)
        if following is not None and self.is_blurred and not letter.isascii():
            following = replace(following, low=None)
        return _language(following)

    def following(self, value: int) -> ClassBody | None:
        """After a character with this code point."""
        if not self.dash:
            return replace(self, first=False, low=value, joined=True)
        return None if value < self.least() else self._restarted(joined=False)

    def after_set(self) -> ClassBody:
        """After characters of which none begins a range."""
        return self._restarted(joined=True)

    def _restarted(self, *, joined: bool) -> ClassBody:
        return ClassBody(first=False, joined=joined, is_blurred=self.is_blurred)

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
            sets_of_characters = union(literals("dDsSwW"), properties())
            choices.append(concatenation(sets_of_characters, machine(body.after_set())))
    choices += (
        concatenation(literals([prefix]), machine(state))
        for prefix, state in starts
        if state.missing is not None
    )
    return union(choices)


_BEYOND_ASCII = sets.difference(sets.ALL, sets.normalise([(0, 0x7F)]))
_ASCII = sets.difference(_PLAIN, sets.union(_BEYOND_ASCII, sets.of("^")))
_CLASS_SYNTAX = (sets.of("\\"), sets.of("]"), sets.of("-"))
_CLASS_ESCAPES = {
    **{letter: ord(letter) for letter in (*SYNTAX, "-")},
    **{"b": 0x08, "t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D},
    **{f"c{chr(letter)}": letter % 32 for letter, _ in sets.each(LETTERS)},
}
"""What follows a backslash in a class, for one character, but its digits."""


@dataclass(frozen=True)
class CodePoint(EscapeDigits):
    """In the hexadecimal digits of an escape in a class.

    Arguments:
        body: the class before the escape; ``None`` where only a second half may come.
        value, left, begun: see :class:`EscapeDigits`.
        half: what stands before, if it may be the second half of a pair.
    """

    body: ClassBody | None
    value: int
    left: int | None
    begun: bool = False
    half: Half | None = None

    @property
    def shortest(self) -> int:
        return len(self.hint) + 1

    def blurred(self) -> CodePoint:
        body = None if self.body is None else self.body.blurred()
        return replace(self, body=body, half=None if self.half is None else self.half.blurred())

    def read(self, value: int, left: int | None) -> CodePoint:
        return replace(self, value=value, left=left, begun=True)

    def closed(self) -> Language:
        return self.ended() if self.begun else EMPTY

    def ended(self) -> Language:
        if self.half is not None and is_second_half(self.value):
            return _language(self.half.with_second(self.value))
        if self.body is None:
            return EMPTY
        if self.left is not None and is_first_half(self.value):
            return machine(Half(self.body, self.value))
        return _language(self.body.following(self.value))

    @cached_property
    def missing(self) -> str | None:
        least = MAX + 1 if self.body is None else self.body.least()
        if self.left is None:
            for digits in range(not self.begun, MOST_DIGITS + 1):
                first, last = self.value << 4 * digits, ((self.value + 1) << 4 * digits) - 1
                if max(first, least) <= min(last, MAX):
                    return f"{max(first, least) - first:0{digits}x}" if digits else ""
            return None
        first, last = self.value << 4 * self.left, ((self.value + 1) << 4 * self.left) - 1
        best = (max(first, least), 0xE000, min(last, FIRST_HALVES[1]), min(last, SECOND_HALVES[1]))
        for unit in best:
            if first <= unit <= last and self._may_be(unit, least):
                return f"{unit - first:0{self.left}x}"
        return None

    def _may_be(self, unit: int, least: int) -> bool:
        if self.half is not None and is_second_half(unit):
            return self.half.with_second(unit) is not None
        return least <= (joined(unit, SECOND_HALVES[1]) if is_first_half(unit) else unit)


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

    def blurred(self) -> Half:
        return replace(self, body=self.body.blurred())

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

    def blurred(self) -> NoDigit:
        return NoDigit(self.body.blurred())

    def partition(self) -> Partition:
        return self.body.partition()

    def after(self, character: int) -> Language:
        return EMPTY if sets.contains(sets.DIGITS, character) else self.body.after(character)
