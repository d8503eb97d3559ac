"""Sets in which it matters whether a number is written as an integer is in draft 4."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judged_sets import (
    RFC_NUMBER,
    SETS_NEAR_ONE,
    SETS_WITH_SMALL_STEPS,
    JudgedSet,
    accepts,
    decimals,
    text_of_walk,
)
from test_any_numbers import RFC_TEXTS, respellings

from mlx_structured.automaton.number_lexeme import few_numbers, number_lexeme
from mlx_structured.languages.number_set import (
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    at_least,
    at_most,
    points,
)
from mlx_structured.languages.spelled_numbers import (
    INTEGER_TEXTS,
    Numbers,
    SpelledNumbers,
    spelled,
)
from mlx_structured.style import Spelling

INTEGER_TEXT = re.compile(r"-?[0-9]+", re.ASCII)
MAX_DIGITS = st.sampled_from([None, 1, 2, 5])


class JudgedTexts(NamedTuple):
    """A set with what decides membership by value and by "is it spelled as an integer"."""

    numbers: Numbers
    judge: Callable[[Fraction, bool], bool]
    critical: tuple[Fraction, ...] = (Fraction(0),)


def by_value(judged: JudgedSet) -> JudgedTexts:
    critical = (*judged.critical, Fraction(0))
    return JudgedTexts(judged.numbers, lambda x, is_whole: judged.judge(x), critical)


def both(one: JudgedTexts, two: JudgedTexts) -> JudgedTexts:
    return JudgedTexts(
        one.numbers & two.numbers,
        lambda x, is_whole: one.judge(x, is_whole) and two.judge(x, is_whole),
        one.critical + two.critical,
    )


def either(one: JudgedTexts, two: JudgedTexts) -> JudgedTexts:
    return JudgedTexts(
        one.numbers | two.numbers,
        lambda x, is_whole: one.judge(x, is_whole) or two.judge(x, is_whole),
        one.critical + two.critical,
    )


def opposite(one: JudgedTexts) -> JudgedTexts:
    return JudgedTexts(~one.numbers, lambda x, is_whole: not one.judge(x, is_whole), one.critical)


def judged_texts(sets: st.SearchStrategy[JudgedSet]) -> st.SearchStrategy[JudgedTexts]:
    """Combinations of sets of values with draft 4's integers."""
    integers = st.just(JudgedTexts(INTEGER_TEXTS, lambda x, is_whole: is_whole))
    return st.recursive(
        st.one_of(integers, sets.map(by_value)),
        lambda inner: st.one_of(
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            st.builds(opposite, inner),
        ),
        max_leaves=5,
    )


TEXTS = judged_texts(SETS_WITH_SMALL_STEPS)
TEXTS_NEAR_ONE = judged_texts(SETS_NEAR_ONE)
TEXTS_OF_FEW = judged_texts(
    st.lists(st.sampled_from([0, 1, -1, 2, 10, 100, Fraction(1, 2)]), max_size=4).map(
        lambda values: JudgedSet(points(values), lambda x: x in values)
    )
)


def is_member(text: str, judged: JudgedTexts, max_digits: int | None) -> bool:
    """Whether the text, of any spelling, is one of the set's."""
    match = RFC_NUMBER.fullmatch(text)
    if match is None or (max_digits is not None and len(match[1]) > max_digits):
        return False
    return judged.judge(decimals(text), INTEGER_TEXT.fullmatch(text) is not None)


def is_printed(text: str, judged: JudgedTexts, max_digits: int | None) -> bool:
    """Whether json.dumps prints the text for a member, as an int if all are integers."""
    if not RFC_NUMBER.fullmatch(text) or json.dumps(json.loads(text)) != text:
        return False
    value = decimals(text)
    if isinstance(json.loads(text), int):
        fits = max_digits is None or len(text.lstrip("-")) <= max_digits
        return fits and judged.judge(value, True)
    floats = judged.numbers
    if isinstance(floats, SpelledNumbers):
        floats = floats.others
    return judged.judge(value, False) and not (floats.integers_only and judged.judge(value, True))


JUDGES: dict[Spelling, Callable[[str, JudgedTexts, int | None], bool]] = {
    "any": is_member,
    "json.dumps": is_printed,
}


