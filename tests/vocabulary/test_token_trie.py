"""The trie against brute force over all prefixes of small vocabularies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlx_structured.vocabulary import TokenTrie, Vocabulary

FEW_BYTES = st.lists(st.sampled_from(b"ab\x00\xff"), max_size=5).map(bytes)
TOKENS = st.lists(st.one_of(st.none(), FEW_BYTES, st.binary(max_size=4)), max_size=40)


def trie_of(tokens: list[bytes | None]) -> TokenTrie:
    return Vocabulary([*tokens, b"x", None], eos_token_ids=[len(tokens) + 1]).trie


def texts_of(trie: TokenTrie) -> list[bytes]:
    texts = [b""]
    for node in range(1, len(trie)):
        texts.append(texts[trie.parent[node]] + bytes((trie.byte[node],)))
    return texts


def brute_force(tokens: list[bytes | None]) -> dict[bytes, list[int]]:
    """Each prefix of a token -> ids of the tokens that are exactly it."""
    nodes: dict[bytes, list[int]] = {b"": []}
    for index, token in enumerate([*tokens, b"x"]):
        for end in range(1, len(token or b"") + 1):
            nodes.setdefault((token or b"")[:end], [])
        if token:
            nodes[token].append(index)
    return nodes


@given(TOKENS)
def test_nodes_are_the_prefixes_in_breadth_first_order(tokens: list[bytes | None]) -> None:
    texts = texts_of(trie_of(tokens))
    assert texts == sorted(brute_force(tokens), key=lambda text: (len(text), text))


@given(TOKENS)
def test_children_are_side_by_side_and_sorted(tokens: list[bytes | None]) -> None:
    trie = trie_of(tokens)
    texts = texts_of(trie)
    for node, text in enumerate(texts):
        first, count = int(trie.first_child[node]), int(trie.child_count[node])
        children = [t for t in texts if len(t) == len(text) + 1 and t.startswith(text)]
        assert texts[first : first + count] == sorted(children)
        assert {int(trie.parent[child]) for child in range(first, first + count)} <= {node}


@given(TOKENS)
def test_each_token_is_found_with_all_ids_of_its_bytes(tokens: list[bytes | None]) -> None:
    trie = trie_of(tokens)
    expected = brute_force(tokens)
    for text, ids in expected.items():
        node = trie.find(text)
        assert node is not None
        assert trie.token_ids(node) == tuple(ids)
        token = int(trie.token[node])
        assert token == (-1 if not ids else ids[0] if len(ids) == 1 else token)
        assert len(ids) < 2 or (token <= -2 and trie.duplicates[-2 - token] == tuple(ids))
    assert len(trie.duplicates) == sum(len(ids) > 1 for ids in expected.values())


@given(TOKENS, st.binary(max_size=6))
def test_a_text_that_begins_no_token_is_not_found(tokens: list[bytes | None], text: bytes) -> None:
    assert (trie_of(tokens).find(text) is None) == (text not in brute_force(tokens))


@given(TOKENS)
def test_subtree_sizes_count_the_prefixes_below(tokens: list[bytes | None]) -> None:
    trie = trie_of(tokens)
    texts = texts_of(trie)
    assert trie.subtree_size.tolist() == [sum(t.startswith(text) for t in texts) for text in texts]


@given(TOKENS)
def test_levels_hold_the_nodes_of_one_depth(tokens: list[bytes | None]) -> None:
    trie = trie_of(tokens)
    starts = trie.level_start
    texts = texts_of(trie)
    assert starts[0] == 0
    assert starts[-1] == len(trie) == len(texts)
    for depth, (start, end) in enumerate(pairwise(starts)):
        assert start < end
        assert {len(text) for text in texts[start:end]} == {depth}


def test_arrays_have_the_documented_types_and_one_element_a_node() -> None:
    trie = trie_of([b"ab", b"ab", b"b"])
    assert trie.byte.dtype == np.uint8
    for name in ("parent", "first_child", "child_count", "token", "subtree_size"):
        assert getattr(trie, name).dtype == np.int32
        assert len(getattr(trie, name)) == len(trie) == 5
    assert (trie.byte[0], trie.parent[0], trie.token[0]) == (0, -1, -1)


def test_every_token_of_a_real_vocabulary_is_found(vocabulary: Any) -> None:
    trie = vocabulary.trie
    lengths = vocabulary.flat.lengths
    for index in range(0, vocabulary.size, 97):
        token = vocabulary.tokens[index]
        if token is not None:
            assert index in trie.token_ids(trie.find(token))
    distinct = set(vocabulary.tokens) - {None}
    assert np.count_nonzero(trie.token != -1) == len(distinct)
    assert len(trie.level_start) - 2 == vocabulary.longest == lengths.max()
    assert trie.subtree_size[0] == len(trie)
