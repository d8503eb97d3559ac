"""Which tokens a lexeme can read: walks of the token trie, shared by all grammars.

The walk of a lexeme from a trie node finds the tokens that stay inside the lexeme, and the *exits*:
the nodes at which the lexeme may end, from where the network goes on with the rest of the token.
Exits of one label are merged into one virtual node whose children are the merged children, so that
what tokens have in common after the lexeme is walked once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias, cast, get_args
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.automaton.string_lexeme import StringState, string_body
from mlx_structured.languages.expression import length_bounds
from mlx_structured.languages.language import EVERYTHING, Language, capped, length_between
from mlx_structured.style import Spelling
from mlx_structured.vocabulary import Vocabulary

Bitmap: TypeAlias = npt.NDArray[np.uint32]
Nodes: TypeAlias = npt.NDArray[np.int64]

WIDE = 32
"""A state with more ways on than this is walked by numpy, or by its difference to plain strings."""

FEW_NODES = 96
"""Below this many trie nodes a walk in Python is always cheaper."""

MANY_IDS = 48
"""More token ids than this are kept as a bitmap."""


class Reach(NamedTuple):
    """What a walk found.

    Arguments:
        ids: token ids, few.
        bitmap: token ids, many, as a packed bitmap; ``None`` for none.
        exits: pairs of the label with which the lexeme may end and the (merged) node where.
    """

    ids: tuple[int, ...]
    bitmap: Bitmap | None
    exits: tuple[tuple[Hashable, int], ...]


class TokenLengths(NamedTuple):
    """How many characters of a string are read on the way to each trie node.

    Arguments:
        inside: nodes inside the string.
        at_inside: characters begun there.
        ends: nodes of the closing quote.
        at_ends: characters of the string.
    """

    inside: Nodes
    at_inside: Nodes
    ends: Nodes
    at_ends: Nodes


class TokenWalk:
    """The walks of one vocabulary, memoised.

    Arguments:
        vocabulary: the tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self._longest = vocabulary.longest
        self.words = (vocabulary.size + 31) // 32
        self._trie = trie
        self._size = len(trie.byte)
        self._bytes = trie.byte.tobytes()
        self._first: list[int] = trie.first_child.tolist()
        self._counts: list[int] = trie.child_count.tolist()
        self._subtree: list[int] = trie.subtree_size.tolist()
        tokens: list[int] = trie.token.tolist()
        self._tokens: list[tuple[int, ...]] = [()] * self._size
        for node, token in enumerate(tokens):
            if token >= 0:
                self._tokens[node] = (token,)
            elif token < -1:
                self._tokens[node] = tuple(trie.duplicates[-2 - token])
        self._children: list[dict[int, int] | None] = [None] * self._size
        self._parts: dict[int, tuple[int, ...]] = {}
        self._merged: dict[tuple[int, ...], int] = {}
        # The walk of plain strings takes long and serves all grammars: it outlives each of them.
        self._plain = [string_body(EVERYTHING, spelling) for spelling in get_args(Spelling)]
        self._lengths: dict[tuple[Spelling, int], TokenLengths] = {}
        self._reached: WeakKeyDictionary[LexemeState, dict[int, Reach]] = WeakKeyDictionary()
        self._buffer = np.zeros(self.words * 32, np.bool_)
        self._duplicates = any(token < -1 for token in tokens)

    def children(self, node: int) -> Mapping[int, int]:
        """Byte -> child node."""
        found = self._children[node]
        if found is None:
            if node < self._size:
                first, count = self._first[node], self._counts[node]
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
            self._children[node] = found
        return found

    def merge(self, nodes: Iterable[int]) -> int:
        """The node that stands for several."""
        parts = tuple(sorted({p for node in nodes for p in self._parts.get(node, (node,))}))
        if len(parts) == 1:
            return parts[0]
        node = self._merged.get(parts)
        if node is None:
            node = len(self._children)
            self._merged[parts] = node
            self._parts[node] = parts
            self._children.append(None)
            self._tokens.append(tuple(token for part in parts for token in self._tokens[part]))
            self._subtree.append(sum(self._subtree[part] for part in parts))
        return node

    def below(self, node: int) -> list[int]:
        """The ids of all tokens that go on from the node."""
        found: list[int] = []
        stack = list(self.children(node).values())
        while stack:
            each = stack.pop()
            found += self._tokens[each]
            stack += self.children(each).values()
        return found

    def pack(self, ids: list[int] | npt.NDArray[np.int64]) -> Bitmap:
        """The bitmap of token ids."""
        self._buffer[ids] = True
        bitmap = np.packbits(self._buffer, bitorder="little").view("<u4").astype(np.uint32)
        self._buffer[ids] = False
        return bitmap

    def reach(self, lexeme: LexemeState, node: int) -> Reach:
        """The tokens below ``node`` that ``lexeme`` can read, and where it may end.

        That the lexeme may end at ``node`` itself is left to the caller.
        """
        by_node = self._reached.get(lexeme)
        if by_node is None:
            by_node = self._reached[lexeme] = {}
        found = by_node.get(node)
        if found is None:
            found = by_node[node] = self._walk(lexeme, node)
        return found

    def _walk(self, lexeme: LexemeState, node: int) -> Reach:
        if self._is_wide(lexeme, node):
            if isinstance(lexeme, StringState) and isinstance(lexeme.machine, Language):
                bounds = length_bounds(lexeme.machine)
                if bounds is not None and bounds != (0, None):
                    return self._counted(lexeme.spelling, bounds, node)
            canonical = self._canonical(lexeme)
            if canonical is not lexeme:
                return self.reach(canonical, node)
            plain = self._nearly_plain(lexeme)
            if plain is not None:
                return self._difference(lexeme, plain, node)
            return self._walk_by_levels(lexeme, node)
        return self._walk_by_nodes(lexeme, node)

    def _is_wide(self, lexeme: LexemeState, node: int) -> bool:
        return self._subtree[node] > FEW_NODES and len(lexeme.transitions) > WIDE

    def _canonical(self, lexeme: LexemeState) -> LexemeState:
        """A state that reads the same tokens: what no token is long enough to count is dropped."""
        if isinstance(lexeme, StringState) and isinstance(lexeme.machine, Language):
            language = capped(lexeme.machine, self._longest + 1)
            return string_body(language, lexeme.spelling)
        return lexeme

    @staticmethod
    def _nearly_plain(lexeme: LexemeState) -> StringState | None:
        """The state of unconstrained strings, if this one mostly goes on as that one does."""
        if not isinstance(lexeme, StringState):
            return None
        plain = string_body(EVERYTHING, lexeme.spelling)
        if plain is lexeme:
            return None
        ways = plain.transitions
        same = sum(ways.get(byte) is target for byte, target in lexeme.transitions.items())
        return plain if same * 4 > len(ways) * 3 else None

    def _walk_by_nodes(self, lexeme: LexemeState, node: int) -> Reach:
        ids: list[int] = []
        bitmaps: list[Bitmap] = []
        exits: dict[Hashable, list[int]] = {}
        tokens, counts, size = self._tokens, self._counts, self._size
        stack = [(node, lexeme)]
        while stack:
            at, state = stack.pop()
            children = self._children[at] or self.children(at)
            ways = state.transitions
            shared = ways if len(ways) < len(children) else children
            for byte in shared:
                child = children.get(byte)
                after = ways.get(byte)
                if child is None or after is None:
                    continue
                ids += tokens[child]
                if child < size and not counts[child]:
                    continue
                if after.label is not None:
                    exits.setdefault(after.label, []).append(child)
                if not after.transitions:
                    continue
                if self._is_wide(after, child):
                    found = self.reach(after, child)
                    ids += found.ids
                    if found.bitmap is not None:
                        bitmaps.append(found.bitmap)
                    for label, exit_node in found.exits:
                        exits.setdefault(label, []).append(exit_node)
                else:
                    stack.append((child, after))
        return self._reach(ids, bitmaps, exits)

    def _reach(
        self, ids: list[int], bitmaps: list[Bitmap], exits: Mapping[Hashable, list[int]]
    ) -> Reach:
        merged = tuple((label, self.merge(nodes)) for label, nodes in exits.items())
        if len(ids) <= MANY_IDS and not bitmaps:
            return Reach(tuple(ids), None, merged)
        if len(ids) > MANY_IDS:
            bitmaps = [*bitmaps, self.pack(ids)]
            ids = []
        bitmap = bitmaps[0] if len(bitmaps) == 1 else np.bitwise_or.reduce(bitmaps)
        return Reach(tuple(ids), bitmap, merged)

    def _difference(self, lexeme: LexemeState, plain: StringState, node: int) -> Reach:
        """The plain string's reach without what this state can't read."""
        base = self.reach(plain, node)
        lost: list[int] = []
        lost_exits: set[int] = set()
        exits: dict[Hashable, list[int]] = {}
        stack: list[tuple[int, LexemeState | None, LexemeState]] = [(node, lexeme, plain)]
        while stack:
            at, state, other = stack.pop()
            ways = {} if state is None else state.transitions
            children = self.children(at)
            for byte, other_after in other.transitions.items():
                child = children.get(byte)
                after = ways.get(byte)
                if child is None or after is other_after:
                    continue
                if after is None:
                    lost += self._tokens[child]
                if other_after.label is not None:
                    lost_exits.update(self._parts.get(child, (child,)))
                if after is not None and after.label is not None:
                    exits.setdefault(after.label, []).append(child)
                stack.append((child, after, other_after))
        for label, exit_node in base.exits:
            parts = self._parts.get(exit_node, (exit_node,))
            rest = [part for part in parts if part not in lost_exits]
            if rest:
                exits.setdefault(label, []).extend(rest)
        exits = {
            label: with_children
            for label, nodes in exits.items()
            if (with_children := [each for each in nodes if self.children(each)])
        }
        gone = set(lost)
        ids = [token for token in base.ids if token not in gone]
        if base.bitmap is None:
            return self._reach(ids, [], exits)
        bitmap = base.bitmap if not lost else base.bitmap & ~self.pack(lost)
        return self._reach(ids, [bitmap], exits)

    def _walk_by_levels(self, lexeme: LexemeState, node: int) -> Reach:
        """All nodes of one depth at once."""
        states, nodes, at = self._levels(lexeme, node)
        inner = self._trie.child_count[nodes] > 0
        nodes_inside, at_inside = nodes[inner], at[inner]
        exits = {
            state.label: nodes_inside[at_inside == number].tolist()
            for number, state in enumerate(states)
            if state.label is not None
        }
        return self._reach([], [self.pack(self._token_ids(nodes))], exits)

    def _levels(
        self, lexeme: LexemeState, node: int
    ) -> tuple[list[LexemeState], Nodes, npt.NDArray[np.int64]]:
        """Lexeme states, the nodes below ``node`` that are reached, and the state at each."""
        trie = self._trie
        states: list[LexemeState] = [lexeme]
        index: dict[LexemeState, int] = {lexeme: 0}
        table = np.full((16, 256), -1, np.int32)
        expanded = [False]
        nodes = np.array(self._parts.get(node, (node,)), np.int64)
        at = np.zeros(len(nodes), np.int64)
        all_nodes: list[Nodes] = []
        all_states: list[npt.NDArray[np.int64]] = []
        while len(nodes):
            for number in np.unique(at).tolist():
                if expanded[number]:
                    continue
                expanded[number] = True
                for byte, target in states[number].transitions.items():
                    to = index.get(target)
                    if to is None:
                        to = index[target] = len(states)
                        states.append(target)
                        expanded.append(False)
                        if to >= len(table):
                            table = np.concatenate([table, np.full_like(table, -1)])
                    table[number, byte] = to
            counts = trie.child_count[nodes]
            ends = np.cumsum(counts)
            children = np.arange(counts.sum())
            children += np.repeat(trie.first_child[nodes] - (ends - counts), counts)
            after = table[np.repeat(at, counts), trie.byte[children]]
            alive = after >= 0
            nodes, at = children[alive], after[alive].astype(np.int64)
            all_nodes.append(nodes)
            all_states.append(at)
        return states, np.concatenate(all_nodes), np.concatenate(all_states)

    def _token_ids(self, nodes: Nodes) -> Nodes:
        """The ids of all tokens that end at the nodes."""
        tokens = self._trie.token[nodes].astype(np.int64)
        ids = tokens[tokens >= 0]
        if not self._duplicates:
            return ids
        repeated = [
            token_id
            for token in tokens[tokens < -1].tolist()
            for token_id in self._trie.duplicates[-2 - token]
        ]
        return np.concatenate([ids, np.array(repeated, np.int64)])

    def _counted(self, spelling: Spelling, bounds: tuple[int, int | None], node: int) -> Reach:
        """The reach of strings of a bounded length, from the lengths in all tokens."""
        key = (spelling, node)
        lengths = self._lengths.get(key)
        if lengths is None:
            lengths = self._lengths[key] = self._token_lengths(spelling, node)
        low, high = bounds
        if high is None:
            high = self._longest
        ends = lengths.ends[(lengths.at_ends >= low) & (lengths.at_ends <= high)]
        nodes = np.concatenate([lengths.inside[lengths.at_inside <= high], ends])
        exits = ends[self._trie.child_count[ends] > 0].tolist()
        return self._reach([], [self.pack(self._token_ids(nodes))], {DONE: exits} if exits else {})

    def _token_lengths(self, spelling: Spelling, node: int) -> TokenLengths:
        most = self._longest + 2
        states, nodes, at = self._levels(string_body(length_between(0, most), spelling), node)
        is_end = np.array([state.label is not None for state in states])[at]
        read = np.array([0 if state.label else _characters_read(state, most) for state in states])
        by_node = np.zeros(self._size, np.int64)
        by_node[nodes] = read[at]
        ends = nodes[is_end]
        return TokenLengths(
            nodes[~is_end], by_node[nodes[~is_end]], ends, by_node[self._trie.parent[ends]]
        )


def _characters_read(state: LexemeState, most: int) -> int:
    """How many characters were begun, in a string that may have ``most``."""
    while not isinstance(state, StringState):
        state = next(iter(state.transitions.values()))
    bounds = length_bounds(cast("Language", state.machine))
    return most if bounds is None or bounds[1] is None else most - bounds[1]