@settings(max_examples=150, deadline=None)
@given(TEXTS, MAX_DIGITS, RFC_TEXTS, st.data())
def test_a_text_is_accepted_if_and_only_if_its_value_and_its_spelling_fit(
    judged: JudgedTexts, max_digits: int | None, text: str, data: st.DataObject
) -> None:
    start = number_lexeme(judged.numbers, "any", max_digits)
    number = data.draw(st.sampled_from(judged.critical)) + data.draw(st.sampled_from([0, 1, -1]))
    texts = [text, data.draw(respellings(number))]
    if number.denominator == 1:
        texts.append(str(number))
    for each in texts:
        assert accepts(start, each) == is_member(each, judged, max_digits), each


@settings(max_examples=150, deadline=None)
@given(TEXTS, MAX_DIGITS, st.data())
def test_json_dumps_prints_what_is_written_if_and_only_if_it_fits(
    judged: JudgedTexts, max_digits: int | None, data: st.DataObject
) -> None:
    start = number_lexeme(judged.numbers, "json.dumps", max_digits)
    number = data.draw(st.sampled_from(judged.critical)) + data.draw(st.sampled_from([0, 1, -1]))
    values: list[int | float] = [round(number), data.draw(st.floats(-1e17, 1e17))]
    if abs(number) < 10**300:
        values.append(float(number))
    for value in values:
        text = json.dumps(value)
        assert accepts(start, text) == is_printed(text, judged, max_digits), text


@settings(max_examples=100, deadline=None)
@given(
    TEXTS_NEAR_ONE,
    st.sampled_from(list(JUDGES)),
    MAX_DIGITS,
    st.builds(random.Random, st.integers(0, 2**32)),
)
def test_every_way_can_be_finished_and_spells_a_member(
    judged: JudgedTexts, spelling: Spelling, max_digits: int | None, choice: random.Random
) -> None:
    start = number_lexeme(judged.numbers, spelling, max_digits)
    assume(start is not None)
    assert start is not None
    for _ in range(5):
        text = text_of_walk(start, choice)
        if len(text.lower().partition("e")[2].lstrip("+-0")) < 5:
            assert JUDGES[spelling](text, judged, max_digits), text


SHORT = [
    opposite(JudgedTexts(INTEGER_TEXTS, lambda x, is_whole: is_whole)),
    JudgedTexts(INTEGER_TEXTS & points([1, 10]), lambda x, is_whole: is_whole and x in (1, 10)),
    JudgedTexts(
        spelled(points([0, 5]), points([5, 10, Fraction(1, 2)])),
        lambda x, is_whole: x in ((0, 5) if is_whole else (5, 10, Fraction(1, 2))),
    ),
    JudgedTexts(
        spelled(at_least(5), at_most(1)), lambda x, is_whole: x >= 5 if is_whole else x <= 1
    ),
    JudgedTexts(
        spelled(points([5]), points([0, 5])),
        lambda x, is_whole: x == 5 or (x == 0 and not is_whole),
    ),
]


@pytest.mark.parametrize("judged", SHORT)
@pytest.mark.parametrize("spelling", list(JUDGES))
@pytest.mark.parametrize("max_digits", [1, None])
def test_all_short_texts(judged: JudgedTexts, spelling: Spelling, max_digits: int | None) -> None:
    start = number_lexeme(judged.numbers, spelling, max_digits)
    for length in range(1, 6):
        for letters in product("-.e105", repeat=length):
            text = "".join(letters)
            assert accepts(start, text) == JUDGES[spelling](text, judged, max_digits), text


def is_same(one: Numbers, two: Numbers) -> bool:
    """Large sets may be made of parts in more ways than one, the empty set only in one."""
    return ((one & ~two) | (two & ~one)).is_empty()


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_sets_of_texts_obey_the_laws_of_sets(one: JudgedTexts, two: JudgedTexts) -> None:
    left, right = one.numbers, two.numbers
    assert (left & ~left).is_empty()
    assert (~(left | ~left)).is_empty()
    assert is_same(~~left, left)
    assert is_same(~(left & right), ~left | ~right)
    assert is_same((left & right) | (left & ~right), left)
    assert left & right == right & left
    assert left | right == right | left


