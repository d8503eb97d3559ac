"""Patterns as ECMA-262 defines them: by hand, by the official suite, and as Python's re has it."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_texts import assert_texts
from shared_files import shared

from mlx_structured.errors import PatternError
from mlx_structured.languages.ecma_pattern import match_language, search_language
from mlx_structured.languages.language import EMPTY, is_empty, is_equivalent, matches

FOUND = [
    # pattern, texts in which it is found, texts in which it isn't
    ("", ["", "x"], []),
    ("a|", ["", "b"], []),
    ("foo", ["foo", "a foo b", "\nfoo\n"], ["fo o", "FOO"]),
    ("^foo", ["foo", "foobar"], ["a foo", "\nfoo"]),
    ("foo$", ["foo", "a foo"], ["foo ", "foo\n"]),
    ("^$", [""], ["\n", "a"]),
    ("^a|b$", ["ac", "cb"], ["ca", "bc", "c"]),
    ("a^b", [], ["ab", "a\nb", "b"]),
    ("a$b", [], ["ab", "a"]),
    ("(^|,)x(,|$)", ["x", "x,y", "y,x", "a,x,b"], ["xy", "ax", "a,xb"]),
    ("(?:^a)+$", ["a"], ["aa", ""]),
    ("(?:a$|b)+c?$", ["a", "ba", "bbc", "b"], ["ac", "cb d"]),
    (".", ["a", "\x85", "\U0001f600"], ["", "\n", "\r", "\u2028", "\u2029"]),
    (r"^\d+$", ["0123456789"], ["\u09ea", "\uff11", ""]),
    (r"^\D$", ["a", "\u09ea", "\U0001f600"], ["5", "aa"]),
    (r"^\w+$", ["aZ_9"], ["\u00e9", "-", "\u017f", "\u212a"]),
    (r"^\W$", ["\u00e9", "-"], ["_", "a"]),
    (r"^\s$", [*" \t\n\v\f\r\xa0\ufeff\u2003\u3000\u2028\u1680"], ["\x85", "\u200b", "\u180e"]),
    (r"^\S$", ["\u200b", "a"], ["\ufeff", " "]),
    (r"^\t\n\v\f\r\0$", ["\t\n\v\f\r\0"], ["tnvfr0"]),
    (r"^\cA\cj$", ["\x01\n"], ["cAcj"]),
    (r"^\x41\u0042\u{43}\u{1f600}$", ["ABC\U0001f600"], ["x41"]),
    (r"^\ud83d\ude00$", ["\U0001f600"], ["\ufffd"]),
    (r"^[\ud83d\ude00-\ud83d\ude02]$", ["\U0001f600", "\U0001f601"], ["\U0001f603", "-"]),
    (r"^[\u{1f600}-\u{1f602}]{2}$", ["\U0001f601\U0001f601"], ["\U0001f601"]),
    (r"^[\b]$", ["\b"], ["b"]),
    (r"^[^]$", ["a", "\n"], ["", "aa"]),
    (r"[]", [], ["", "a"]),
    (r"^[a\-c]$", ["a", "-", "c"], ["b"]),
    (r"^[\w-]+$", ["a-b", "-"], ["a b"]),
    (r"^[+--]$", ["+", ",", "-"], ["."]),
    (r"^[\d-x]$", ["1", "-", "x"], ["a"]),
    (r"^[a-c-e]$", ["b", "-", "e"], ["d"]),
    (r"^[^\d\s]$", ["a"], ["1", " "]),
    (r"^[.$^*]$", [".", "$", "^", "*"], ["a"]),
    (r"^[\]\\]$", ["]", "\\"], ["["]),
    (r"^\-\_\@\/\.\ $", ["-_@/. "], []),
    (r"^a{$|^b}$|^c]$|^d{,2}$|^e{1$", ["a{", "b}", "c]", "d{,2}", "e{1"], ["a", "dd"]),
    (r"^a{2}b{1,}c{0,1}d{0}$", ["aab", "aabbc"], ["aac", "aabd", "aabcc"]),
    (r"^a+?b*?c??$", ["a", "aab", "abc"], ["bc", "acc"]),
    (r"^(a)(?:b)(?<year>c)$", ["abc"], ["ab"]),
    (r"^(?=.*\d)(?=.*[a-z]).{3,4}$", ["ab1", "1abc"], ["abc", "123", "a1", "abcd1"]),
    (r"^(?!foo|bar$).*$", ["fo", "barn", ""], ["foo", "food", "bar"]),
    (r"^(?:(?!--)[a-z-])*$", ["a-b", ""], ["a--b"]),
    (r"^(?:a(?=b)|b(?=a|$))*$", ["abab", "b", ""], ["aab", "aba"]),
    (r"foo(?=bar)", ["foobar", "foofoobar"], ["foobaz", "foo"]),
    (r"foo(?!bar)", ["foobaz", "foo", "foobarfoo"], ["foobar"]),
    (r"(?<=foo)bar", ["foobar"], ["bar", "fobar"]),
    (r"(?<!foo)bar", ["bar", "foobarbar"], ["foobar"]),
    (r"(?<=^|,)x", ["x", "a,x"], ["ax"]),
    (r"(?<=a+b?)c", ["aabc", "ac"], ["bc", "c"]),
    (r"^.+(?<!\.)$", ["a.b"], ["a.", "."]),
    (r"\bfoo\b", ["foo", "a foo!", "-foo-"], ["food", "\u0000a_foo"]),
    (r"\b", ["a"], ["", "-", "\u00e9"]),
    (r"^\B", ["", "-a"], ["a"]),
    (r"^(?:\b[a-z]+\b ?)+$", ["ab cd", "ab"], ["ab  cd", " ab"]),
    (r"^(?=a)*b$", ["b"], ["ab"]),
    (r"^\p{Lu}\p{Ll}+$", ["\u00c9t\u00e9"], ["\u00e9t\u00e9", "A"]),
    (r"^\p{Letter}\P{L}$", ["\u00e91"], ["ab", "11"]),
    (r"^\p{gc=Nd}\p{General_Category=Decimal_Number}$", ["\u09ea1"], ["ab"]),
    (r"^\p{ASCII}\p{Any}$", ["a\U0001f600"], ["\u00e9a"]),
    (r"^[\p{Zs}\d]+$", ["\u30001"], ["\n"]),
    (r"[\ud800-\udbff]", [], ["\U0001f600", "a"]),
    (r"^(?:(?<x>a)|(?<x>b)|(?:(?<x>c)|(?<x>d)))$", ["a", "b", "c", "d"], ["aa", ""]),
    (r"^(?<x>a)(?<y>b)$|^(?<x>b)(?<y>a)$", ["ab", "ba"], ["aa"]),
    (r"^(?<\u0061b>a)(?<\u{62}>b)(?<\ud801\udc00>c)(?<α\u200d>d)$", ["abcd"], ["abc"]),
]


@pytest.mark.parametrize(("pattern", "found", "missing"), FOUND, ids=[case[0] for case in FOUND])
def test_a_pattern_is_found_where_ecma_262_finds_it(
    pattern: str, found: list[str], missing: list[str]
) -> None:
    assert_texts(search_language(pattern), found, missing)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(?:", "a)", "[", "[a", "[^", "\\", "a\\"),
        *("*", "+a", "?", "a**", "a+*", "a{1}{2}", "{1}", "(*)", "|+", "^*", "$+", r"\b?"),
        *("(?<=a)*", "(?<!a){2}", "a{2,1}", "[b-a]", r"[\u{62}-a]"),
        *(r"\x4", r"\xg0", r"\u12", r"\u{}", r"\u{110000}", r"\u{41", r"\ug", r"\c1", r"\c"),
        *(r"\a", r"\Z", r"\A", r"\e", r"\00", r"\k", r"[\B]", r"[\1]"),
        *(r"\p", r"\pL", r"\p{L", r"\p{Foo}", r"\p{gc=Foo}", r"\p{gc=}", r"\p{}", r"\p{lu}"),
        *("(?P<x>a)", "(?i)a", "(?>a)", "(?#a)", "(?<1>a)", "(?<>a)", "(?", "(?x:a)", "a++"),
        *("(?-:a)", "(?ii:a)", "(?i-i:a)", "(?-ss:a)", "(?sis:a)", "(?g:a)", "(?u:a)", "(?i-:a"),
        *("(?i-m-s:a)", "(?-i)a", "(?I:a)", "(?i:)*+"),
        *("(?<x>a)(?<x>b)", "(?<x>a(?<x>b))", "(?:(?<x>a)|b)(?<x>c)", "(?<x>a)(?:b|(?<x>c))"),
        *("(?:(?<x>a)|(?<x>b))(?<x>c)", "(?=(?<x>a))|(?:b(?<x>c)(?<x>d))"),
        *(r"\1", r"(a)\2", r"\k<x>", r"(?<y>a)\k<x>"),
        *(r"(?<\u0031>a)", r"(?<\ud801>a)", r"(?<a\u002d>a)", r"(?<\u{110000}>a)", "(?<\u0663>a)"),
        *(r"(?<\u0061>a)(?<a>b)", r"(?<a\x62>a)", r"(?<a>b)\k<\u0062>"),
    ],
)
def test_a_malformed_pattern_is_an_error_and_not_one_of_support(pattern: str) -> None:
    with pytest.raises(PatternError) as caught:
        search_language(pattern)
    assert caught.value.supported
    assert caught.value.pattern == pattern


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"(a)\1", "back-reference"),
        (r"\1(a)", "back-reference"),
        (r"(?<x>a)\k<x>", "back-reference"),
        (r"(?:(?<x>a)|(?<x>b))\k<x>", "back-reference"),
        ("(?=" * 101 + ")" * 101, "nested lookarounds"),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(pattern: str, named: str) -> None:
    with pytest.raises(PatternError, match=re.escape(named)) as caught:
        search_language(pattern)
    assert not caught.value.supported


def test_a_match_is_of_the_whole_text() -> None:
    language = match_language("a|bc")
    assert [text for text in ("a", "bc", "ab", "abc", "") if matches(language, text)] == ["a", "bc"]
    assert match_language("[]") is EMPTY
    assert is_equivalent(match_language("[^]*(?:foo)[^]*"), search_language("foo"))
    assert search_language("a+") is search_language("a+")


def test_two_surrogates_in_the_pattern_itself_are_one_character() -> None:
    assert matches(search_language("^[\ud83d\ude00]$"), "\U0001f600")
    assert is_empty(search_language("\ud83d"))


@pytest.mark.parametrize("file", ["pattern.json", "optional/ecmascript-regex.json"])
@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_the_official_suite(draft: str, file: str) -> None:
    groups = json.loads(shared(f"suites/json-schema-test-suite/tests/{draft}/{file}").read_text())
    judged = 0
    for group in groups:
        if not set(group["schema"]) <= {"$schema", "type", "pattern"}:
            continue
        for test in group["tests"]:
            if isinstance(test["data"], str) and "pattern" in group["schema"]:
                language = search_language(group["schema"]["pattern"])
                assert matches(language, test["data"]) is test["valid"], test["description"]
                judged += 1
    assert judged >= 2


@pytest.mark.parametrize("file", ["regex.json", "ecmascript-regex.json"])
def test_the_official_suite_tells_patterns_from_others(file: str) -> None:
    path = f"suites/json-schema-test-suite/tests/draft2020-12/optional/format/{file}"
    for group in json.loads(shared(path).read_text()):
        for test in group["tests"]:
            if isinstance(test["data"], str):
                try:
                    search_language(test["data"])
                except PatternError as error:
                    assert error.supported is not test["valid"], test["description"]
                else:
                    assert test["valid"], test["description"]


ALPHABET = "ab-"
TEXTS = ["".join(text) for length in range(5) for text in product(ALPHABET, repeat=length)]

atoms = st.sampled_from(["a", "b", "-", "[ab]", "[^a]", ".", r"\w", r"\W", "ab", "b-", "(?:)"])
quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "*?"])
assertions = st.sampled_from(
    [r"\b", r"\B", "^", "(?<=a)", "(?<!a)", "(?<=b-)", "(?<!ab)", r"(?<=^a)", r"(?<=\w)"]
)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, quantifiers).map("(?:{0[0]}){0[1]}".format),
    )


def with_assertions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        larger(inner),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
        st.tuples(assertions, inner).map("".join),
        st.tuples(inner, assertions).map("".join),
        inner.map("{}$".format),
    )


def python_finds(pattern: str, text: str) -> bool:
    """Python's search; its $ is ECMA's only as \\Z, its \\B holds in an empty text from 3.14 on."""
    return re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None


@settings(max_examples=150, deadline=None)
@given(st.recursive(atoms, larger, max_leaves=8))
def test_patterns_without_assertions_match_what_python_matches(pattern: str) -> None:
    language = match_language(pattern)
    for text in TEXTS:
        assert matches(language, text) is (re.fullmatch(pattern, text, re.ASCII) is not None)


@settings(max_examples=250, deadline=None)
@given(st.recursive(atoms | assertions, with_assertions, max_leaves=8))
def test_assertions_hold_where_python_has_them_hold(pattern: str) -> None:
    language = search_language(pattern)
    for text in TEXTS:
        if text or r"\B" not in pattern:
            assert matches(language, text) is python_finds(pattern, text), text


@settings(max_examples=60, deadline=None)
@given(st.recursive(atoms | assertions, with_assertions, max_leaves=6))
def test_emptiness_of_patterns_with_assertions_agrees_with_their_words(pattern: str) -> None:
    language = search_language(pattern)
    found = [text for text in TEXTS if matches(language, text)]
    if is_empty(language):
        assert not found
    for text in found:
        for character in text:
            assert not is_empty(language)
            language = language.derivative(ord(character))
        assert language.nullable
        language = search_language(pattern)
