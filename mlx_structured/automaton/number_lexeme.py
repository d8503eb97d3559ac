"""Numbers: the lexeme of a set of numbers in one spelling."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from weakref import WeakValueDictionary

from mlx_structured.automaton.any_number import any_number
from mlx_structured.automaton.integer_digits import IntegerDigits
from mlx_structured.automaton.json_dumps_number import json_dumps_number
from mlx_structured.automaton.lexeme import END, LexemeState
from mlx_structured.automaton.spelled_number import either
from mlx_structured.languages.magnitudes import magnitudes, ten_to
from mlx_structured.languages.number_set import (
    ALL_NUMBERS,
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    at_least,
    at_most,
)
from mlx_structured.languages.spelled_numbers import Numbers, SpelledNumbers, spelled
from mlx_structured.style import Spelling


class IntegerState(LexemeState):
    """Before an integer, or between its sign and its first digit.

    Arguments:
        numbers: a set of integers.
        max_digits: the most digits, ``None`` for no bound.
        negative: whether the sign was read.
        minus_zero: whether zero may have a sign.
    """

    __slots__ = ("max_digits", "minus_zero", "negative", "numbers")

    def __init__(
        self,
        numbers: NumberSet,
        max_digits: int | None,
        *,
        negative: bool = False,
        minus_zero: bool = False,
    ) -> None:
        super().__init__()
        self.numbers = numbers
        self.max_digits = max_digits
        self.negative = negative
        self.minus_zero = minus_zero

    def expand(self) -> Mapping[int, LexemeState]:
        members = magnitudes(self.numbers, negative=self.negative)
        digits = IntegerDigits(members, self.max_digits)
        transitions: dict[int, LexemeState] = {}
        for digit in range(1, 10):
            state = digits.after(digit, 1)
            if state is not None:
                transitions[0x30 + digit] = state
        if (not self.negative or self.minus_zero) and self.numbers.contains(0):
            transitions[0x30] = END
        if not self.negative:
            minus = IntegerState(
                self.numbers, self.max_digits, negative=True, minus_zero=self.minus_zero
            )
            if minus.transitions:
                transitions[0x2D] = minus
        return transitions


_starts: WeakValueDictionary[tuple[Numbers, Spelling, int | None], LexemeState] = (
    WeakValueDictionary()
)
_USUAL = (ALL_NUMBERS, INTEGERS, SpelledNumbers(INTEGERS, NO_NUMBERS))
"""What nearly every schema asks for."""
_usual: deque[LexemeState] = deque(maxlen=2 * len(_USUAL))
"""They outlive their grammars, with what was found out about them: it is little, and the same."""


def number_lexeme(
    numbers: Numbers, spelling: Spelling, max_digits: int | None
) -> LexemeState | None:
    """The start of the lexeme of all texts of the set's members in a spelling.

    Arguments:
        numbers: the set.
        spelling: ``"json.dumps"``: what Python's ``json.dumps`` prints for the ``int`` and
            ``float`` objects whose printed value is in the set, and where all members are
            integers, for ``float`` only what no ``int`` is printed for. ``"any"``: every text of
            RFC 8259 section 6 whose exact value is in the set.
        max_digits: the most digits of an integer (of the part before point and exponent in the
            spelling ``"any"``), ``None`` for no bound.

    Returns:
        ``None`` if there is no such text. Equal arguments give the same state while it is in use.
    """
    key = (numbers, spelling, max_digits)
    start = _starts.get(key)
    if start is None:
        if spelling == "any":
            start = _any(numbers, max_digits)
        elif isinstance(numbers, SpelledNumbers):
            start = _printed(numbers.whole, numbers.others, max_digits)
        elif numbers.integers_only:
            start = IntegerState(numbers, max_digits)
        else:
            start = json_dumps_number(numbers & INTEGERS, numbers, max_digits)
        if not start.transitions:
            return None
        _starts[key] = start
        if numbers in _USUAL:
            _usual.append(start)
    return start


def _any(numbers: Numbers, max_digits: int | None) -> LexemeState:
    if not isinstance(numbers, SpelledNumbers):
        return any_number(numbers, max_digits)
    whole = IntegerState(numbers.whole, max_digits, minus_zero=True)
    if numbers.others.is_empty():
        return whole
    others = any_number(numbers.others, max_digits)
    return either(whole if whole.transitions else None, others)


def _printed(whole: NumberSet, floats: NumberSet, max_digits: int | None) -> LexemeState:
    if floats.integers_only:
        floats &= ~whole
    if floats.is_empty():
        return IntegerState(whole, max_digits)
    return json_dumps_number(whole, floats, max_digits)


def few_numbers(
    numbers: Numbers, spelling: Spelling, max_digits: int | None, limit: int
) -> list[Fraction] | None:
    """The members of a set that have a text, or ``None`` if these are more than ``limit``.

    Arguments:
        numbers: the set.
        spelling: see :func:`number_lexeme`.
        max_digits: likewise.
        limit: the most members to list.
    """
    if spelling == "any":
        if not isinstance(numbers, SpelledNumbers):
            # Every number has a text: a point or an exponent takes away the digits before it.
            return numbers.values(limit)
        whole = numbers.whole
        if max_digits is not None:
            whole &= at_least(-ten_to(max_digits), True) & at_most(ten_to(max_digits), True)
        return spelled(whole, numbers.others).values(limit)
    start = number_lexeme(numbers, spelling, max_digits)
    found: set[Fraction] = set()
    level = [] if start is None else [("", start)]
    while level:
        longer = [
            (text + chr(byte), state)
            for text, before in level
            for byte, state in before.transitions.items()
        ]
        found.update(Fraction(text) for text, state in longer if state.label is not None)
        # Each text here leads to a text of its own, and no number has more than four.
        if len(found) > limit or len(longer) > 4 * limit + 4:
            return None
        level = longer
    return sorted(found)
