"""Where Python's ``repr`` of a float has an exponent: below 1e-4, and from 1e16 on."""

from __future__ import annotations

from mlx_structured.languages.magnitudes import EVERYTHING, Magnitudes, decimal_length, ten_to
from mlx_structured.languages.shortest_decimals import GREATEST_EXPONENT, LEAST_EXPONENT

FIXED_DIGITS = 16
"""The most digits before the point without an exponent."""

FIXED_ZEROS = 3
"""The most zeros behind a point after 0, likewise."""

SCIENTIFIC = ((LEAST_EXPONENT, -FIXED_ZEROS - 2), (FIXED_DIGITS, GREATEST_EXPONENT))
"""The least and the greatest exponents that are written, below 1 and above."""

_PARTIAL_DECADES = 20
_SURE_ZEROS = 200


def scientific_decades(members: Magnitudes) -> tuple[bool, list[int]]:
    """The exponents in which there may be members, and whether one of them has all numbers."""

    def exponent_of(cut: int) -> int:
        return decimal_length(cut) - 1 - members.scale

    decades: set[int] = set()
    is_sure = False
    cuts = members.cuts
    for i, piece in enumerate(members.pieces):
        if not piece:
            continue
        # The first members above zero are the steps, if there is something that they step over.
        low = cuts[i - 1] if i else min(step for step, _ in piece)
        for least, greatest in SCIENTIFIC:
            first = max(exponent_of(low), least) if low else least
            last = min(exponent_of(cuts[i]), greatest) if i < len(cuts) else greatest
            decades.update(range(first, last + 1))
            # The decades of the cuts themselves, and those at the ends of the doubles, are partial.
            is_sure = is_sure or (piece == EVERYTHING and last - first > _PARTIAL_DECADES)
        # Whole numbers with enough zeros at the end are members, and there are such doubles.
        if (i == len(cuts) and exponent_of(low) < _SURE_ZEROS) and any(
            not without and step and ten_to(_SURE_ZEROS) % step == 0 for step, without in piece
        ):
            is_sure = True
    decades.update(
        exponent_of(cut) for cut, member in zip(cuts, members.members, strict=True) if member
    )
    return is_sure, sorted(
        each for each in decades if any(least <= each <= most for least, most in SCIENTIFIC)
    )
