"""Numbers spelled as json.dumps prints them."""

from __future__ import annotations

import gc
import json
import math
import random
import weakref
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from judged_sets import (
    JUDGED_SETS,
    SETS_WITH_SMALL_STEPS,
    JudgedSet,
    accepts,
    both,
    decimals,
    is_printed,
    lower,
    opposite,
    reachable,
    single,
    state_after,
    steps,
    text_of_walk,
    upper,
)

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.number_lexeme import number_lexeme
from mlx_structured.languages.number_set import (
    ALL_NUMBERS,
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    at_least,
    at_most,
    multiples_of,
    points,
)

EVERY = JudgedSet(ALL_NUMBERS, lambda x: True)
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**6), 10**6).map(lambda n: n / 1000),
    st.floats(-1100, 1100),
    st.floats(0, 1e-306),
    st.floats(1e15, 1e17),
)
INTS = st.one_of(st.integers(), st.integers(-2000, 2000), st.integers(-(10**45), 10**45))
MAX_DIGITS = st.sampled_from([None, 1, 3, 16, 17, 40])


def near(judged: JudgedSet) -> st.SearchStrategy[int | float]:
    """Numbers at, and a step or two of a double beside, those that decide the set."""

    def beside(number: Fraction, ulps: int) -> int | float:
        if abs(number) >= 2**1024:
            return int(number)
        value = float(number)
        for _ in range(abs(ulps)):
            value = math.nextafter(value, math.copysign(math.inf, ulps))
        return value if math.isfinite(value) else 0

    numbers = st.sampled_from((*judged.critical, Fraction(0)))
    return st.one_of(
        st.builds(beside, numbers, st.integers(-2, 2)), st.builds(round, numbers), FLOATS, INTS
    )


def all_texts(start: LexemeState | None) -> set[str]:
    """Every text of a finite lexeme."""
    texts: set[str] = set()
    pending = [] if start is None else [(start, "")]
    while pending:
        state, text = pending.pop()
        if state.label is not None:
            texts.add(text)
        pending += [(target, text + chr(byte)) for byte, target in state.transitions.items()]
    return texts


@settings(max_examples=250, deadline=None)
@given(JUDGED_SETS, MAX_DIGITS, st.data())
def test_a_number_is_written_if_and_only_if_it_is_in_the_set(
    judged: JudgedSet, max_digits: int | None, data: st.DataObject
) -> None:
    text = json.dumps(data.draw(near(judged)))
    start = number_lexeme(judged.numbers, "json.dumps", max_digits)
    assert accepts(start, text) == is_printed(text, judged, max_digits)


@settings(max_examples=200, deadline=None)
@given(JUDGED_SETS, MAX_DIGITS, st.data())
def test_another_spelling_is_refused(
    judged: JudgedSet, max_digits: int | None, data: st.DataObject
) -> None:
    text = json.dumps(data.draw(near(judged)))
    position = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 1))
    middle = data.draw(st.sampled_from(["", "0", "00", "+", "-", ".", "e", "E", "5", "9", ".0"]))
    other = text[:position] + middle + text[position + length :]
    start = number_lexeme(judged.numbers, "json.dumps", max_digits)
    assert accepts(start, other) == is_printed(other, judged, max_digits)


@pytest.mark.parametrize(
    "text",
    [
        "-0",
        "+1",
        "01",
        "1.",
        ".5",
        "1E5",
        "1e5",
        "1e+5",
        "1e16",
        "1e+016",
        "1.0e+16",
        "1.10",
        "0.00001",
        "1e-4",
        "1e-5",
        "10e-5",
        "0.10",
        "00",
        "-00.5",
        "1.e5",
        "1e",
        "1e+",
        "-",
        "4e-324",
        "2e-324",
        "1e+309",
        "1.7976931348623158e+308",
        "0.1000000000000000055",
        "NaN",
        "Infinity",
        "0.30000000000000003",
        "9007199254740993.0",
        "10000000000000000.0",
        "0x1",
        "1_0",
        "--1",
    ],
)
def test_texts_that_python_does_not_print(text: str) -> None:
    assert not accepts(number_lexeme(ALL_NUMBERS, "json.dumps", None), text)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        10**39,
        0.0,
        -0.0,
        1.0,
        1e-4,
        9.999e-5,
        1e15,
        9999999999999998.0,
        1e16,
        1e22,
        1e23,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.1 + 0.2,
        9007199254740992.0,
        123456.78901234567,
    ],
)
def test_texts_that_python_prints(value: int | float) -> None:
    assert accepts(number_lexeme(ALL_NUMBERS, "json.dumps", 40), json.dumps(value))


