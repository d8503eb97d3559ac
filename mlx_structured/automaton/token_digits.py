"""How many digits a token has, which tells how far a number can get within one."""

from __future__ import annotations

import numpy as np

from mlx_structured.automaton.token_nodes import TokenNodes
from mlx_structured.vocabulary import TokenTrie


def most_digits(trie: TokenTrie, nodes: TokenNodes) -> int:
    """The most digits in a token, which counts as long where one begins like ``e+300``.

    An exponent of three digits is the only one that not all numbers have.

    Arguments:
        trie: the tokens.
        nodes: its nodes.
    """
    if any(_has_digits(nodes, sign, 3) for sign in (b"e+", b"e-")):
        return len(trie.level_start)
    digits = np.zeros(len(trie), np.int32)
    for begin, end in zip(trie.level_start[1:], trie.level_start[2:], strict=False):
        read = trie.byte[begin:end]
        here = digits[trie.parent[begin:end]]
        digits[begin:end] = here + ((read >= 0x30) & (read <= 0x39))
    return int(digits.max())


def _has_digits(nodes: TokenNodes, text: bytes, count: int) -> bool:
    """Whether some token begins with the text and so many digits."""
    node = nodes.find(text)
    reached = [] if node is None else [node]
    for _ in range(count):
        reached = [
            child
            for node in reached
            for byte, child in nodes.children(node).items()
            if 0x30 <= byte <= 0x39
        ]
    return bool(reached)
