"""Regular expressions as a format: by hand after ECMA-262, and by two engines."""

from __future__ import annotations

import re
from random import Random

import pytest

from mlx_structured.errors import PatternError
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.formats import OPPOSITES
from mlx_structured.languages.language import (
    complement,
    example,
    intersection,
    is_empty,
    length_between,
    matches,
    sample,
)
from mlx_structured.languages.regex_format import regex

VALID = [
    "",
    "a|b||",
    "(?:a(b(?=c)d)*)+?",
    "^\\d{3}-\\d{4}$",
    "a{2,}b{0,0}c{10,20}?d{007,7}",
    "(a)\\1",
    "(a)(?<n>b)\\2\\k<n>",
    "(?<a>x)(?<ab>y)(?<$_1>z)",
    "(?<=a+)b(?<!c)",
    "[]|[^]|[-]|[--]|[a-]|[-a]|[^-a]|[a-c-e]|[\\d-]|[--/]",
    "[\\x00-\\x1f\\u0080-\\u{10ffff}\\n\\b\\cA\\-\\]]",
    "[a-z\u4e00-\u9fa5\u0430-\u044f]",
    "\\p{L}\\P{Script=Greek}[\\p{Lu}]\\p{gc=Nd}",
    "\\0\\cZ\\u{00041}\\ud83d\\ude00\\/\\^",
    "a.b/c,d:e=f!g<h>i",
]
INVALID = [
    "(",
    ")",
    "(a",
    "a)",
    "[",
    "]",
    "[a",
    "{",
    "}",
    "a{",
    "a{1",
    "a{,2}",
    "a{2,1}",
    "a{20,3}",
    "*",
    "a**",
    "a+*",
    "a???",
    "^*",
    "\\b+",
    "(?=a)*",
    "(?<=a)*",
    "(|*)",
    "\\",
    "\\a",
    "\\-",
    "\\1",
    "(a)\\2",
    "(a)\\10",
    "\\00",
    "\\k<n>",
    "(?<n>a)(?<n>b)",
    "(?<1>a)",
    "(?<>a)",
    "(?P<n>a)",
    "(?#a)",
    "(?i)a",
    "(?a)",
    "[b-a]",
    "[\\x62-a]",
    "[\\d-z]",
    "[a-\\d]",
    "[\\u{62}-\\u0061]",
    "[\\00]",
    "\\xg0",
    "\\u12",
    "\\u{110000}",
    "\\u{}",
    "\\p{Nope}",
    "\\pL",
    "[\\B]",
    "\\c1",
]


@pytest.mark.parametrize("pattern", VALID)
def test_a_valid_pattern_is_let_through(pattern: str) -> None:
    assert matches(regex(), pattern)
    assert not matches(OPPOSITES["regex"](), pattern)


@pytest.mark.parametrize("pattern", INVALID)
def test_an_invalid_pattern_is_not(pattern: str) -> None:
    assert not matches(regex(), pattern)


def test_what_is_drawn_is_read_by_the_parser_of_patterns() -> None:
    rng = Random(7)
    for _ in range(250):
        pattern = sample(regex(), rng, rng.randint(1, 25))
        assert not matches(OPPOSITES["regex"](), pattern), pattern
        try:
            match_language(pattern) if len(pattern) < 60 else None
        except PatternError as error:
            assert not error.supported, pattern


def test_what_is_drawn_is_read_by_python_where_the_two_syntaxes_agree() -> None:
    rng = Random(8)
    agreed = intersection(regex(), match_language(r"[a-c()?:=!|*+.^$]*"))
    for _ in range(150):
        pattern = sample(agreed, rng, rng.randint(1, 15))
        re.compile(pattern)


def test_every_prefix_can_be_completed() -> None:
    rng = Random(9)
    for _ in range(60):
        state = regex()
        for character in sample(regex(), rng, 25):
            assert not is_empty(state)
            state = state.derivative(ord(character))
        assert state.nullable


@pytest.mark.parametrize(("low", "high"), [(0, 0), (5, 5), (40, 60), (7, None)])
def test_lengths_combine_with_it(low: int, high: int | None) -> None:
    word = example(intersection(regex(), length_between(low, high)))
    assert len(word) >= low
    assert matches(regex(), word)


def test_open_groups_need_room_for_their_ends() -> None:
    state = intersection(regex(), length_between(0, 6))
    for character in "(((":
        state = state.derivative(ord(character))
    assert example(state) == ")))"
    assert is_empty(state.derivative(ord("(")))


def test_the_complement_holds_what_is_left_out_too() -> None:
    assert matches(complement(regex()), "(")
    assert not matches(complement(regex()), "()")


def test_no_pattern_is_a_plain_opposite() -> None:
    for pattern in ("*a", "a)", "(a", "a**", "\\", "a\\"):
        assert matches(OPPOSITES["regex"](), pattern)
    for pattern in ("[(]", "\\(", "[)]", "a\\\\", "[*+]", "(a)"):
        assert not matches(OPPOSITES["regex"](), pattern)
