"""States of numbers that stand for many, when no token is long enough for the digits to matter.

::

    FIRST --0-9--> WHOLE --0-9--> WHOLE     digits before the point
      |              |
      .              .
      v              v
    SHORT          POINT                    then --0--> ZERO, --1-9--> PLACE, again and again

A number below 10 (FIRST, SHORT and what comes after it) may also have an exponent after its last
digit, if that isn't 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mlx_structured.automaton.lexeme import DONE, LexemeState

FIRST, WHOLE, SHORT, POINT = "first", "whole", "short", "point"
ZERO, PLACE, SHORT_ZERO, SHORT_PLACE = "zero", "place", "short zero", "short place"

MOST_IN_TOKEN = 3
"""In a token of no more digits, an exponent has at most two of them if other digits stand before
it, or begins the token; all exponents of two digits are alike for all numbers."""

_AFTER = {
    FIRST: (WHOLE, WHOLE),
    WHOLE: (WHOLE, WHOLE),
    SHORT: (SHORT_ZERO, SHORT_PLACE),
    SHORT_ZERO: (SHORT_ZERO, SHORT_PLACE),
    SHORT_PLACE: (SHORT_ZERO, SHORT_PLACE),
    POINT: (ZERO, PLACE),
    ZERO: (ZERO, PLACE),
    PLACE: (ZERO, PLACE),
}
"""After a 0, after another digit."""


class DigitRun(LexemeState):
    """One of the states above.

    A first zero after the point is labelled as one that may end the number, as in ``12.0``.
    """

    __slots__ = ("_is_first", "exponent", "kind")

    def __init__(self, kind: str, exponent: LexemeState, *, is_first: bool) -> None:
        ends = is_first or kind in (FIRST, WHOLE, PLACE, SHORT_PLACE)
        super().__init__(DONE if ends else None)
        self.kind = kind
        self.exponent = exponent
        self._is_first = is_first

    def expand(self) -> Mapping[int, LexemeState]:
        kind, exponent = self.kind, self.exponent
        is_first = kind in (SHORT, POINT)
        zero, other = _AFTER[kind]
        transitions: dict[int, LexemeState] = dict.fromkeys(
            b"123456789", digit_run(other, exponent)
        )
        transitions[0x30] = digit_run(zero, exponent, is_first=is_first)
        if kind in (FIRST, WHOLE):
            transitions[0x2E] = digit_run(SHORT if kind == FIRST else POINT, exponent)
        if kind in (FIRST, SHORT_PLACE):
            transitions[0x65] = exponent
        return transitions


@lru_cache(maxsize=64)
def digit_run(kind: str, exponent: LexemeState, *, is_first: bool = False) -> DigitRun:
    """The interned state.

    Arguments:
        kind: which of the states above.
        exponent: what may come after an ``e``.
        is_first: whether a digit was the first one after the point.
    """
    return DigitRun(kind, exponent, is_first=is_first)
