"""Regular expressions as a format: by hand after ECMA-262, and by two engines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from random import Random

import pytest
from regex_grammar import is_regular_expression

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
    words,
)
from mlx_structured.languages.regex_format import AHEAD, regex

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
    "(?i:a)(?-m:b)(?im-s:c)(?s-:d)(?:e)+",
    "(?-ims:(?i:a)*){2}",
    "\\1(a)",
    "(\\2)(\\1)\\2",
    "\\12" + "()" * 12,
    "\\k<n>(?<n>a)",
    "(?<a>\\k<b>)(?<b>\\k<a>)\\2",
    "(?<n>a)|(?<n>b)",
    "(?:(?<n>a)|(?<n>b)|c)\\k<n>",
    "(?:(?<n>a)|(?:(?<n>b)(?<m>)|(?<n>c)))",
    "[\\ud800-\\udbff][\\udc00-\\udfff][\\ud800-\\udfff]",
    "[\\ud83d\\ude00-\\ud83d\\ude4f]",
    "[\\u{1f600}-\\ud83d\\ude4f]",
    "[\\ude00-\\ud83d\\ude00]",
    "[\\ue000-\\ud83d\\ude00]",
    "[\\ud83d-\\ude00]",
    "[\\ud83d\\ud83d\\ude00]",
    "[\\u{d83d}\\u{de00}-\\uffff]",
    "[\\u0431-\\u0439\\u{431}-\\u{432}]",
    "[б-йб-б]",
    "[б-\\u0439\\u{431}-й中-😀]",
    "(?<αв中٣𐐀‍>)\\k<αв中٣𐐀‍>",
    "(?<\\u0061b>)\\k<a\\u{62}>",
    "\\k<\\u{10400}>(?<\\ud801\\udc00>)",
    "(?<α>)|(?<\\u03b1>)",
    "(?<$\\u200c_>)",
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
    "(?-:a)",
    "(?ii:a)",
    "(?i-i:a)",
    "(?-mm:a)",
    "(?i-s-m:a)",
    "(?x:a)",
    "(?i",
    "(?i-",
    "(a)\\2(b\\3)",
    "\\10" + "()" * 9,
    "\\k<n>(?<m>a)",
    "\\k<>(?<n>)",
    "(?<n>(?<n>a))",
    "(?<n>a)(?:b|(?<n>c))",
    "(?:(?<n>a)|b)(?<n>c)",
    "(?<n>a)|(?<n>b)(?<n>c)",
    "[\\ud83d\\ude4f-\\ud83d\\ude00]",
    "[\\ud83d\\ude00-\\ud83d]",
    "[\\ue000-\\ud83d]",
    "[\\ue000-\\ud83d\\u{de00}]",
    "[\\ude00-\\ud83d]",
    "[\\u{1f600}-\\ude00]",
    "[\\u0439-\\u0431]",
    "[\\d-\\ud83d\\ude00]",
    "[\\u{}]",
    "[\\u{110000}]",
    "[й-б]",
    "[й-\\u0431]",
    "[\\u{439}-б]",
    "[😀-中]",
    "(?<٣>)",
    "(?<‍>)",
    "(?<a—>)",
    "(?<\\u0031>)",
    "(?<a\\u002d>)",
    "(?<\\ud801>)",
    "(?<a\\x62>)",
    "(?<\\u{0061>)",
    "(?<\\u0061>)(?<a>)",
    "(?<α>)\\k<β>",
]
PIECES = [
    *("(", ")", "(?:", "(?<n>", "(?<m>", "(?<n>)|", "(?<", ">", "(?=", "(?!", "(?<=", "(?<!", "|"),
    *("(?i:", "(?-i:", "(?i-m:", "(?i-i:", "(?-:", "*", "?", "+", "{2}", "{3,2}", "{1,}", "^", "$"),
    *("\\k<n>", "\\k<m>", "\\k<", "\\1", "\\2", "\\12", "\\0", "\\d", "\\b", "\\", "\\cA", "\\x41"),
    *(
        "a",
        "n",
        "u",
        "1",
        "0",
        "[",
        "]",
        "[",
        "]",
        "-",
        "-",
        "\\-",
        "\\p{L}",
        "\\u0061",
        "\\u{110000}",
    ),
    *("б", "й", "б-й", "й-б", "😀", "(?<б>", "\\k<б>", "\\u0431"),
    *("\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u{1f600}", "\\u{d83d}", "\\ue000", "\\uffff"),
]


@pytest.mark.parametrize("pattern", VALID)
def test_a_valid_pattern_is_let_through(pattern: str) -> None:
    assert matches(regex(), pattern)
    assert not matches(OPPOSITES["regex"](), pattern)


@pytest.mark.parametrize("pattern", INVALID)
def test_an_invalid_pattern_is_not(pattern: str) -> None:
    assert not matches(regex(), pattern)


def test_it_holds_the_same_texts_as_the_grammar_of_ecma_262() -> None:
    rng = Random(10)
    for text in _pieced_together(rng, 6_000):
        assert matches(regex(), text) == is_regular_expression(text), text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_recogniser_that_judges_agrees_with_node() -> None:
    rng = Random(11)
    texts = [text for text in _pieced_together(rng, 6_000) if not _is_of_2025(text)]
    script = (
        "const valid = text => { try { RegExp(text, 'u'); return true } catch { return false } };"
        "const input = require('fs').readFileSync(0, 'utf8');"
        "console.log(JSON.stringify(JSON.parse(input).map(valid)))"
    )
    answer = subprocess.run(
        ["node", "-e", script], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    for text, valid in zip(texts, json.loads(answer.stdout), strict=True):
        assert is_regular_expression(text) == valid, text


def _pieced_together(rng: Random, number: int) -> list[str]:
    """Texts of pieces of regular expressions, about a fifth of them valid."""
    texts = []
    for _ in range(number):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 8)))
        before, after = rng.choice([("", ""), ("", ""), ("[", "]"), ("[", "]"), ("(?<n>a)", "")])
        texts.append(before + text + after)
    return texts


def _is_of_2025(text: str) -> bool:
    """Whether it has modifiers or one name twice, which older engines don't know."""
    named = re.findall(r"\(\?<[^=!]", text)
    return len(named) > len(set(named)) or re.search(r"\(\?[ims-]", text) is not None


