"""Numbers in every spelling that RFC 8259 has."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judged_sets import (
    JUDGED_SETS,
    RFC_NUMBER,
    SETS_NEAR_ONE,
    JudgedSet,
    accepts,
    both,
    decimals,
    judged_sets,
    lower,
    opposite,
    reachable,
    single,
    state_after,
    steps,
    text_of_walk,
    upper,
)

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
MAX_DIGITS = st.sampled_from([None, 1, 2, 5])
RFC_TEXTS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?0{0,2}[0-9]{1,2})?", fullmatch=True
)


def is_spelled(text: str, judged: JudgedSet, max_digits: int | None) -> bool:
    """Whether the text is a number of RFC 8259 whose exact value is a member."""
    match = RFC_NUMBER.fullmatch(text)
    if match is None or (max_digits is not None and len(match[1]) > max_digits):
        return False
    return judged.judge(decimals(text))


@st.composite
def respellings(draw: st.DrawFn, number: Fraction) -> str:
    """A text for the number, with its point and zeros moved about."""
    assume(abs(number.numerator) < 10**300 and number.denominator < 10**300)
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    zeros = draw(st.integers(0, 3))
    digits = str(abs(int(number * 10**places))) + "0" * zeros
    point = draw(st.integers(0, min(len(digits), 8)))
    whole, fraction = digits[:point] or "0", digits[point:]
    if whole[0] == "0" and len(whole) > 1:
        whole, fraction = "0", whole[1:] + fraction
    exponent = len(fraction) - places - zeros
    text = "-" * (number < 0) + whole + ("." + fraction if fraction else "")
    if exponent or draw(st.booleans()):
        mark = draw(st.sampled_from("eE"))
        sign = "-" if exponent < 0 else draw(st.sampled_from(["", "+"]))
        text += mark + sign + draw(st.sampled_from(["", "0"])) + str(abs(exponent))
    assert decimals(text) == number
    return text


def near(judged: JudgedSet) -> st.SearchStrategy[Fraction]:
    """Numbers at and beside those that decide the set."""
    beside = [Fraction(0), Fraction(1), Fraction(-1, 10), Fraction(1, 10**6), Fraction(-1, 10**30)]
    return st.builds(
        lambda number, distance: number + distance,
        st.sampled_from((*judged.critical, Fraction(0))),
        st.sampled_from(beside),
    )


@settings(max_examples=200, deadline=None)
@given(JUDGED_SETS, MAX_DIGITS, st.data())
def test_every_spelling_is_accepted_if_and_only_if_its_value_is_in_the_set(
    judged: JudgedSet, max_digits: int | None, data: st.DataObject
) -> None:
    text = data.draw(respellings(data.draw(near(judged))))
    start = number_lexeme(judged.numbers, "any", max_digits)
    assert accepts(start, text) == is_spelled(text, judged, max_digits)


@settings(max_examples=200, deadline=None)
@given(JUDGED_SETS, MAX_DIGITS, RFC_TEXTS)
def test_any_text_of_the_grammar_is_judged_by_its_value(
    judged: JudgedSet, max_digits: int | None, text: str
) -> None:
    start = number_lexeme(judged.numbers, "any", max_digits)
    assert accepts(start, text) == is_spelled(text, judged, max_digits)


@settings(max_examples=100, deadline=None)
@given(SETS_NEAR_ONE, MAX_DIGITS, st.builds(random.Random, st.integers(0, 2**32)))
def test_every_way_can_be_finished_and_spells_a_member(
    judged: JudgedSet, max_digits: int | None, choice: random.Random
) -> None:
    start = number_lexeme(judged.numbers, "any", max_digits)
    assume(start is not None)
    assert start is not None
    for _ in range(5):
        text = text_of_walk(start, choice)
        exponent = text.lower().partition("e")[2].lstrip("+-0")
        if len(exponent) < 5:
            assert is_spelled(text, judged, max_digits), text


SMALL_SETS = [
    EVERY,
    steps(Fraction(1)),
    lower(Fraction(0), False),
    lower(Fraction(0), True),
    upper(Fraction(-1, 2), True),
    both(lower(Fraction(0), False), upper(Fraction(1000), False)),
    both(lower(Fraction(1, 100), True), upper(Fraction(15), True)),
    both(steps(Fraction(1)), both(lower(Fraction(-3), False), upper(Fraction(105), True))),
    steps(Fraction(7)),
    steps(Fraction(1, 4)),
    steps(Fraction(100)),
    opposite(steps(Fraction(1))),
    opposite(single([Fraction(0), Fraction(5), Fraction(105, 10)])),
    single([Fraction(0), Fraction(15, 10), Fraction(-10)]),
    both(steps(Fraction(5)), opposite(steps(Fraction(10)))),
]


@pytest.mark.parametrize("judged", SMALL_SETS)
@pytest.mark.parametrize("max_digits", [1, None])
def test_all_short_texts(judged: JudgedSet, max_digits: int | None) -> None:
    start = number_lexeme(judged.numbers, "any", max_digits)
    for length in range(1, 6 if max_digits is None else 5):
        for letters in product("-.e105", repeat=length):
            text = "".join(letters)
            state = state_after(start, text)
            spelled = state is not None and state.label is not None
            assert spelled == is_spelled(text, judged, max_digits), text


@settings(max_examples=100, deadline=None)
@given(
    judged_sets(
        st.integers(-20, 20).map(lambda n: Fraction(n, 2)),
        st.sampled_from([Fraction(1), Fraction(3), Fraction(1, 2), Fraction(4)]),
    ),
    st.integers(1, 10**4),
    st.integers(0, 3),
)
def test_digits_go_on_if_and_only_if_a_member_starts_with_them(
    judged: JudgedSet, digits: int, places: int
) -> None:
    start = number_lexeme(judged.numbers, "any", None)
    text = str(digits) if not places else f"{digits // 10**places}.{digits % 10**places:0{places}}"
    # All that decides these sets lies at halves and between them, with a period of 12 beyond their
    # bounds: members show at the halves up to 40 above a window's start, and just beside them.
    found = False
    for power in range(-30, 3):
        low, high = digits * Fraction(10) ** power, (digits + 1) * Fraction(10) ** power
        tiny = (high - low) / 10**9
        halves = [Fraction(n, 2) for n in range(int(low * 2), int(low * 2) + 80)]
        tried = [low, low + tiny, *halves, *(half + tiny for half in halves)]
        found = found or any(judged.judge(x) for x in tried if low <= x < high)
    assert (state_after(start, text) is not None) == found


@pytest.mark.parametrize(
    ("numbers", "text", "expected"),
    [
        (ALL_NUMBERS, "1e999999999999999999999", True),
        (ALL_NUMBERS, "0.1E-999999999999999999999", True),
        (INTEGERS, "1e999999999999999999999", True),
        (INTEGERS, "0e-999999999999999999999", True),
        (INTEGERS, "1e-999999999999999999999", False),
        (INTEGERS, "120.0e-01", True),
        (INTEGERS, "120.0e-02", False),
        (at_least(0), "1e-999999999999999999999", True),
        (at_least(0), "-0.000e999999999999999999999", True),
        (at_least(1), "1e-999999999999999999999", False),
        (at_least(1), "0.001e999999999999999999999", True),
        (at_least(1) & at_most(1000), "1e999999999999999999999", False),
        (at_least(1) & at_most(1000), "1000000e-3", True),
        (at_least(1) & at_most(1000), "1000001e-3", False),
        (at_least(1) & at_most(1000), "0." + "0" * 400 + "1e404", True),
        (at_least(1) & at_most(1000), "0." + "0" * 400 + "1e405", False),
        (multiples_of(7), "7e999999999999999999999", True),
        (multiples_of(7), "8e999999999999999999999", False),
        (multiples_of(7), "14000e-3", True),
        (multiples_of(5), "2.5e1", True),
        (multiples_of(5), "2.5e0", False),
        (~INTEGERS, "15e-999999999999999999999", True),
        (~INTEGERS, "1.5e1", False),
        (~points([15]), "1.50e1", False),
        (~points([15]), "1.500e01", False),
        (~points([15]), "1.5001e1", True),
        (points([0.5]), "5000e-0004", True),
        (ALL_NUMBERS, "1" * 5000 + "e-4000", True),
        (multiples_of(3), "1" * 3000, True),
        (multiples_of(3), "1" * 3001, False),
    ],
)
def test_exponents_and_digits_of_any_size(numbers: NumberSet, text: str, expected: bool) -> None:
    assert accepts(number_lexeme(numbers, "any", None), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "+1",
        "01",
        "1.",
        ".5",
        "-",
        "-.",
        "1e",
        "1e+",
        "1.e1",
        "00",
        "-01",
        "1e1.0",
        "NaN",
        "--1",
        "e5",
    ],
)
def test_texts_that_are_no_numbers(text: str) -> None:
    assert not accepts(number_lexeme(ALL_NUMBERS, "any", None), text)


@pytest.mark.parametrize(
    "numbers",
    [
        NO_NUMBERS,
        INTEGERS & at_least(0.1) & at_most(0.9),
        multiples_of(3) & ~INTEGERS,
    ],
)
def test_an_empty_set_has_no_lexeme(numbers: NumberSet) -> None:
    assert number_lexeme(numbers, "any", None) is None
    assert number_lexeme(numbers, "any", 3) is None


def test_numbers_between_two_doubles_have_texts() -> None:
    numbers = at_least(0.1, exclusive=True) & at_most(0.10000000000000002, exclusive=True)
    start = number_lexeme(numbers, "any", None)
    assert accepts(start, "0.10000000000000001")
    assert accepts(start, "1000000000000000000000000000000001e-34")
    assert not accepts(start, "0.1")


@pytest.mark.parametrize(
    ("numbers", "letters", "most"),
    [
        # Start, minus, zero with and without it, whole, point, fraction, mark, sign, exponent.
        (ALL_NUMBERS, b"-0123456789.eE+", 10),
        # Start, whole, and only zero with a minus.
        (at_least(0), b"-0123456789", 5),
        # Start, zero, and the number of trailing zeros, from none to five.
        (INTEGERS & at_least(0), b"0123456789", 8),
        # Start, zero, and for each number of digits the text of the bound and the rest.
        (at_least(0) & at_most(1000), b"0123456789", 14),
    ],
)
def test_states_are_shared_where_digits_do_not_matter(
    numbers: NumberSet, letters: bytes, most: int
) -> None:
    start = number_lexeme(numbers, "any", None)
    assert start is not None
    assert reachable(start, letters, 6) <= most


def test_sets_share_states_where_their_bounds_do_not_matter() -> None:
    all_numbers = number_lexeme(ALL_NUMBERS, "any", None)
    positive = number_lexeme(at_least(0), "any", None)
    hundred = number_lexeme(at_most(100), "any", None)
    less = number_lexeme(at_most(100, exclusive=True), "any", None)
    assert state_after(all_numbers, "12") is state_after(positive, "345")
    assert state_after(hundred, "2") is state_after(less, "7")
    assert state_after(hundred, "12.5e") is state_after(less, "75e")
    assert state_after(hundred, "-1") is state_after(positive, "1")
