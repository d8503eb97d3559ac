"""Sets of JSON numbers, closed under ``&``, ``|`` and ``~``, with exact arithmetic.

A JSON number (RFC 8259 section 6) is a decimal, so 0.1 is one tenth here and not the double next to
it. Bounds, multiples, what isn't a multiple and single numbers are all that JSON Schema can say
about one; a set is the line cut at the numbers where its rule changes, with a periodic set between
two cuts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice

from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.periodic import EVERY_NUMBER, NO_NUMBER, Periodic, multiples
from mlx_structured.limits import charge

_MOST_LISTED = 64
_MOST_PLACES = 5000


class NumberSet:
    """A set of numbers. Equal sets of at most 64 members are equal objects, larger ones where
    their bounds, gaps and periodic parts are. Made by the functions of this module.

    Arguments:
        cuts: the numbers where the rule changes, ascending.
        members: for each cut, whether the number itself is in the set.
        pieces: the rule between two cuts, and before the first and after the last.
    """

    __slots__ = ("__weakref__", "_hash", "_integers_only", "cuts", "members", "pieces")

    def __init__(
        self,
        cuts: tuple[Fraction, ...],
        members: tuple[bool, ...],
        pieces: tuple[Periodic, ...],
    ) -> None:
        self.cuts = cuts
        self.members = members
        self.pieces = pieces
        self._hash = hash((cuts, members, pieces))
        self._integers_only: bool | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, NumberSet)
            and self._hash == other._hash
            and self.cuts == other.cuts
            and self.members == other.members
            and self.pieces == other.pieces
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        parts = [repr(self.pieces[0])]
        for cut, member, piece in zip(self.cuts, self.members, self.pieces[1:], strict=True):
            parts += [f"{'with' if member else 'without'} {cut}", repr(piece)]
        return f"NumberSet({', '.join(parts)})"

    def __and__(self, other: NumberSet) -> NumberSet:
        if not isinstance(other, NumberSet):
            return NotImplemented
        return _combined(self, other, lambda one, two: one and two, Periodic.__and__)

    def __or__(self, other: NumberSet) -> NumberSet:
        if not isinstance(other, NumberSet):
            return NotImplemented
        return _combined(self, other, lambda one, two: one or two, Periodic.__or__)

    def __invert__(self) -> NumberSet:
        return _normal(
            list(self.cuts),
            [not member for member in self.members],
            [~piece for piece in self.pieces],
        )

    def contains(self, value: int | float | Decimal | Fraction) -> bool:
        """Whether the number is in the set, with the errors of :func:`to_fraction`."""
        number = to_fraction(value)
        i = bisect_left(self.cuts, number)
        if i < len(self.cuts) and self.cuts[i] == number:
            return self.members[i]
        return self.pieces[i].contains(number)

    def is_empty(self) -> bool:
        """Whether no number is in the set."""
        return self == NO_NUMBERS

    @property
    def integers_only(self) -> bool:
        """Whether every member is an integer. True of the empty set."""
        known = self._integers_only
        if known is None:
            known = self._integers_only = (self & ~INTEGERS).is_empty()
        return known

    @property
    def bounds(self) -> tuple[Fraction | None, Fraction | None]:
        """The infimum and the supremum, ``None`` where there is no bound.

        Whether a bound is in the set itself is told by :meth:`contains`. Raises ``ValueError``
        for the empty set.
        """
        if self.is_empty():
            raise ValueError("an empty set has no bounds")
        return (
            None if self.pieces[0] else self.cuts[0],
            None if self.pieces[-1] else self.cuts[-1],
        )

    def values(self, limit: int) -> list[Fraction] | None:
        """All members in ascending order, or ``None`` if there are more than ``limit``."""
        if self.pieces[0] or self.pieces[-1] or any(piece.is_dense for piece in self.pieces):
            return None
        for i, piece in enumerate(self.pieces):
            for step, without in piece.terms:
                if step and not without and self.cuts[i] - self.cuts[i - 1] > step * (limit + 1):
                    return None
        found = list(islice(self._listed(), limit + 1))
        return found if len(found) <= limit else None

    def _listed(self) -> Iterator[Fraction]:
        """The members of a set that is bounded and nowhere dense."""
        for i, cut in enumerate(self.cuts):
            if self.members[i]:
                yield cut
            piece = self.pieces[i + 1]
            if piece:
                number = piece.first_after(cut)
                while number < self.cuts[i + 1]:
                    yield number
                    number = piece.first_after(number)


def to_fraction(value: int | float | Decimal | Fraction) -> Fraction:
    """The exact number that JSON writes for the value: 1/10 for 0.1.

    Raises:
        TypeError: for a bool, or anything else that isn't a number.
        ValueError: for a number that JSON can't write: infinite, not a number, or a fraction
            whose decimals never end.
        LimitExceededError: for a number with thousands of decimal places.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise TypeError(f"{value!r} is not a number")
    if isinstance(value, Fraction):
        rest = value.denominator
        rest >>= (rest & -rest).bit_length() - 1
        while rest % 5 == 0:
            rest //= 5
        if rest != 1:
            raise ValueError(f"the decimals of {value} never end, so it is no JSON number")
        return value
    if isinstance(value, int):
        return Fraction(value)
    decimal = Decimal(float.__repr__(value)) if isinstance(value, float) else value
    if not decimal.is_finite():
        raise ValueError(f"{value} is no JSON number")
    if not decimal:
        return Fraction(0)
    exponent = decimal.as_tuple().exponent
    if isinstance(exponent, int) and max(abs(exponent), abs(decimal.adjusted())) > _MOST_PLACES:
        raise LimitExceededError(
            f"has the number {value}, of more than {_MOST_PLACES} decimal places", "digits"
        )
    return Fraction(decimal)