@settings(max_examples=100, deadline=None)
@given(TEXTS_OF_FEW, TEXTS_OF_FEW)
def test_a_set_is_empty_or_the_same_only_if_no_text_tells(
    one: JudgedTexts, two: JudgedTexts
) -> None:
    # 3 and 3.5 are in none of the lists, and stand for all others.
    texts = [(Fraction(n, 2), False) for n in (-2, 0, 1, 2, 4, 5, 20, 200, 6, 7)]
    texts += [(number, True) for number, _ in texts if number.denominator == 1]
    assert one.numbers.is_empty() == (not any(one.judge(*text) for text in texts))
    agree = all(one.judge(*text) == two.judge(*text) for text in texts)
    assert is_same(one.numbers, two.numbers) == agree


@settings(max_examples=100, deadline=None)
@given(SETS_WITH_SMALL_STEPS)
def test_a_set_of_values_alone_has_no_spelling(judged: JudgedSet) -> None:
    numbers = judged.numbers
    assert spelled(numbers, numbers) is numbers
    again = (numbers & INTEGER_TEXTS) | (numbers & ~INTEGER_TEXTS)
    assert isinstance(again, NumberSet)
    assert again == numbers


@pytest.mark.parametrize("max_digits", [None, 1, 2])
@pytest.mark.parametrize("spelling", list(JUDGES))
@settings(max_examples=60, deadline=None)
@given(judged=TEXTS_OF_FEW)
def test_few_numbers_are_those_that_have_a_text(
    spelling: Spelling, max_digits: int | None, judged: JudgedTexts
) -> None:
    found = few_numbers(judged.numbers, spelling, max_digits, 20)
    tried = [Fraction(each) for each in (-100, *range(-10, 11), 100, 0.5, 0.25)]
    texts = [f"{number}" for number in tried if number.denominator == 1]
    texts += [json.dumps(float(number)) for number in tried]
    # With a point or an exponent there is always room for the digits.
    texts += [f"{number.numerator}e0" for number in tried if abs(number.numerator) < 10]
    texts += ["1e1", "1e2", "-1e1", "-1e2"]
    has_text = {decimals(text) for text in texts if JUDGES[spelling](text, judged, max_digits)}
    if found is None:
        assert len(has_text) > 1
    else:
        assert has_text == set(found)


def test_all_members_are_counted_once_however_they_are_written() -> None:
    numbers = spelled(points([1, 2, 100]), points([2, 3, Fraction(1, 2)]))
    assert few_numbers(numbers, "any", None, 5) == [Fraction(1, 2), 1, 2, 3, 100]
    assert few_numbers(numbers, "any", 2, 5) == [Fraction(1, 2), 1, 2, 3]
    assert few_numbers(numbers, "any", None, 4) is None
    assert few_numbers(INTEGER_TEXTS, "any", 1, 30) == list(range(-9, 10))
    assert few_numbers(INTEGER_TEXTS & at_least(98), "any", 2, 30) == [98, 99]
    assert few_numbers(spelled(NO_NUMBERS, points([1, 2])), "json.dumps", 40, 5) == [1, 2]


@pytest.mark.parametrize("spelling", list(JUDGES))
def test_integers_far_from_zero_and_none_between(spelling: Spelling) -> None:
    start = number_lexeme(INTEGER_TEXTS & at_least(10**30), spelling, 31)
    assert accepts(start, str(10**30))
    assert not accepts(start, str(10**30 - 1))
    assert not accepts(start, "1e30")
    assert number_lexeme(INTEGER_TEXTS & at_least(10**31), spelling, 31) is None


def test_draft_4_integers_are_read_by_the_states_of_integers() -> None:
    numbers = INTEGERS & at_least(0) & at_most(500)
    start = number_lexeme(numbers, "json.dumps", 40)
    same = number_lexeme(numbers & INTEGER_TEXTS, "json.dumps", 40)
    assert start is not None
    assert same is not None
    assert set(start.transitions) == set(same.transitions)
    for byte, state in start.transitions.items():
        assert same.transitions[byte] is state
