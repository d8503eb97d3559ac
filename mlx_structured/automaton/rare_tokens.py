"""The few tokens that are unlike nearly all others, which walks look at one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mlx_structured.vocabulary import TokenTrie


class RareTokens(NamedTuple):
    """A few of the tokens.

    Arguments:
        nodes: trie nodes where a text is already unlike others.
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


def find_long_tokens(trie: TokenTrie, most: int) -> RareTokens:
    """The tokens of more than ``most`` characters."""
    characters = np.zeros(len(trie), np.int32)
    for level in zip(trie.level_start[1:], trie.level_start[2:], strict=False):
        here = slice(*level)
        characters[here] = characters[trie.parent[here]] + (trie.byte[here] & 0xC0 != 0x80)
    return _rare_tokens(trie, np.flatnonzero(characters > most).tolist())


def find_telling_tokens(trie: TokenTrie) -> RareTokens:
    """The tokens that may show which characters were remembered: see :func:`~.blurring.blurred`.

    What is written with a JSON escape may be any character.
    """
    size = len(trie)
    telling = np.zeros(size, np.bool_)
    beyond = np.zeros(size, np.bool_)
    byte = trie.byte
    first = trie.parent == 0
    escape = np.zeros(size, np.bool_)
    for level in zip(trie.level_start[1:], trie.level_start[2:], strict=False):
        here = slice(*level)
        above = trie.parent[here]
        escape[here] = (byte[here] == ord("u")) & (byte[above] == ord("\\")) & (above != 0)
        beyond[here] = beyond[above] | (byte[here] >= 0x80) | escape[here]
        later = (byte[here] == ord(">")) & (above != 0)
        later |= (byte[here] == ord("-")) & beyond[above]
        later |= escape[here] & ~first[above]
        telling[here] = telling[above] | later
    return _rare_tokens(trie, np.flatnonzero(telling).tolist())


def _rare_tokens(trie: TokenTrie, nodes: list[int]) -> RareTokens:
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
    rare = frozenset(nodes)
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
        if node in rare:
            ids += trie.token_ids(node)
        begin[node] = len(ids)
        stack.append(~node)
        stack += (child for _, child in children.get(node, ()))
    return RareTokens(rare, children, ids, below, begin, end)
