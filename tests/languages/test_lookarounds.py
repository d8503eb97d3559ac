"""Lookarounds within lookarounds, and groups with flags of their own, by a matcher that backtracks
as ECMA-262 does."""

from __future__ import annotations

import sys
from itertools import product

import pytest
from backtracking import (
    Atom,
    Choice,
    Flags,
    Look,
    Node,
    Point,
    Repeated,
    Row,
    is_found,
    is_match,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_texts import assert_texts

from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.ecma_pattern import match_language, search_language
from mlx_structured.languages.language import is_empty, matches
from mlx_structured.limits import Budget, Limits

FOUND = [
    # pattern, texts in which it is found, texts in which it isn't
    (r"(?<=\ba)c", ["ac", "-ac"], ["bac", "c"]),
    (r"(?<=a\b)-", ["a-", "ba-"], ["b-", "-"]),
    (r"(?<=a\b)b", [], ["ab", "a-b"]),
    (r"(?<=a$)", ["a", "ba"], ["ab", "b", ""]),
    (r"(?<=a$)b", [], ["ab", "a", "aab"]),
    (r"(?<=^a|b)c", ["ac", "bc", "abc"], ["aac", "c"]),
    (r"(?<=(?=a).)c", ["ac", "bac"], ["bc", "c"]),
    (r"(?<=(?=ab).)", ["ab", "cab"], ["a", "ba", "aab"[:2]]),
    (r"(?<=(?=a.*z).)b", ["abz", "ab--z", "aabz"], ["ab", "zab", "bz", "aab"]),
    (r"^a(?<!a(?!b))", ["ab", "abc"], ["a", "ac"]),
    (r"^a(?<!a(?!b)).?$", ["ab"], ["a", "aa"]),
    (r"(?<=^(?=.{4}$).*)c", ["abcd", "cxxx"], ["abc", "abcde", "abxd"]),
    (r"(?<=(?<=^|,)(?=[^,]*;)[^,]*)x", ["ax;", "b,ax-;"], ["ax,;", "a,x"]),
    (r"^(?!.*(?<=a(?=b)).*$).*$", ["ba", "a-b", ""], ["ab", "bab-"]),
    (r"(?=(?<=a(?=(?<=(?=b).|b)c))c)", [], ["abc", "ac"]),
    (r"(?<=(?:a\b|-)+)b", ["-b", "a-b"], ["ab", "b"]),
    (r"^(?:a(?<=\ba\b)-?)+$", ["a", "a-a", "a-"], ["aa", "-a"]),
]


@pytest.mark.parametrize(("pattern", "found", "missing"), FOUND, ids=[case[0] for case in FOUND])
def test_a_lookbehind_may_ask_about_the_text_on_both_sides(
    pattern: str, found: list[str], missing: list[str]
) -> None:
    assert_texts(search_language(pattern), found, missing)


@pytest.mark.parametrize("opening", ["(?=", "(?!", "(?<=", "(?<!"])
@pytest.mark.parametrize(
    ("inner", "found"), [("a", ["a", "-a-"]), (r"a\b", ["a", "-a-"]), ("a$", ["a"])]
)
def test_a_hundred_nested_lookarounds_take_no_deep_stack(
    opening: str, inner: str, found: list[str]
) -> None:
    # A hundred negations are none.
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(600)
    try:
        language = search_language(opening * 100 + inner + ")" * 100)
        assert [text for text in ("", "a", "-a-", "-") if matches(language, text)] == found
    finally:
        sys.setrecursionlimit(limit)


FLAGS = [
    # pattern that matches as a whole, texts that it matches, texts that it doesn't
    ("(?i:a)b", ["ab", "Ab"], ["aB", "AB"]),
    ("(?i:a(?-i:b))c", ["abc", "Abc"], ["aBc", "abC"]),
    ("(?i:[a-z]+)", ["Az", "\u017f", "\u212a"], ["1", ""]),
    ("(?i:\u017f)", ["s", "S", "\u017f"], ["k"]),
    ("(?i:[^k])", ["a", "\n"], ["k", "K", "\u212a"]),
    (r"(?i:\w+)", ["aZ_9", "\u017f", "\u212a"], ["\u00e9", "-"]),
    (r"(?i:\W)", ["\u00e9", "-"], ["a", "S", "\u017f", "\u212a"]),
    (r"(?i:[^\W])", ["a", "\u017f"], ["-"]),
    (r"(?i:.\b.)", ["\u017f-", "-k", "\u00e9k"], ["\u017fk", "k\u212a"]),
    (r"(?i:.\B.)", ["\u017fk"], ["\u017f-"]),
    (r".\b.", ["\u017fk"], ["\u017f-"]),
    (r"(?i:\p{Lu})", ["A", "a", "\u00e9"], ["1", "\u00df\u00df"]),
    (r"(?i:\P{Lu})", ["A", "a", "1"], [""]),
    (r"(?i:[^\P{Lu}])", ["\U0001d400"], ["A", "a", "1"]),
    (r"(?i:[^\p{Lu}])", ["1"], ["A", "a"]),
    ("(?i:\u03c3)", ["\u03c3", "\u03c2", "\u03a3"], ["s"]),
    ("(?i:\u00df)", ["\u00df", "\u1e9e"], ["ss", "SS"]),
    ("(?i:i)", ["i", "I"], ["\u0130", "\u0131"]),
    ("(?i:\u0130)", ["\u0130"], ["i", "I"]),
    ("(?i:\ufb05)", ["\ufb05", "\ufb06"], ["st"]),
    ("(?i:\U00010400)", ["\U00010400", "\U00010428"], []),
    ("(?s:.).", ["\na", "aa"], ["\n\n", "a\n"]),
    ("(?s:.(?-s:.)).", ["\naa"], ["\n\na", "aa\n"]),
    (r"(?m:a$\n^b)", ["a\nb"], ["ab"]),
    (r"(?m:a$)\s^b", [], ["a\nb"]),
    (r"(?m:a$)\s(?m:^)b", ["a\nb", "a\rb", "a\u2028b", "a\u2029b"], ["a b", "a\u0085b"]),
    (r"(?m:a$(?-m:\n^b))", [], ["a\nb"]),
    (r"(?m:(?<=^a$)\nb)", [], ["\nb"]),
    (r"a(?m:(?<=^a$))\nb", ["a\nb"], ["aa\nb"]),
    ("(?ims:A.^b)", ["a\nb", "A\nB"], ["a.b"]),
    ("(?i-s:.)(?s-im:.)(?s-:.)(?-i:a)", ["a\n\na"], ["\n\n\na", "a\n\nA"]),
    ("(?i:ab|c)+d", ["ABcabd", "Cd"], ["d", "abD"]),
    ("(?i:a|(?-i:b)|c)", ["a", "A", "b", "C"], ["B"]),
    ("(?i:(a)(?<n>b)(?=c))c", ["ABc"], ["abC"]),
]


@pytest.mark.parametrize(("pattern", "matched", "others"), FLAGS, ids=[case[0] for case in FLAGS])
def test_a_group_has_flags_of_its_own(pattern: str, matched: list[str], others: list[str]) -> None:
    assert_texts(match_language(pattern), matched, others)


ATOMS = [Atom("a", "a"), Atom("b", "b"), Atom("[^a]", "a", negative=True), Atom(".", "\n", True)]
CASES = [*ATOMS, Atom("A", "A"), Atom("[A-Z]", "AB"), Atom(r"\n", "\n")]
POINTS = [Point(r"\b"), Point(r"\B"), Point("^"), Point("$")]
COUNTS = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (1, 2), (0, 2)])
MODIFIERS = st.sampled_from(
    [("i", ""), ("s", ""), ("m", ""), ("", "i"), ("im", "s"), ("s", "im"), ("ims", ""), ("", "ms")]
)


def larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        st.builds(Row, inner, inner),
        st.builds(Choice, inner, inner),
        st.builds(lambda body, counts: Repeated(body, *counts), inner, COUNTS),
        st.builds(Look, st.sampled_from(["?=", "?!", "?<=", "?<!"]), inner),
        st.builds(Look, st.sampled_from(["?<=", "?<!"]), inner),
    )


def with_flags(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    flags = st.builds(lambda flags, body: Flags(flags[0], flags[1], body), MODIFIERS, inner)
    return st.one_of(larger(inner), flags, flags)


def texts(alphabet: str, longest: int) -> list[str]:
    lengths = range(longest + 1)
    return ["".join(text) for length in lengths for text in product(alphabet, repeat=length)]


WORDS = texts("ab-", 4)
LINES = texts("aA\n", 4)


@settings(max_examples=400, deadline=None)
@given(st.recursive(st.sampled_from([*ATOMS, *POINTS]), larger, max_leaves=8))
def test_nested_lookarounds_hold_where_a_backtracking_matcher_has_them_hold(pattern: Node) -> None:
    searched, matched = search_language(str(pattern)), match_language(str(pattern))
    for text in WORDS:
        assert matches(searched, text) is is_found(pattern, text), text
        assert matches(matched, text) is is_match(pattern, text), text


@settings(max_examples=200, deadline=None)
@given(st.recursive(st.sampled_from([*CASES, *POINTS]), with_flags, max_leaves=8))
def test_flags_mean_what_a_backtracking_matcher_has_them_mean(pattern: Node) -> None:
    searched = search_language(str(pattern))
    for text in LINES:
        assert matches(searched, text) is is_found(pattern, text), text


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.sampled_from([*ATOMS, *POINTS]), larger, max_leaves=6))
def test_emptiness_of_nested_lookarounds_agrees_with_their_words(pattern: Node) -> None:
    try:
        with Budget(Limits(states=50_000)):
            empty = is_empty(search_language(str(pattern)))
    except LimitExceededError:
        return
    if empty:
        assert not any(is_found(pattern, text) for text in WORDS)
