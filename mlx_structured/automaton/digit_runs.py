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


class DigitRuns:
    """The states above, each made once.

    Arguments:
        exponent: what may come after an ``e``, ``None`` where none may come.
    """

    __slots__ = ("_states", "exponent")

    def __init__(self, exponent: LexemeState | None) -> None:
        self.exponent = exponent
        self._states: dict[tuple[str, bool], DigitRun] = {}

    def state(self, kind: str, *, is_first: bool = False) -> DigitRun:
        """One of the states; ``is_first`` after the first digit behind the point."""
        found = self._states.get((kind, is_first))
        if found is None:
            found = self._states[kind, is_first] = DigitRun(self, kind, is_first=is_first)
        return found


class DigitRun(LexemeState):
    """One of the states above.

    A first zero after the point may end the number, as in ``12.0``.
    """

    __slots__ = ("kind", "runs")

    is_common = True

    def __init__(self, runs: DigitRuns, kind: str, *, is_first: bool) -> None:
        ends = is_first or kind in (FIRST, WHOLE, PLACE, SHORT_PLACE)
        super().__init__(DONE if ends else None)
        self.runs = runs
        self.kind = kind

    def expand(self) -> Mapping[int, LexemeState]:
        kind, runs = self.kind, self.runs
        zero, other = _AFTER[kind]
        transitions: dict[int, LexemeState] = dict.fromkeys(b"123456789", runs.state(other))
        transitions[0x30] = runs.state(zero, is_first=kind in (SHORT, POINT))
        if kind in (FIRST, WHOLE):
            transitions[0x2E] = runs.state(SHORT if kind == FIRST else POINT)
        if kind in (FIRST, SHORT_PLACE) and runs.exponent is not None:
            transitions[0x65] = runs.exponent
        return transitions


class NearBound(LexemeState):
    """A state whose digits matter, for tokens of at most so many digits more.

    After each of them it may be one of the states above that is left.

    Arguments:
        real: the state.
        digits: how many digits.
    """

    __slots__ = ("_digits", "_real")

    def __init__(self, real: LexemeState, digits: int) -> None:
        super().__init__(real.label)
        self._real = real
        self._digits = digits

    def expand(self) -> Mapping[int, LexemeState]:
        left = self._digits - 1
        return {
            byte: after.stand_in(left) if left and 0x30 <= byte <= 0x39 else after
            for byte, after in self._real.transitions.items()
        }


def near_bound(real: LexemeState, digits: int) -> LexemeState:
    """The state itself where a token has only one digit, which leads to states of the text."""
    return real if digits < 2 else NearBound(real, digits)
