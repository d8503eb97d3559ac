"""What holds for all regular languages, on random ones with known words."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from word_sets import LENGTH, WORDS, Meaning, meanings

from mlx_structured.errors import LimitExceededError
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
    is_equivalent,
    is_subset,
    length_between,
    matches,
    repetition,
    sample,
    union,
    words,
)
from mlx_structured.limits import Budget, Limits

laws = settings(max_examples=80, deadline=None)


FEW = Limits(states=20_000)


def residual(language: Language, text: str) -> Language:
    for character in text:
        language = language.derivative(ord(character))
    return language


def known_empty(language: Language) -> bool:
    """Emptiness; a random language with too many states is not an example."""
    try:
        with Budget(FEW):
            return is_empty(language)
    except LimitExceededError:
        assume(False)
        raise


@laws
@given(meanings)
def test_a_language_has_the_words_of_its_definition(meaning: Meaning) -> None:
    language, expected = meaning
    assert {word for word in WORDS if matches(language, word)} == expected


@laws
@given(meanings)
def test_a_language_with_words_is_not_empty_and_its_example_is_a_shortest_one(
    meaning: Meaning,
) -> None:
    language, expected = meaning
    if known_empty(language):
        assert not expected
        return
    shortest = example(language)
    assert matches(language, shortest)
    if expected:
        assert len(shortest) <= min(map(len, expected))
    if set(shortest) <= set("ab") and len(shortest) <= LENGTH:
        assert shortest in expected
    assert words(language, 0) is None


@laws
@given(meanings, st.integers(0, 2**32))
def test_samples_are_words(meaning: Meaning, seed: int) -> None:
    language, _ = meaning
    if not known_empty(language):
        assert matches(language, sample(language, Random(seed), 6))


@laws
@given(meanings)
def test_words_lists_all_words_or_there_are_more_than_the_limit(meaning: Meaning) -> None:
    language, expected = meaning
    known_empty(language)
    found = words(language, 30)
    if found is None:
        more = words(language, 10**4)
        assert more is None or len(more) > 30
    else:
        assert found == sorted(set(found))
        assert all(matches(language, word) for word in found)
        assert expected <= set(found)


@laws
@given(meanings)
def test_the_derivative_of_the_complement_is_the_complement_of_the_derivative(
    meaning: Meaning,
) -> None:
    language, _ = meaning
    for character in (0, ord("a"), ord("b"), 0x10FFFF):
        left = complement(language).derivative(character)
        right = complement(language.derivative(character))
        for word in WORDS:
            assert matches(left, word) == matches(right, word)


@laws
@given(meanings)
def test_the_derivative_is_constant_between_boundaries(meaning: Meaning) -> None:
    language, _ = meaning
    boundaries = language.partition.starts
    assert boundaries[0] == 0
    assert list(boundaries) == sorted(set(boundaries))
    for start, end in zip(boundaries, (*boundaries[1:], 0x110000), strict=True):
        assert language.derivative(start) is language.derivative(end - 1)
        assert language.derivative(start) is language.derivative((start + end) // 2)


@laws
@given(meanings)
def test_surrogates_are_in_no_string(meaning: Meaning) -> None:
    language, _ = meaning
    for surrogate in (0xD800, 0xDBFF, 0xDFFF):
        assert language.derivative(surrogate) is EMPTY
        assert not matches(language, "a" + chr(surrogate))


@laws
@given(meanings)
def test_transitions_are_the_derivatives(meaning: Meaning) -> None:
    language, _ = meaning
    covered = 0
    for ranges, following in language.transitions():
        assert following is not EMPTY
        for low, high in ranges:
            assert language.derivative(low) is following
            assert language.derivative(high) is following
            covered += high - low + 1
    starts = language.partition.starts
    dead = sum(
        language.derivative(start) is EMPTY and end - start
        for start, end in zip(starts, (*starts[1:], 0x110000), strict=True)
    )
    assert covered + dead == 0x110000


@laws
@given(meanings, meanings)
def test_de_morgan(left: Meaning, right: Meaning) -> None:
    union_of_both = complement(union(left[0], right[0]))
    both_complements = intersection(complement(left[0]), complement(right[0]))
    try:
        with Budget(FEW):
            assert is_equivalent(union_of_both, both_complements)
    except LimitExceededError:
        assume(False)


@laws
@given(meanings, meanings)
def test_subset_agrees_with_the_words(left: Meaning, right: Meaning) -> None:
    try:
        with Budget(FEW):
            contained = is_subset(left[0], right[0])
            assert is_subset(intersection(left[0], right[0]), left[0])
            assert is_subset(left[0], union(left[0], right[0]))
    except LimitExceededError:
        assume(False)
        raise
    if contained:
        assert left[1] <= right[1]
    elif left[1] <= right[1]:
        counter_example = example(intersection(left[0], complement(right[0])))
        assert len(counter_example) > LENGTH or not set(counter_example) <= set("ab")


def test_a_union_that_is_nullable_without_an_empty_part_is_itself_once_in_a_row() -> None:
    language = union(EPSILON, union(characters([(0x61, 0x61)]), length_between(1, None)))
    assert language.nullable
    assert repetition(language, 1, 1) is language


@laws
@given(meanings)
def test_equal_definitions_are_the_same_object(meaning: Meaning) -> None:
    language, _ = meaning
    assert complement(complement(language)) is language
    assert union(language, language) is language
    assert intersection(language, language) is language
    assert union(language, EMPTY) is language
    assert intersection(language, EVERYTHING) is language
    assert concatenation(language, EPSILON) is language
    assert concatenation(EPSILON, language) is language
    assert repetition(language, 1, 1) is language
    assert intersection(language, complement(language)) is EMPTY or known_empty(
        intersection(language, complement(language))
    )


@laws
@given(meanings, st.integers(0, 4))
def test_a_capped_language_is_the_same_within_the_bound(meaning: Meaning, bound: int) -> None:
    language, _ = meaning
    cut = capped(language, bound)
    for word in WORDS:
        if len(word) <= bound:
            left, right = residual(language, word), residual(cut, word)
            assert left.nullable == right.nullable
            assert known_empty(left) == known_empty(right)
