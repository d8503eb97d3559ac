"""The nodes of the token trie, and virtual ones that stand for several: what these have in common
is walked once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

from mlx_structured.automaton.token_ids import TokenIds
from mlx_structured.vocabulary import TokenTrie


class TokenNodes:
    """Numbers of nodes. Those of merged nodes come after all others, and are forgotten in time.

    Arguments:
        trie: the tokens.
    """

    def __init__(self, trie: TokenTrie) -> None:
        self.size = len(trie.byte)
        """The number of nodes that aren't merged ones."""
        self._bytes = trie.byte.tobytes()
        self._first = trie.first_child.astype(np.int32).data
        self.counts = trie.child_count.astype(np.int32).data
        """Node -> the number of its children, if it isn't a merged one."""
        self.subtree = array("q", trie.subtree_size.astype(np.int64).tobytes())
        """Node -> the number of nodes below it, itself included."""
        self.tokens = TokenIds(trie)
        """Node -> the ids of the tokens that end there."""
        self.known: list[dict[int, int] | None] = [None] * self.size
        """Node -> its children, if they were asked for."""
        self._parts: dict[int, tuple[int, ...]] = {}
        self._merged: dict[tuple[int, ...], int] = {}
        self.memory = 0
        """Bytes, by estimate."""

    def forget(self) -> None:
        """Drop all that can be found out again, merged nodes too."""
        self.memory = 0
        self.tokens.clear()
        del self.subtree[self.size :]
        self.known = [None] * self.size
        self._parts.clear()
        self._merged.clear()

    def children(self, node: int) -> Mapping[int, int]:
        """Byte -> child node."""
        found = self.known[node]
        if found is None:
            if node < self.size:
                first, count = self._first[node], self.counts[node]
                found = dict(
                    zip(
                        self._bytes[first : first + count], range(first, first + count), strict=True
                    )
                )
            else:
                grouped: dict[int, list[int]] = {}
                for part in self._parts[node]:
                    for byte, child in self.children(part).items():
                        grouped.setdefault(byte, []).append(child)
                found = {byte: self.merge(nodes) for byte, nodes in grouped.items()}
            self.known[node] = found
            self.memory += 100 + 80 * len(found)
        return found

    def merge(self, nodes: Iterable[int]) -> int:
        """The node that stands for several."""
        parts = tuple(sorted({p for node in nodes for p in self._parts.get(node, (node,))}))
        if len(parts) == 1:
            return parts[0]
        node = self._merged.get(parts)
        if node is None:
            node = len(self.known)
            self.memory += 500 + 40 * len(parts)
            self._merged[parts] = node
            self._parts[node] = parts
            self.known.append(None)
            self.tokens[node] = tuple(token for part in parts for token in self.tokens[part])
            self.subtree.append(sum(self.subtree[part] for part in parts))
        return node

    def parts(self, node: int) -> tuple[int, ...]:
        """The nodes that a merged one stands for; any other node alone."""
        return self._parts.get(node, (node,))

    def goes_on(self, node: int) -> bool:
        """Whether some token is longer than those that end here."""
        return node >= self.size or self.counts[node] > 0

    def below(self, node: int) -> list[int]:
        """The ids of all tokens that go on from the node."""
        found: list[int] = []
        stack = list(self.children(node).values())
        while stack:
            each = stack.pop()
            found += self.tokens[each]
            stack += self.children(each).values()
        return found

    def find(self, text: bytes, node: int = 0) -> int | None:
        """The node of a text below a node; ``None`` if no token goes on with it."""
        for byte in text:
            child = (self.known[node] or self.children(node)).get(byte)
            if child is None:
                return None
            node = child
        return node
