"""A vocabulary from plain data: what it holds and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary import Vocabulary

TOKENS = [b"a", b"\xf0\x9f", None, b"", b"<eos>", b'{"']


def test_fields() -> None:
    vocabulary = Vocabulary(TOKENS, eos_token_ids=[4, 2, 4])
    assert vocabulary.size == len(vocabulary) == 6
    assert vocabulary.eos_token_ids == (2, 4)
    assert vocabulary.tokens == (b"a", b"\xf0\x9f", None, None, None, b'{"')
    assert vocabulary.longest == 2
    assert vocabulary.trie.find(b"<") is None


def test_numpy_ids_are_ids() -> None:
    assert Vocabulary(TOKENS, eos_token_ids=np.array([4])).eos_token_ids == (4,)


def test_nothing_in_it_can_be_changed() -> None:
    tokens = list(TOKENS)
    vocabulary = Vocabulary(tokens, eos_token_ids=[4])
    tokens[0] = b"b"
    assert vocabulary.tokens[0] == b"a"
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.size = 3  # type: ignore[misc]
    for array in (vocabulary.flat.data, vocabulary.flat.offsets, vocabulary.trie.token):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("tokens", "eos", "message"),
    [
        ([b"a"], [], "empty.*give at least one id"),
        ([b"a"], [1], "EOS id 1 is not a token id of a vocabulary of 1 tokens"),
        ([b"a"], [-1], "EOS id -1"),
        ([b"a"], 0, "must be a list of token ids, not 0"),
        ([b"a"], ["</s>"], "must be a list of token ids"),
        (["a", None], [1], "token 0 is 'a', not bytes: give the UTF-8 bytes"),
        ([], [0], "EOS id 0"),
        ([None, b""], [0], "none of the 2 tokens is text"),
        ([b"a"], [0], "none of the 1 tokens is text"),
    ],
)
def test_what_is_refused_says_what_to_do(tokens: Any, eos: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens, eos_token_ids=eos)


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=3)), min_size=1, max_size=8),
    st.lists(st.one_of(st.none(), st.binary(max_size=3)), min_size=1, max_size=8),
    st.integers(0, 1),
)
def test_equal_content_and_only_that_has_an_equal_fingerprint(
    first: list[bytes | None], second: list[bytes | None], eos: int
) -> None:
    def vocabulary(tokens: list[bytes | None], eos: int) -> Vocabulary:
        return Vocabulary([None, None, b"x", *tokens], eos_token_ids=[eos])

    def text(tokens: list[bytes | None]) -> list[bytes | None]:
        return [token or None for token in tokens]

    one, other = vocabulary(first, 0), vocabulary(second, eos)
    same = text(first) == text(second) and eos == 0
    assert (one.fingerprint == other.fingerprint) == (one == other) == same
    assert one == vocabulary(first, 0)
    assert hash(one) == hash(vocabulary(first, 0))
