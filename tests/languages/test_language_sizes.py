"""Large words, sets, counters and depths stay cheap, and what isn't used any more goes."""

from __future__ import annotations

import gc
import sys
import timeit
import weakref
from random import Random

import pytest

from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.ecma_pattern import match_language, search_language
from mlx_structured.languages.expression import Complement, Literals
from mlx_structured.languages.language import (
    EMPTY,
    EPSILON,
    EVERYTHING,
    Language,
    capped,
    characters,
    complement,
    concatenation,
    example,
    intersection,
    is_empty,
    length_between,
    literals,
    matches,
    repetition,
    union,
    words,
)
from mlx_structured.limits import Budget, Limits

LETTERS = characters([(ord("a"), ord("z"))])


def walk(language: Language, text: str) -> Language:
    for character in text:
        assert not is_empty(language)
        language = language.derivative(ord(character))
    return language


def random_words(number: int) -> list[str]:
    rng = Random(7)
    return ["".join(rng.choices("abcdefgh", k=rng.randint(6, 20))) for _ in range(number)]


def test_a_set_of_words_is_one_node_and_so_is_its_complement() -> None:
    given = random_words(5000)
    enumeration = literals(given)
    assert isinstance(enumeration, Literals)
    others = intersection(complement(enumeration), EVERYTHING)
    assert isinstance(others, Complement)
    assert others.inner is enumeration
    assert walk(enumeration, given[3]).nullable
    assert not matches(others, given[3])
    assert matches(others, given[3] + "x")


def test_words_are_filtered_by_what_they_are_intersected_with() -> None:
    given = random_words(2000)
    left = intersection(literals(given), search_language("^a.*b$"))
    assert words(left, 2000) == sorted(
        {word for word in given if word.startswith("a") and word.endswith("b")}
    )
    assert intersection(literals(["ab", "cd"]), literals(["cd", "ef"])) is literals(["cd"])
    assert union(literals(["ab"]), literals(["cd"])) is literals(["cd", "ab"])


def test_words_are_taken_out_of_a_complement_one_by_one() -> None:
    rest = EVERYTHING
    for word in ("aa", "bb", "cc"):
        rest = intersection(rest, complement(literals([word])))
    assert rest is complement(literals(["aa", "bb", "cc"]))
    assert union(rest, literals(["aa", "bb", "cc"])) is EVERYTHING


def test_a_word_with_a_surrogate_is_no_word() -> None:
    assert literals(["a\ud800", "b"]) is literals(["b"])
    assert literals(["\udfff"]) is EMPTY


@pytest.mark.parametrize("length", [255, 256, 257, 1000, 12_000])
def test_a_long_word_can_be_walked(length: int) -> None:
    text = ("ab" * length)[:length]
    language = literals([text])
    assert walk(language, text) is EPSILON
    assert walk(literals([text, text + "x"]), text + "x").nullable
    assert example(language) == text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("ab" * 1000, "ab" * 1000),
        ("[ab]" * 2500, "ab" * 1250),
        ("(" * 3000 + "a" + ")" * 3000, "a"),
        ("(?:" * 1000 + "a" + "b)?" * 1000, "a" + "b" * 1000),
        ("(?=a)a" * 300, "a" * 300),
        ("a(?=b)b" * 300, "ab" * 300),
        ("|".join(f"w{number}[xy]" for number in range(2000)), "w1711x"),
        ("^" + "(?!x)" * 2000 + "a", "a"),
    ],
    ids=lambda value: value[:12],
)
def test_depth_and_length_cost_no_recursion(pattern: str, text: str) -> None:
    limit = sys.getrecursionlimit()
    language = match_language(pattern)
    assert walk(language, text).nullable
    assert matches(search_language(pattern), text)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (intersection(length_between(0, 5000), search_language("[a-z]+foo[0-9]")), False),
        (intersection(length_between(4999, 5000), match_language("(?:ab|cde)*")), False),
        (intersection(length_between(4999, 4999), match_language("(?:ab)*")), True),
        (intersection(length_between(5000, None), match_language("(?:ab)*c?")), False),
        (intersection(length_between(10**9 + 1, 10**9 + 1), match_language("(?:ab)*")), True),
        (intersection(length_between(10**9, 10**9), match_language("(?:ab)*")), False),
        (
            intersection(length_between(10**9, 10**9 + 50), match_language("[a]{5}(?:.{43})*")),
            False,
        ),
        (intersection(length_between(10**9, 10**9 + 5), match_language("[a]{5}(?:.{43})*")), True),
        (intersection(length_between(7, 9), match_language("[a-z]{0,6}")), True),
        (intersection(match_language("[a-z]{1,5000}"), search_language("[A-Z]")), True),
        (intersection(match_language("[a-z]{1,5000}"), search_language("foo")), False),
    ],
    ids=[
        "any length up to 5000 of a search",
        "two lengths of a loop",
        "an odd length of pairs",
        "a least length of pairs",
        "a huge odd length of pairs",
        "a huge even length of pairs",
        "huge lengths over a whole round of a loop",
        "huge lengths between two rounds of a loop",
        "longer than the longest",
        "a counter without the letter searched for",
        "a counter with the word searched for",
    ],
)
def test_lengths_are_not_counted_one_by_one(language: Language, expected: bool) -> None:
    assert is_empty(language) is expected


def test_an_endless_search_is_given_up_by_name() -> None:
    left, right = match_language(".*a.{16}"), match_language(".*[ab].{16}")
    with pytest.raises(LimitExceededError, match="simplify it"), Budget(Limits(states=20_000)):
        is_empty(intersection(left, complement(right)))


