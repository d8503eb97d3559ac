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
        ids: of the tokens, those below a node side by side.
        below: the bytes of all texts below a node, as bits.
        begin: where in ``ids`` the tokens below a node begin.
        end: where they end.
    """

    nodes: frozenset[int]
    children: Mapping[int, Sequence[tuple[int, int]]]
    ids: list[int]
    below: Mapping[int, int]
    begin: Mapping[int, int]
    end: Mapping[int, int]


def find_long_tokens(trie: TokenTrie, most: int) -> LongTokens:
    """The tokens of more than ``most`` characters."""
    characters = np.zeros(len(trie), np.int32)
    for level in zip(trie.level_start[1:], trie.level_start[2:], strict=False):
        here = slice(*level)
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
    ids: list[int] = []
    below: dict[int, int] = {}
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    long = frozenset(nodes)
    stack = [0]
    while stack:
        node = stack.pop()
        if node < 0:
            # Its children have been left.
            node = ~node
            end[node] = len(ids)
            bits = 0
            for byte, child in children.get(node, ()):
                bits |= 1 << byte | below[child]
            below[node] = bits
            continue
        if node in long:
            ids += trie.token_ids(node)
        begin[node] = len(ids)
        stack.append(~node)
        stack += (child for _, child in children.get(node, ()))
    return LongTokens(long, children, ids, below, begin, end)