@settings(max_examples=150, deadline=None)
@given(SETS_WITH_SMALL_STEPS, MAX_DIGITS, st.builds(random.Random, st.integers(0, 2**32)))
def test_every_way_can_be_finished_and_spells_a_member(
    judged: JudgedSet, max_digits: int | None, choice: random.Random
) -> None:
    start = number_lexeme(judged.numbers, "json.dumps", max_digits)
    assume(start is not None)
    assert start is not None
    for _ in range(3):
        text = text_of_walk(start, choice)
        assert is_printed(text, judged, max_digits), text


SMALL_SETS = [
    EVERY,
    steps(Fraction(1)),
    both(lower(Fraction(0), False), upper(Fraction(1000), False)),
    both(lower(Fraction(1, 100), True), upper(Fraction(19, 2), True)),
    both(steps(Fraction(1)), both(lower(Fraction(-3), False), upper(Fraction(105), True))),
    steps(Fraction(7)),
    steps(Fraction(1, 4)),
    opposite(steps(Fraction(1))),
    opposite(steps(Fraction(1, 10))),
    opposite(single([Fraction(0), Fraction(5), Fraction(105, 10)])),
    single([Fraction(-1), Fraction(0), Fraction(1, 10**5), Fraction(10**16), Fraction(10**17)]),
    both(steps(Fraction(3)), lower(Fraction(10**50), False)),
    both(opposite(steps(Fraction(1))), lower(Fraction(2), True)),
]


@pytest.mark.parametrize("judged", SMALL_SETS)
@pytest.mark.parametrize("max_digits", [2, None])
def test_all_short_texts(judged: JudgedSet, max_digits: int | None) -> None:
    start = number_lexeme(judged.numbers, "json.dumps", max_digits)
    for length in range(1, 6 if max_digits is None else 5):
        for letters in product("-.e+105", repeat=length):
            text = "".join(letters)
            state = state_after(start, text)
            written = state is not None and state.label is not None
            assert written == is_printed(text, judged, max_digits), text


@settings(max_examples=150, deadline=None)
@given(FLOATS, st.integers(0, 4), st.integers(0, 99), st.integers(0, 99))
@example(0.1, 1, 50, 50)
@example(1.0, 4, 0, 99)
@example(1e16, 4, 0, 0)
@example(5e-324, 3, 0, 0)
@example(1.7976931348623155e308, 1, 0, 0)
def test_all_doubles_between_two_numbers_are_written_and_nothing_else(
    first: float, count: int, low: int, high: int
) -> None:
    doubles = [first]
    for _ in range(count + 1):
        doubles.append(math.nextafter(doubles[-1], math.inf))
    assume(math.isfinite(doubles[-1]))
    printed = [decimals(repr(each)) for each in doubles]
    lowest = printed[0] + (printed[1] - printed[0]) * low / 100
    highest = printed[-2] + (printed[-1] - printed[-2]) * high / 100
    numbers = at_least(lowest) & at_most(highest) & ~INTEGERS
    expected = {
        repr(double)
        for double, number in zip(doubles, printed, strict=True)
        if lowest <= number <= highest and number.denominator != 1
    }
    if first == 0 and low == 0:
        expected -= {"0.0", "-0.0"}
    assert all_texts(number_lexeme(numbers, "json.dumps", 40)) == expected


@settings(max_examples=100, deadline=None)
@given(
    st.integers(10**16, 10**17 - 200),
    st.integers(-340, 308),
    st.integers(1, 60),
    st.lists(st.integers(2, 12), max_size=2),
)
def test_all_long_multiples_in_a_narrow_range_are_written_and_nothing_else(
    digits: int, exponent: int, step: int, without: list[int]
) -> None:
    unit = Fraction(10) ** (exponent - 16)
    numbers = at_least(digits * unit) & at_most((digits + 150) * unit) & multiples_of(step * unit)
    for each in without:
        numbers = numbers & ~multiples_of(each * unit)
    assume(not numbers.integers_only)
    expected = set()
    for multiple in range(digits, digits + 151):
        if multiple % step == 0 and all(multiple % each for each in without):
            text = repr(float(f"{multiple}e{exponent - 16}"))
            if text != "inf" and decimals(text) == multiple * unit:
                expected.add(text)
            if (multiple * unit).denominator == 1 and multiple * unit < 10**20:
                expected.add(str(int(multiple * unit)))
    assert all_texts(number_lexeme(numbers, "json.dumps", 20)) == expected