def test_only_finite_languages_have_a_list_of_words() -> None:
    assert words(match_language("[ab]{0,2}"), 7) == ["", "a", "aa", "ab", "b", "ba", "bb"]
    assert words(match_language("[ab]{0,2}"), 6) is None
    assert words(EVERYTHING, 10**6) is None
    assert words(match_language("(?!x)[ab]*"), 10**6) is None
    assert words(length_between(0, 10_000), 10**6) is None
    assert words(EMPTY, 0) == []
    assert words(literals([]), 0) == []


def test_the_example_is_readable() -> None:
    assert example(length_between(3, 5)) == "aaa"
    assert example(match_language(r"[\x00-Z]")) == "A"
    assert example(match_language(r"[^a-zA-Z0-9]")) == "!"
    assert example(match_language(r"[\x00-\x1f\u4e00]")) == "\u4e00"
    with pytest.raises(ValueError, match="no example"):
        example(EMPTY)


def test_large_counters_become_one_state_when_capped() -> None:
    pairs = literals(["ab"])
    many = repetition(pairs, 5000, 9000)
    assert capped(many, 20) is repetition(pairs, 21, None)
    assert capped(walk(many, "ab"), 20) is capped(many, 20)
    assert capped(repetition(LETTERS, 0, 5000), 20) is repetition(LETTERS, 0, None)
    assert capped(repetition(LETTERS, 3, 20), 20) is repetition(LETTERS, 3, 20)
    quoted = concatenation(literals(["<"]), repetition(LETTERS, 0, 400), literals([">"]))
    assert capped(quoted, 20) is concatenation(
        literals(["<"]), repetition(LETTERS, 0, None), literals([">"])
    )


def test_counters_that_touch_are_one_and_others_stay_apart() -> None:
    first = repetition(LETTERS, 0, 2)
    assert union(first, repetition(LETTERS, 3, 5)) is repetition(LETTERS, 0, 5)
    assert union(first, repetition(LETTERS, 1, None)) is repetition(LETTERS, 0, None)
    apart = union(first, repetition(LETTERS, 4, 5))
    assert [len(text) for text in ("", "aa", "aaa", "aaaa") if matches(apart, text)] == [0, 2, 4]
    before = literals(["<"])
    assert union(
        concatenation(before, first, literals([">"])),
        concatenation(before, repetition(LETTERS, 2, 9), literals([">"])),
    ) is concatenation(before, repetition(LETTERS, 0, 9), literals([">"]))


def test_an_alternative_within_another_goes() -> None:
    tail = concatenation(repetition(LETTERS, 2, None), literals(["!"]))
    optional = concatenation(repetition(literals(["-"]), 0, 3), tail)
    assert union(tail, optional) is optional
    required = concatenation(repetition(literals(["-"]), 1, 3), tail)
    assert matches(union(tail, required), "aa!")


def test_a_length_that_the_rest_implies_goes_and_any_other_stays() -> None:
    few = repetition(LETTERS, 2, 6)
    assert intersection(few, length_between(2, 6)) is few
    assert intersection(few, length_between(0, None)) is few
    assert not matches(intersection(few, length_between(2, 5)), "aaaaaa")
    assert not matches(intersection(few, length_between(3, 6)), "aa")
    assert intersection(few, length_between(7, 9)) is EMPTY


def test_a_length_is_capped_only_where_no_string_dies_of_it() -> None:
    word = match_language("a[a-z]*")
    long = intersection(length_between(0, 10_000), word)
    assert capped(long, 20) is word
    assert capped(walk(long, "abc"), 20) is capped(walk(long, "abcd"), 20)
    least = intersection(length_between(5000, None), word)
    cut = capped(least, 20)
    assert capped(walk(least, "abc"), 20) is capped(walk(least, "abcd"), 20)
    assert not walk(cut, "a" * 20).nullable
    assert not is_empty(walk(cut, "a" * 20))
    sevens = match_language("(?:.{7})*")
    exactly = intersection(length_between(5000, 5000), sevens)
    assert is_empty(exactly)
    assert capped(exactly, 20) is exactly


@pytest.mark.parametrize(("low", "high"), [(0, -1), (-1, None), (3, 2)])
def test_impossible_counts_are_refused(low: int, high: int | None) -> None:
    with pytest.raises(ValueError, match="number of repetitions"):
        repetition(LETTERS, low, high)


@pytest.mark.parametrize(
    "pattern",
    ["^(?:ab|c)*d{3,9}$", r"\bfoo\b|(?<!x)(?:(?!bar)[a-z])*$", "(?:[ab]*c){2,40}x"],
)
def test_languages_die_with_their_users(pattern: str) -> None:
    language = search_language(pattern)
    for character in "abcdxfoo bar":
        language.derivative(ord(character)).derivative(ord("a")).derivative(ord("b"))
    alive = weakref.ref(language.derivative(ord("q")).derivative(ord("z")))
    root = weakref.ref(language)
    del language
    gc.collect()
    assert root() is None
    assert alive() is None or alive() is EVERYTHING or alive() is EMPTY


def test_a_known_derivative_takes_less_than_a_microsecond() -> None:
    state = search_language("^[a-z]+@[a-z]+$").derivative(ord("a"))
    state.derivative(ord("b"))
    is_empty(state)
    seconds = min(timeit.repeat(lambda: state.derivative(98), number=10_000, repeat=5)) / 10_000
    assert seconds < 1e-6
    seconds = min(timeit.repeat(lambda: is_empty(state), number=10_000, repeat=5)) / 10_000
    assert seconds < 1e-6
