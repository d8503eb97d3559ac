"""Numbers: the lexeme of a set of numbers in one spelling."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from weakref import WeakValueDictionary

from mlx_structured.automaton.any_number import any_number
from mlx_structured.automaton.integer_digits import IntegerDigits
from mlx_structured.automaton.json_dumps_number import json_dumps_number
from mlx_structured.automaton.lexeme import END, LexemeState
from mlx_structured.languages.magnitudes import magnitudes
from mlx_structured.languages.number_set import NumberSet
from mlx_structured.style import Spelling


class IntegerState(LexemeState):
    """Before an integer, or between its sign and its first digit."""

    __slots__ = ("max_digits", "negative", "numbers")

    def __init__(self, numbers: NumberSet, max_digits: int | None, *, negative: bool) -> None:
        super().__init__()
        self.numbers = numbers
        self.max_digits = max_digits
        self.negative = negative

    def expand(self) -> Mapping[int, LexemeState]:
        members = magnitudes(self.numbers, negative=self.negative)
        digits = IntegerDigits(members, self.max_digits)
        transitions: dict[int, LexemeState] = {}
        for digit in range(1, 10):
            state = digits.after(digit, 1)
            if state is not None:
                transitions[0x30 + digit] = state
        if not self.negative:
            if self.numbers.contains(0):
                transitions[0x30] = END
            minus = IntegerState(self.numbers, self.max_digits, negative=True)
            if minus.transitions:
                transitions[0x2D] = minus
        return transitions


_starts: WeakValueDictionary[tuple[NumberSet, Spelling, int | None], LexemeState] = (
    WeakValueDictionary()
)


def number_lexeme(
    numbers: NumberSet, spelling: Spelling, max_digits: int | None
) -> LexemeState | None:
    """The start of the lexeme of all texts of the set's members in a spelling.

    Arguments:
        numbers: the set.
        spelling: ``"json.dumps"``: what Python's ``json.dumps`` prints for the ``int`` and
            ``float`` objects whose printed value is in the set, and only for ``int`` where all
            members are integers. ``"any"``: every text of RFC 8259 section 6 whose exact value is
            in the set.
        max_digits: the most digits of an integer (of the part before point and exponent in the
            spelling ``"any"``), ``None`` for no bound.

    Returns:
        ``None`` if there is no such text. Equal arguments give the same state while it is in use.
    """
    key = (numbers, spelling, max_digits)
    start = _starts.get(key)
    if start is None:
        if spelling == "any":
            start = any_number(numbers, max_digits)
        elif numbers.integers_only:
            start = IntegerState(numbers, max_digits, negative=False)
        else:
            start = json_dumps_number(numbers, max_digits)
        if not start.transitions:
            return None
        _starts[key] = start
    return start


def few_numbers(
    numbers: NumberSet, spelling: Spelling, max_digits: int | None, limit: int
) -> list[Fraction] | None:
    """The members of a set that have a text, or ``None`` if these are more than ``limit``.

    Arguments:
        numbers: the set.
        spelling: see :func:`number_lexeme`.
        max_digits: likewise.
        limit: the most members to list.
    """
    if spelling == "any":
        # Every number has a text: a point or an exponent takes away the digits before it.
        return numbers.values(limit)
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