def at_least(bound: int | float | Decimal | Fraction, exclusive: bool = False) -> NumberSet:
    """The numbers from the bound on, without the bound itself if it is exclusive."""
    return _normal([to_fraction(bound)], [not exclusive], [NO_NUMBER, EVERY_NUMBER])


def at_most(bound: int | float | Decimal | Fraction, exclusive: bool = False) -> NumberSet:
    """The numbers up to the bound, without the bound itself if it is exclusive."""
    return _normal([to_fraction(bound)], [not exclusive], [EVERY_NUMBER, NO_NUMBER])


def multiples_of(step: int | float | Decimal | Fraction) -> NumberSet:
    """The whole multiples of a number, zero among them. Raises ``ValueError`` for a step of 0."""
    number = abs(to_fraction(step))
    if number == 0:
        raise ValueError("there are no multiples of 0")
    return NumberSet((), (), (multiples(number),))


def points(values: Iterable[int | float | Decimal | Fraction]) -> NumberSet:
    """The set of the given numbers."""
    cuts = sorted({to_fraction(value) for value in values})
    return NumberSet(tuple(cuts), (True,) * len(cuts), (NO_NUMBER,) * (len(cuts) + 1))


def _combined(
    left: NumberSet,
    right: NumberSet,
    of_members: Callable[[bool, bool], bool],
    of_pieces: Callable[[Periodic, Periodic], Periodic],
) -> NumberSet:
    charge(1 + (len(left.cuts) + len(right.cuts)) // 4)
    cuts: list[Fraction] = []
    members: list[bool] = []
    pieces = [of_pieces(left.pieces[0], right.pieces[0])]
    i = j = 0
    while i < len(left.cuts) or j < len(right.cuts):
        in_left = i < len(left.cuts) and (j == len(right.cuts) or left.cuts[i] <= right.cuts[j])
        cut = left.cuts[i] if in_left else right.cuts[j]
        in_right = j < len(right.cuts) and right.cuts[j] == cut
        cuts.append(cut)
        members.append(
            of_members(
                left.members[i] if in_left else left.pieces[i].contains(cut),
                right.members[j] if in_right else right.pieces[j].contains(cut),
            )
        )
        i += in_left
        j += in_right
        pieces.append(of_pieces(left.pieces[i], right.pieces[j]))
    return _normal(cuts, members, pieces)


def _normal(cuts: list[Fraction], members: list[bool], pieces: list[Periodic]) -> NumberSet:
    """The set with no cut that changes nothing, and multiples that start and end at members.

    So two sets of multiples are equal whichever numbers between the same members bound them, a
    piece is empty exactly where it has no member, and the same holds of the complement.
    """
    cuts, members, pieces = _without_idle_cuts(cuts, members, pieces)
    tight_cuts: list[Fraction] = []
    tight_members: list[bool] = []
    tight_pieces: list[Periodic] = []
    for i, piece in enumerate(pieces):
        low = (cuts[i - 1], members[i - 1]) if i else None
        high = (cuts[i], members[i]) if i < len(cuts) else None
        rules, ends = _tight(piece, low, high)
        tight_pieces += rules
        tight_cuts += ends
        tight_members += [not piece.is_dense] * len(ends)
        if high is not None:
            tight_cuts.append(high[0])
            tight_members.append(high[1])
    cuts, members, pieces = _without_idle_cuts(tight_cuts, tight_members, tight_pieces)
    result = NumberSet(tuple(cuts), tuple(members), tuple(pieces))
    if any(pieces):
        listed = result.values(_MOST_LISTED)
        if listed is not None:
            return points(listed)
    return result


def _tight(
    piece: Periodic, low: tuple[Fraction, bool] | None, high: tuple[Fraction, bool] | None
) -> tuple[list[Periodic], list[Fraction]]:
    """The rules of one piece without room at its ends, and the cuts between them.

    The cuts are members where the piece isn't dense. Where it is, they are not: what it leaves out
    is what starts and ends with them.
    """
    if piece.is_dense:
        out_low = None if low is None else (low[0], not low[1])
        out_high = None if high is None else (high[0], not high[1])
        outside, cuts = _tight(~piece, out_low, out_high)
        return [~rule for rule in outside], cuts
    if not piece:
        return [piece], []
    if low is not None and high is not None and piece.first_after(low[0]) >= high[0]:
        return [NO_NUMBER], []
    first = None if low is None else low[0]
    last = None if high is None else high[0]
    rules = [piece]
    ends: list[Fraction] = []
    if low is not None and not (low[1] and piece.contains(low[0])):
        first = piece.first_after(low[0])
        rules.insert(0, NO_NUMBER)
        ends.append(first)
    if high is not None and not (high[1] and piece.contains(high[0])):
        last = piece.last_before(high[0])
        if ends == [last]:
            return [NO_NUMBER, NO_NUMBER], ends
        rules.append(NO_NUMBER)
        ends.append(last)
    if first is not None and last is not None and piece.first_after(first) >= last:
        rules = [NO_NUMBER] * len(rules)
    return rules, ends


def _without_idle_cuts(
    cuts: list[Fraction], members: list[bool], pieces: list[Periodic]
) -> tuple[list[Fraction], list[bool], list[Periodic]]:
    kept_cuts: list[Fraction] = []
    kept_members: list[bool] = []
    kept_pieces = pieces[:1]
    for cut, member, piece in zip(cuts, members, pieces[1:], strict=True):
        if piece == kept_pieces[-1] and member == piece.contains(cut):
            continue
        kept_cuts.append(cut)
        kept_members.append(member)
        kept_pieces.append(piece)
    return kept_cuts, kept_members, kept_pieces


ALL_NUMBERS = NumberSet((), (), (EVERY_NUMBER,))
NO_NUMBERS = NumberSet((), (), (NO_NUMBER,))
INTEGERS = multiples_of(1)
