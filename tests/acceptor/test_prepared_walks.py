"""Walks by characters are prepared once they pay, and take no more memory than they may."""

from __future__ import annotations

from itertools import product

import pytest

from mlx_structured import Vocabulary
from mlx_structured.automaton import prepared_walks
from mlx_structured.automaton.prepared_walks import PreparedWalks
from mlx_structured.automaton.raw_text import RawTextState, raw_text
from mlx_structured.automaton.string_lexeme import string_body
from mlx_structured.automaton.token_walk import TokenWalk
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.language import EVERYTHING

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
PLAIN = raw_text(EVERYTHING)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """All words of up to three letters: below each letter lies a 26th of the trie."""
    words = [bytes(word) for length in (1, 2, 3) for word in product(LETTERS, repeat=length)]
    return Vocabulary([*words, None], eos_token_ids=[len(words)])


@pytest.fixture
def walks(vocabulary: Vocabulary) -> PreparedWalks:
    walk = TokenWalk(vocabulary)
    return walk._prepared


def state(pattern: str) -> RawTextState:
    return raw_text(match_language(pattern))


def test_a_wide_class_is_walked_by_characters_from_the_first_on(walks: PreparedWalks) -> None:
    assert walks.pays(state("[a-z]+"), PLAIN, 0)
    assert walks.pays(state("[a-n]+"), PLAIN, 0)


def test_a_narrow_class_is_walked_by_characters_once_as_much_was_passed_as_that_takes(
    walks: PreparedWalks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_walks, "PASSES", 1)
    # 3 of 26 letters: the ninth walk is the first that makes it more than the whole trie.
    assert [walks.pays(state("[abc]+"), PLAIN, 0) for _ in range(9)] == [False] * 8 + [True]


def test_what_is_there_is_used_for_narrow_classes_that_come_again(walks: PreparedWalks) -> None:
    assert not walks.pays(state("a+"), PLAIN, 0)
    walks.get(PLAIN, 0)
    assert [walks.pays(state("a+"), PLAIN, 0) for _ in range(3)] == [False, True, True]
    assert [walks.pays(state("b+"), PLAIN, 0) for _ in range(3)] == [False, True, True]
    walks.forget()
    assert not any(walks.pays(state("a+"), PLAIN, 0) for _ in range(3))


def test_in_strings_of_json_what_is_there_is_used_at_once(walks: PreparedWalks) -> None:
    plain = string_body(EVERYTHING, "json.dumps")
    walks.get(plain, 0)
    assert walks.pays(plain.reading(match_language("a+")), plain, 0)


def test_few_nodes_never_pay(walks: PreparedWalks, vocabulary: Vocabulary) -> None:
    node = vocabulary.trie.find(b"a")
    assert node is not None
    assert not walks.pays(state("[a-z]+"), PLAIN, node)


def test_the_oldest_are_dropped_for_want_of_memory_but_for_one(walks: PreparedWalks) -> None:
    assert walks.memory == 0
    first = walks.get(PLAIN, 0)
    alone = walks.memory
    assert alone > 0
    walks.get(state("[a-z]*x"), 0)
    walks.make_room(walks.memory)
    assert walks.get(PLAIN, 0) is first
    walks.make_room(alone)
    assert walks.memory == alone
    assert walks.get(PLAIN, 0) is not first
    walks.make_room(0)
    assert walks.memory == alone
    walks.forget()
    assert walks.memory == 0