@pytest.mark.parametrize(
    ("beginning", "rest"),
    [
        ("(a)\\2", "()"),
        ("\\3()", "()()"),
        ("\\k<ab>\\2", "(?<ab>)()"),
        ("(?<n", ">)"),
        ("(?<n\\u{10", "0}>)"),
        ("\\k<б>(?<", "б>)"),
        ("[й-\\u04", "39]"),
        ("(?<n>)(?<n", "a>)"),
        ("\\k<n>(?<", "n>)"),
        ("(?<ab>)\\k<", "ab>"),
        ("[\\ue000-\\ud83d", "\\udc00]"),
    ],
)
def test_an_open_end_is_closed_by_the_shortest_text(beginning: str, rest: str) -> None:
    state = regex()
    for character in beginning:
        state = state.derivative(ord(character))
    assert state.shortest <= len(rest)
    assert matches(state, rest)
    assert len(example(state)) == len(rest)
    assert is_empty(intersection(state, length_between(0, len(rest) - 1)))


def test_a_reference_reaches_a_bounded_number_of_groups_ahead() -> None:
    assert matches(regex(), f"\\{AHEAD}" + "()" * AHEAD)
    assert matches(regex(), f"()\\{AHEAD + 1}" + "()" * AHEAD)
    assert not matches(regex(), f"\\{AHEAD + 1}" + "()" * (AHEAD + 1))


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


def test_the_opposite_is_all_that_the_grammar_refuses() -> None:
    rng = Random(12)
    for text in _pieced_together(rng, 3_000):
        assert matches(OPPOSITES["regex"](), text) != is_regular_expression(text), text
    ahead = f"\\{AHEAD + 1}" + "()" * (AHEAD + 1)
    assert not matches(OPPOSITES["regex"](), ahead)
    assert matches(OPPOSITES["regex"](), ahead[:-2])
    assert matches(OPPOSITES["regex"](), f"\\{2**32}")


def test_each_character_of_a_finite_set_is_listed_by_itself() -> None:
    within = intersection(regex(), match_language(r"\[[а-г]-[б-в]\]"))
    assert words(within, 20) == ["[а-б]", "[а-в]", "[б-б]", "[б-в]", "[в-в]"]
    assert words(within, 4) is None


def test_what_a_pattern_forces_on_a_name_is_found() -> None:
    forced = intersection(regex(), match_language(r"\\k<[ßж]>\(\?<[вж]>\)"))
    assert not is_empty(forced)
    assert matches(forced, r"\k<ж>(?<ж>)")
    state = forced
    for character in r"\k<":
        state = state.derivative(ord(character))
    assert not is_empty(state.derivative(ord("ж")))
    assert is_empty(state.derivative(ord("ß")))


def test_a_range_that_a_pattern_forces_ends_where_it_may() -> None:
    forced = intersection(regex(), match_language(r"\[.-ж\]"))
    state = forced.derivative(ord("["))
    assert not is_empty(state.derivative(ord("ж")))
    assert is_empty(state.derivative(ord("я")))
