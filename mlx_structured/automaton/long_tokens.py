"""The few tokens that are longer than nearly all others, which walks look at one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mlx_structured.vocabulary import TokenTrie


class LongTokens(NamedTuple):
    """The tokens that are longer than most.

    Arguments:
        nodes: trie nodes where a text is already long.
        children: pairs of byte and child, of the nodes from the root to them and of themselves.
        ids: of the tokens.
    """

    nodes: frozenset[int]
    children: Mapping[int, Sequence[tuple[int, int]]]
    ids: list[int]


def find_long_tokens(trie: TokenTrie, most: int) -> LongTokens:
    """The tokens of more than ``most`` characters."""
    characters = np.zeros(len(trie), np.int32)
    for begin, end in zip(trie.level_start[1:], trie.level_start[2:], strict=False):
        here = slice(begin, end)
        characters[here] = characters[trie.parent[here]] + (trie.byte[here] & 0xC0 != 0x80)
    nodes = np.flatnonzero(characters > most).tolist()
    on_the_way = set(nodes)
    children: dict[int, list[tuple[int, int]]] = {}
    for each in reversed(nodes):
        child = each
        while child:
            parent = int(trie.parent[child])
            children.setdefault(parent, []).append((int(trie.byte[child]), child))
            if parent in on_the_way:
                break
            on_the_way.add(parent)
            child = parent
    ids = [token for node in nodes for token in trie.token_ids(node)]
    return LongTokens(frozenset(nodes), children, ids)
