"""Which members of a set of numbers are printed for a double: the shortest decimals.

``repr(float)`` prints the decimal with the fewest digits that reads back as the same double, the
closest one where there are several; it never needs more than 17 digits. The functions here answer
exactly whether such a decimal starts with given digits and is in a set. A number's exponent is that
of its first digit, as in scientific notation.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import ceil, frexp, gcd, lcm

from mlx_structured.languages.magnitudes import (
    EVERYTHING,
    Magnitudes,
    compared,
    is_dense,
    ten_to,
    term_members,
)

LEAST_EXPONENT, GREATEST_EXPONENT = -324, 308
MOST_DIGITS = 17
_GREATEST_DOUBLE = 17976931348623157
_LEAST_BINARY_EXPONENT, _BEYOND_DOUBLES = -1022, 1024
_FEW = 256
# Last two digits, those first that are furthest from 0 and so printed most often.
_TAILS = sorted(range(100), key=lambda tail: -min(tail % 10, 10 - tail % 10))


def sure_digits(exponent: int) -> int:
    """The number of digits up to which each decimal with that exponent is its own shortest.

    So it is while the last digit is worth more than the step from one double to the next, which
    is at most 2**-52 of the number, and 2**-1074 (4.9e-324) next to zero. At the greatest exponent
    it holds below infinity.
    """
    return min(15, exponent + 324)


def is_shortest(digits: int, power: int) -> bool:
    """Whether digits * 10**power is what is printed for the double closest to it."""
    while digits % 10 == 0:
        digits //= 10
        power += 1
    if digits >= 10**MOST_DIGITS:
        return False
    mantissa, _, exponent = repr(float(f"{digits}e{power}")).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if whole == "inf":
        return False
    printed = int(whole + fraction)
    printed_power = int(exponent or "0") - len(fraction)
    while printed and printed % 10 == 0:
        printed //= 10
        printed_power += 1
    return printed == digits and printed_power == power


def starts_shortest(
    members: Magnitudes, digits: int, size: int, power: int, *, longer: bool
) -> bool:
    """Whether a shortest decimal in the set starts with the digits.

    Arguments:
        members: the set.
        digits: the first digits, a positive number.
        size: how many they are.
        power: the power of ten of the last of them.
        longer: whether more digits must follow that aren't all zeros.
    """
    exponent = power + size - 1
    i = members.piece_of(digits, power)
    if i >= 0:
        piece = members.pieces[i]
        if not piece:
            return False
        if piece == EVERYTHING and size < sure_digits(exponent) and exponent < GREATEST_EXPONENT:
            return True
    if not LEAST_EXPONENT <= exponent <= GREATEST_EXPONENT:
        return False
    shift = power + members.scale
    if i >= 0 and shift <= 0 and not is_dense(members.pieces[i]):
        # Between two whole numbers there are no multiples, so the digits alone are left.
        return not longer and members.contains(digits, power) and is_shortest(digits, power)
    first_cut = bisect_left(members.cuts, _rounded_up(digits, shift))
    last_cut = bisect_left(members.cuts, _rounded_up(digits + 1, shift))
    for i in range(first_cut, last_cut):
        cut = members.cuts[i]
        if (
            members.members[i]
            and not (longer and compared(digits, shift, cut) == 0)
            and is_shortest(cut, -members.scale)
        ):
            return True
    return any(
        _between_cuts(members, i, digits, size=size, exponent=exponent, longer=longer)
        for i in range(first_cut, last_cut + 1)
    )


def _between_cuts(
    members: Magnitudes, piece: int, digits: int, *, size: int, exponent: int, longer: bool
) -> bool:
    """The same for the members of one piece.

    Decimals so short that all of them are printed come first. Where the set has none of these, the
    cuts leave room for few longer ones, or it has only numbers that end in certain digits.
    """
    low = members.cuts[piece - 1] if piece else 0
    high = members.cuts[piece] if piece < len(members.cuts) else None
    sure = sure_digits(exponent)
    exact = min(MOST_DIGITS, exponent + 325)
    for places in (sure, exact):
        if places < size:
            continue
        power = exponent - places + 1
        shift = power + members.scale
        room = ten_to(places - size)
        first = max(digits * room + longer, _rounded_down(low, -shift) + 1)
        last = (digits + 1) * room - 1
        if high is not None:
            last = min(last, _rounded_up(high, -shift) - 1)
        if exponent == GREATEST_EXPONENT:
            last = min(last, _GREATEST_DOUBLE // 10 ** (MOST_DIGITS - places))
        if first > last:
            continue
        for step, without in members.pieces[piece]:
            step_here = _step_of_digits(step, shift) if step else 1
            divisors = [_step_of_digits(divisor, shift) for divisor in without]
            if any(step_here % divisor == 0 for divisor in divisors):
                continue
            if places == sure:
                if any(term_members(step_here, divisors, first, last)):
                    return True
            elif _some_shortest(step_here, divisors, first=first, last=last, power=power):
                return True
    return False


def _some_shortest(step: int, divisors: list[int], *, first: int, last: int, power: int) -> bool:
    """Whether n * 10**power is a shortest decimal for some n in a range.

    Few numbers are looked at one by one; of many, those from one power of two to the next.

    Arguments:
        step: of which n must be a multiple, divisible by none of the divisors.
        divisors: none of which may divide n.
        first: the start of the range, with as many digits as are ever printed there.
        last: its end, included.
        power: the power of ten of the last digit.
    """
    if last - first < _FEW * step:
        members = term_members(step, divisors, first, last)
        return any(is_shortest(number, power) for number in members)
    lowest, highest = (
        max(frexp(float(f"{number}e{power}"))[1] - 1, _LEAST_BINARY_EXPONENT)
        for number in (first, last)
    )
    unit = Fraction(10) ** power
    for exponent in range(lowest, min(highest + 2, _BEYOND_DOUBLES)):
        # The number printed for a power of two follows rules of its own: the doubles below it are
        # closer than those above.
        border = Fraction(2) ** exponent
        printed = Fraction(repr(float(border))) / unit
        number = printed.numerator
        if (
            printed.denominator == 1
            and first <= number <= last
            and number % step == 0
            and all(number % divisor for divisor in divisors)
        ):
            return True
        start = first if exponent == _LEAST_BINARY_EXPONENT else max(first, ceil(border / unit))
        end = min(last, ceil(2 * border / unit) - 1)
        gap = border / 2**52 / unit
        if _some_shortest_between_powers_of_two(
            step, divisors, first=start, last=end, power=power, gap=gap
        ):
            return True
    return False


def _some_shortest_between_powers_of_two(
    step: int, divisors: list[int], *, first: int, last: int, power: int, gap: Fraction
) -> bool:
    """The same where the doubles are a fixed gap apart, measured in units of the last digit.

    Which decimals are printed repeats with a period there. A last digit other than 0 is printed
    only for a double that is further than half a gap from all decimals without it.
    """
    period = lcm((2 * gap).numerator, 100)
    for tail in _TAILS:
        nearest_zero = min(tail % 10, 10 - tail % 10)
        common = gcd(step, 100)
        if tail % common or (nearest_zero and min(2 * nearest_zero + 1, 10) < gap):
            continue
        # The multiples of the step with these last two digits, also a progression.
        distance = step * 100 // common
        modulus = 100 // common
        base = step * (tail // common * pow(step // common, -1, modulus) % modulus)
        if any(distance % divisor == 0 == base % divisor for divisor in divisors):
            continue
        # Other divisors than these leave out some periods and not others.
        periodic = [
            divisor for divisor in divisors if _is_two_five(divisor // gcd(divisor, distance))
        ]
        number = base + -((base - first) // distance) * distance
        stop = number + lcm(period, distance, *periodic)
        found = False
        while number <= last and (found or number < stop):
            if all(number % each for each in periodic) and is_shortest(number, power):
                if all(number % each for each in divisors):
                    return True
                found = True
            number += distance
    return False


def _is_two_five(number: int) -> bool:
    """Whether the number divides a power of ten."""
    return pow(10, number.bit_length(), number) == 0


def _step_of_digits(step: int, shift: int) -> int:
    """The step of the whole numbers n for which n * 10**shift is a multiple of the step."""
    return step // gcd(step, ten_to(shift)) if shift >= 0 else step * ten_to(-shift)


def _rounded_down(number: int, shift: int) -> int:
    """number * 10**shift as the next whole number below or at it."""
    return number * ten_to(shift) if shift >= 0 else number // ten_to(-shift)


def _rounded_up(number: int, shift: int) -> int:
    """number * 10**shift as the next whole number above or at it."""
    return number * ten_to(shift) if shift >= 0 else -(-number // ten_to(-shift))
