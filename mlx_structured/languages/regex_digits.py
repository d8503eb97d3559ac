"""Hexadecimal digits of escapes within regular expressions: ECMA-262 22.2.1, u flag."""

from __future__ import annotations

from mlx_structured.languages import characters as sets
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes

HEXADECIMAL = sets.of("0123456789ABCDEFabcdef")
FIRST_HALVES = (0xD800, 0xDBFF)
SECOND_HALVES = (0xDC00, 0xDFFF)

MOST_DIGITS = 6
"""Of a code point in hexadecimal, without leading zeros."""


def joined(first: int, second: int) -> int:
    """The code point of a surrogate pair."""
    return 0x10000 + (first - FIRST_HALVES[0] << 10) + second - SECOND_HALVES[0]


def is_first_half(value: int) -> bool:
    """Whether it is the first code unit of surrogate pairs."""
    return FIRST_HALVES[0] <= value <= FIRST_HALVES[1]


def is_second_half(value: int) -> bool:
    """Whether it is the second code unit of surrogate pairs."""
    return SECOND_HALVES[0] <= value <= SECOND_HALVES[1]


class EscapeDigits(MachineState):
    """In the digits of ``\\x``, ``\\u`` or ``\\u{...}``.

    Arguments:
        value: of the digits so far.
        left: how many digits are missing; ``None`` in braces.
        begun: whether a digit was read.
    """

    value: int
    left: int | None
    begun: bool

    longest = None
    stepwise = False

    @property
    def hint(self) -> str:
        return (self.missing or "") + ("}" if self.left is None else "")

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in sets.each(HEXADECIMAL)), sets.of("}")))

    def after(self, character: int) -> Language:
        if sets.contains(HEXADECIMAL, character):
            value = self.value * 16 + int(chr(character), 16)
            left = None if self.left is None else self.left - 1
            state = self.read(value, left)
            if state.missing is None:
                return EMPTY
            return state.ended() if left == 0 else machine(state)
        return self.closed() if chr(character) == "}" and self.left is None else EMPTY

    @property
    def missing(self) -> str | None:
        """Digits of a character that may come, as few as possible; ``None`` where none may."""
        raise NotImplementedError

    def read(self, value: int, left: int | None) -> EscapeDigits:
        """After one more digit."""
        raise NotImplementedError

    def ended(self) -> Language:
        """After the last digit."""
        raise NotImplementedError

    def closed(self) -> Language:
        """After the brace."""
        raise NotImplementedError