@pytest.mark.parametrize("exponent", [-325, -324, -323, -322, -310, -309, -308, -5, 16, 308])
def test_short_texts_near_the_ends_of_the_doubles(exponent: int) -> None:
    start = number_lexeme(ALL_NUMBERS, "json.dumps", 40)
    for digits in range(10, 400):
        text = f"{digits // 10 ** (len(str(digits)) - 1)}.{str(digits)[1:]}e{exponent:+03}"
        assert accepts(start, text) == is_printed(text, EVERY, 40), text
        short = f"{digits % 10}e{exponent:+03}"
        assert accepts(start, short) == is_printed(short, EVERY, 40), short


@settings(max_examples=25, deadline=None)
@given(st.integers(10**15, 10**17 - 1), st.integers(-30, 20))
def test_long_digits_are_written_only_where_they_are_the_shortest(
    digits: int, exponent: int
) -> None:
    start = number_lexeme(at_least(Fraction(1, 10**9)), "json.dumps", 1)
    value = float(f"{digits}e{exponent - 16}")
    text = repr(value)
    assert accepts(start, text) == (value >= 1e-9)
    mantissa, mark, rest = text.partition("e")
    for change in range(-9, 10):
        last = int(mantissa[-1]) + change
        if 0 <= last <= 9:
            other = mantissa[:-1] + str(last) + mark + rest
            expected = is_printed(other, lower(Fraction(1, 10**9), False), 1)
            assert accepts(start, other) == expected, other


@pytest.mark.parametrize("divisors", [(2, 5), (5, 4), (2, 3, 25), (10,)])
@pytest.mark.parametrize("exponent", [-1000, -3, 10, 46, 47, 49, 51, 53, 54, 58, 140, 846])
def test_a_wide_range_has_texts_only_where_some_double_ends_in_its_digits(
    exponent: int, divisors: tuple[int, ...]
) -> None:
    low, high = 1.1 * 2.0**exponent, 1.2 * 2.0**exponent
    unit = Fraction(10) ** (math.floor(math.log10(low)) - 16)
    numbers = at_least(low) & at_most(high) & multiples_of(unit)
    for divisor in divisors:
        numbers = numbers & ~multiples_of(divisor * unit)
    choice = random.Random(0)
    doubles = (choice.uniform(low, high) for _ in range(2000))
    found = any(numbers.contains(double) for double in doubles)
    # Beside a number without integers, integers that are too long are no texts.
    start = number_lexeme(numbers | points([-0.5]), "json.dumps", 1)
    assert start is not None
    assert (start.transitions.keys() != {ord("-")}) == found


@pytest.mark.parametrize(
    ("numbers", "max_digits"),
    [
        (NO_NUMBERS, None),
        (INTEGERS & at_least(0.1) & at_most(0.9), None),
        # 0.10000000000000002 is the double after 0.1.
        (
            at_least(0.1, exclusive=True) & at_most(0.10000000000000002, exclusive=True),
            None,
        ),
        (
            multiples_of(Fraction(1, 10**400))
            & at_least(0, exclusive=True)
            & at_most(Fraction(1, 10**390)),
            None,
        ),
        # Doubles from 2**52 on have no fraction, from 2**53 on they are even, and from 0.5 to 1
        # 16 digits tell them apart.
        (at_least(2**52) & ~INTEGERS, None),
        (at_least(2**53) & at_most(10**16) & (~INTEGERS | (INTEGERS & ~multiples_of(2))), 15),
        (at_least(0.5) & at_most(1) & ~multiples_of(1e-16), None),
        (at_least(Fraction(2) * 10**308), 308),
        (INTEGERS & at_least(1000), 3),
        (points([10**20]), 20),
        (points([Fraction(10**25 + 1, 2)]), 40),
    ],
)
def test_a_set_without_a_text_has_no_lexeme(numbers: NumberSet, max_digits: int | None) -> None:
    assert number_lexeme(numbers, "json.dumps", max_digits) is None


