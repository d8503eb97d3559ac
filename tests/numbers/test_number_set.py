"""Sets of numbers: membership, laws, emptiness, listing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_sets import JUDGED_SETS, JudgedSet, judged_sets

from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.number_set import (
    ALL_NUMBERS,
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    at_least,
    at_most,
    multiples_of,
    points,
    to_fraction,
)

# With bounds and steps of whole halves, everything about a set shows at the halves and between
# two of them, and repeats with a period of 6 beyond the bounds.
COARSE = judged_sets(
    st.integers(-12, 12).map(lambda n: Fraction(n, 2)),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)]),
)
COARSE_POINTS = [Fraction(n, 2) for n in range(-30, 31)]
COARSE_GAPS = [point + Fraction(1, 10) for point in COARSE_POINTS]


def coarse_members(judged: JudgedSet) -> list[Fraction]:
    return [x for x in COARSE_POINTS + COARSE_GAPS if judged.judge(x)]


@settings(deadline=None)
@given(JUDGED_SETS, st.data())
def test_operations_work_member_by_member(judged: JudgedSet, data: st.DataObject) -> None:
    near = st.sampled_from([0, Fraction(1, 10**40), -Fraction(1, 10**40), 1, Fraction(1, 2)])
    number = data.draw(
        st.builds(lambda x, d: x + d, st.sampled_from((*judged.critical, Fraction(0))), near)
    )
    assert judged.numbers.contains(number) == judged.judge(number)


@settings(deadline=None)
@given(JUDGED_SETS, JUDGED_SETS, st.data())
def test_de_morgan(one: JudgedSet, two: JudgedSet, data: st.DataObject) -> None:
    number = data.draw(st.sampled_from((*one.critical, *two.critical, Fraction(7, 2))))
    complement = ~(one.numbers & two.numbers)
    assert complement.contains(number) == (~one.numbers | ~two.numbers).contains(number)
    assert ((one.numbers & two.numbers) & complement).is_empty()
    assert ((one.numbers | two.numbers) & (~one.numbers & ~two.numbers)).is_empty()
    assert (~((one.numbers & two.numbers) | complement)).is_empty()


@settings(deadline=None)
@given(COARSE)
def test_emptiness_is_exact(judged: JudgedSet) -> None:
    assert judged.numbers.is_empty() == (not coarse_members(judged))


@settings(deadline=None)
@given(COARSE)
def test_integers_only_is_exact(judged: JudgedSet) -> None:
    only = all(x.denominator == 1 for x in coarse_members(judged))
    assert judged.numbers.integers_only == only


@settings(deadline=None)
@given(COARSE, st.integers(0, 30))
def test_values_lists_all_members_of_a_finite_set(judged: JudgedSet, limit: int) -> None:
    members = sorted(coarse_members(judged))
    finite = all(abs(x) <= 6 and x in COARSE_POINTS for x in members)
    expected = members if finite and len(members) <= limit else None
    assert judged.numbers.values(limit) == expected


@settings(deadline=None)
@given(COARSE)
def test_bounds_are_the_infimum_and_supremum(judged: JudgedSet) -> None:
    members = coarse_members(judged)
    if not members:
        with pytest.raises(ValueError, match="empty"):
            _ = judged.numbers.bounds
        return
    low, high = judged.numbers.bounds
    assert (low is None) == (min(members) < -6)
    assert (high is None) == (max(members) > 6)
    # In the gaps, the numbers tried are a tenth above a half.
    if low is not None:
        assert min(members) - low in (0, Fraction(1, 10))
    if high is not None:
        assert high - max(members) in (0, Fraction(4, 10))


@settings(deadline=None)
@given(COARSE, COARSE)
def test_equal_finite_sets_are_equal_objects(one: JudgedSet, two: JudgedSet) -> None:
    if one.numbers.values(64) is not None and coarse_members(one) == coarse_members(two):
        assert one.numbers == two.numbers
        assert hash(one.numbers) == hash(two.numbers)


@settings(deadline=None)
@given(JUDGED_SETS, JUDGED_SETS)
def test_laws_that_keep_the_members_keep_the_object(one: JudgedSet, two: JudgedSet) -> None:
    assert one.numbers & two.numbers == two.numbers & one.numbers
    assert one.numbers | two.numbers == two.numbers | one.numbers
    assert one.numbers & one.numbers == one.numbers
    assert ~~one.numbers == one.numbers
    assert one.numbers & ALL_NUMBERS == one.numbers
    assert one.numbers | NO_NUMBERS == one.numbers


@pytest.mark.parametrize(
    "numbers",
    [
        INTEGERS & at_least(1, exclusive=True) & at_most(2, exclusive=True),
        multiples_of(3) & ~multiples_of(1),
        at_least(2) & at_most(1),
        at_least(1) & at_most(1, exclusive=True),
        INTEGERS & at_least(0) & at_most(3) & ~points([0, 1, 2, 3]),
        # Each whole number from 2 to 10 is divisible by 2, 3, 5 or 7.
        INTEGERS
        & at_least(2)
        & at_most(11, exclusive=True)
        & ~(multiples_of(2) | multiples_of(3) | multiples_of(5) | multiples_of(7)),
        ~(INTEGERS | ~INTEGERS),
        ~(at_least(0) | at_most(0)),
        multiples_of(0.5) & ~(INTEGERS | (multiples_of(0.5) & ~INTEGERS)),
    ],
)
def test_sets_without_a_member_are_empty(numbers: NumberSet) -> None:
    assert numbers.is_empty()
    assert numbers == NO_NUMBERS
    assert numbers.values(0) == []


@pytest.mark.parametrize(
    "numbers",
    [
        at_least(1, exclusive=True) & at_most(Fraction(10**30 + 1, 10**30)),
        ~multiples_of(1),
        multiples_of(1) & ~multiples_of(3),
        at_least(0) & at_most(1) & ~multiples_of(Fraction(1, 10**20)),
        INTEGERS
        & at_least(2)
        & at_most(11)
        & ~(multiples_of(2) | multiples_of(3) | multiples_of(5) | multiples_of(7)),
    ],
)
def test_sets_with_a_member_are_not_empty(numbers: NumberSet) -> None:
    assert not numbers.is_empty()


def test_integers_are_equal_whichever_way_they_are_bounded() -> None:
    assert INTEGERS & at_least(0, exclusive=True) == INTEGERS & at_least(1)
    assert INTEGERS & at_least(0.5) == INTEGERS & at_least(1)
    assert INTEGERS & at_least(0) & at_most(9) == points(range(10))
    assert at_most(5) & at_least(5) == points([5.0])
    assert (at_most(5) | at_least(5)) == ALL_NUMBERS
    assert (INTEGERS | ~INTEGERS) == ALL_NUMBERS
    assert (at_most(5, exclusive=True) | at_least(5, exclusive=True)) == ~points([5])
    assert multiples_of(4) & multiples_of(6) == multiples_of(12)
    assert multiples_of(4) | multiples_of(2) == multiples_of(-2)


def test_hundreds_of_numbers_can_be_excluded_one_by_one() -> None:
    numbers = INTEGERS & at_least(0) & at_most(1000)
    for value in range(0, 1000, 2):
        numbers = numbers & ~points([value])
    assert numbers.values(600) == [*map(Fraction, range(1, 1000, 2)), Fraction(1000)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (1e300, Fraction(10**300)),
        (5e-324, Fraction(5, 10**324)),
        (7, Fraction(7)),
        (Decimal("1.50"), Fraction(3, 2)),
        (Decimal("1e400"), Fraction(10**400)),
        (Decimal("0e999999999"), Fraction(0)),
        (Fraction(3, 40), Fraction(3, 40)),
    ],
)
def test_to_fraction_is_what_json_writes(
    value: int | float | Decimal | Fraction, expected: Fraction
) -> None:
    assert to_fraction(value) == expected


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("-Infinity"), Fraction(1, 3)]
)
def test_what_json_cannot_write_is_refused(value: float | Decimal | Fraction) -> None:
    with pytest.raises(ValueError, match="no JSON number"):
        to_fraction(value)


def test_a_bool_is_no_number() -> None:
    with pytest.raises(TypeError, match="True"):
        to_fraction(True)


def test_a_number_too_long_to_compute_with_is_refused_by_name() -> None:
    with pytest.raises(LimitExceededError, match=r"1E\+999999999"):
        to_fraction(Decimal("1e999999999"))


def test_multiples_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples of 0"):
        multiples_of(0)


@settings(deadline=None)
@given(st.lists(st.sampled_from([2, 3, 5, 7, 0.5, 0.3]), min_size=1, max_size=6))
def test_a_union_of_multiples_and_its_complement_share_the_line(sizes: list[float]) -> None:
    union = NO_NUMBERS
    for size in sizes:
        union = union | multiples_of(size)
    for n in range(-60, 61):
        number = Fraction(n, 10)
        inside = any((number / to_fraction(size)).denominator == 1 for size in sizes)
        assert union.contains(number) == inside
        assert (~union).contains(number) == (not inside)