@pytest.mark.parametrize(
    ("numbers", "max_digits", "text"),
    [
        (at_least(0.1) & at_most(0.10000000000000002, exclusive=True), None, "0.1"),
        (at_least(2**51) & ~INTEGERS, None, "2251799813685248.5"),
        (at_least(Fraction(2) * 10**308), 309, "2" + "0" * 308),
        (at_least(0, exclusive=True) & at_most(Fraction(1, 10**323)), None, "5e-324"),
        (INTEGERS & at_least(1000), 4, "1000"),
        (points([10**20]), 21, "1" + "0" * 20),
        (points([10**20, 0.5]), 20, "1e+20"),
        (multiples_of(1000003) & at_least(1), 7, "9000027"),
    ],
)
def test_a_rare_text_is_found(numbers: NumberSet, max_digits: int | None, text: str) -> None:
    assert accepts(number_lexeme(numbers, "json.dumps", max_digits), text)


def test_integers_are_written_without_a_point_where_all_members_are_integers() -> None:
    start = number_lexeme(INTEGERS, "json.dumps", 40)
    assert accepts(start, "1" + "0" * 39)
    assert not accepts(start, "1" + "0" * 40)
    for text in ("1.0", "1e+16", "-0", "-0.0", "0.0"):
        assert not accepts(start, text)


def test_equal_arguments_give_the_same_state_and_it_dies_with_its_users() -> None:
    numbers = at_least(3) & at_most(17.25)
    start = number_lexeme(numbers, "json.dumps", 5)
    assert start is not None
    assert number_lexeme(at_most(17.25) & at_least(3), "json.dumps", 5) is start
    assert number_lexeme(numbers, "json.dumps", 6) is not start
    state = weakref.ref(start.transitions[ord("4")])
    assert state() is not None
    del start
    gc.collect()
    assert state() is None


@pytest.mark.parametrize(
    ("numbers", "max_digits", "most"),
    [
        # The start, the minus, zero as the end, and one state for all digits.
        (INTEGERS, None, 4),
        (INTEGERS & at_least(0), None, 3),
        # As many states as more digits may follow, 9 to 0, the last of which is the end.
        (INTEGERS, 10, 12),
        # The digits of the bound are the text so far: 1, 10, ..., 1000000.
        (INTEGERS & at_least(0) & at_most(1000000), 40, 16),
        # One state for each remainder.
        (multiples_of(7), None, 11),
        # All numbers of three digits, which is all that matters.
        (INTEGERS & at_least(100) & at_most(999), None, 4),
    ],
)
def test_integers_share_states_where_digits_do_not_matter(
    numbers: NumberSet, max_digits: int | None, most: int
) -> None:
    start = number_lexeme(numbers, "json.dumps", max_digits)
    assert start is not None
    assert reachable(start, b"-0123456789", 12) <= most


def test_sets_share_states_where_their_bounds_do_not_matter() -> None:
    all_numbers = number_lexeme(ALL_NUMBERS, "json.dumps", 40)
    positive = number_lexeme(at_least(0), "json.dumps", 40)
    bounded = number_lexeme(at_least(-3) & at_most(1000), "json.dumps", 40)
    assert state_after(all_numbers, "12") is state_after(positive, "12")
    assert state_after(all_numbers, "-12") is state_after(positive, "12")
    assert state_after(all_numbers, "12.") is state_after(bounded, "12.")
    assert state_after(all_numbers, "1e") is not state_after(bounded, "1e")


@settings(deadline=None)
@given(
    st.integers(1, 10**9),
    st.one_of(st.integers(1, 10**7), st.integers(1, 10**12)),
    st.integers(1, 14),
)
@example(5, 7 * 10**300, 301)
def test_digits_go_on_only_towards_a_multiple(prefix: int, step: int, max_digits: int) -> None:
    start = number_lexeme(multiples_of(step), "json.dumps", max_digits)
    multiple = next(
        (
            -(-low // step) * step
            for low in (prefix * 10**more for more in range(max_digits - len(str(prefix)) + 1))
            if -(-low // step) * step < low + low // prefix
        ),
        None,
    )
    if multiple is None:
        assert state_after(start, str(prefix)) is None
    else:
        assert accepts(start, str(multiple))


def test_a_large_step_is_expanded_as_far_as_it_is_read() -> None:
    start = number_lexeme(multiples_of(1000003), "json.dumps", None)
    assert start is not None
    state = start
    for digit in b"9000027":
        state = state.transitions[digit]
    assert state.label is not None
