"""Which tokens a lexeme can read: walks of the token trie, shared by all grammars.

The walk of a lexeme from a trie node finds the tokens that stay inside the lexeme, and the *exits*:
the nodes at which the lexeme may end, from where the network goes on with the rest of the token.
Exits of one label are merged into one virtual node whose children are the merged children, so that
what tokens have in common after the lexeme is walked once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, get_args
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.character_loop import counted_class
from mlx_structured.automaton.level_walk import Flags, Levels, Nodes, walk_below, walk_levels
from mlx_structured.automaton.lexeme import DONE, LAST, NO_TRANSITIONS, LexemeState
from mlx_structured.automaton.names import NameState
from mlx_structured.automaton.prepared_walks import MANY_NODES, PreparedWalks
from mlx_structured.automaton.rare_tokens import RareTokens, find_long_tokens, find_telling_tokens
from mlx_structured.automaton.reach import Bitmap, Reach
from mlx_structured.automaton.string_lexeme import string_body
from mlx_structured.automaton.token_digits import most_digits
from mlx_structured.automaton.token_ids import ids_at
from mlx_structured.automaton.token_nodes import TokenNodes
from mlx_structured.automaton.utf8 import CharacterState
from mlx_structured.automaton.word_walk import WordWalk
from mlx_structured.automaton.words_lexeme import OtherWordsState, WordsState
from mlx_structured.automaton.written_keys import UnwrittenState
from mlx_structured.languages.language import EVERYTHING, Language, capped
from mlx_structured.languages.shapes import never_fails
from mlx_structured.limits import CACHES
from mlx_structured.style import Spelling
from mlx_structured.vocabulary import Vocabulary

WIDE = 32
"""A state with more ways on than this is walked by numpy, or by its difference to plain strings."""

MOST_CHARACTERS = 24
"""Nearly all tokens have no more characters; the few longer ones are looked at one by one."""

FEW_NODES = 96
"""Below this many trie nodes a walk in Python is always cheaper."""

MANY_IDS = 48
"""More token ids than this are kept as a bitmap."""


_walks: WeakSet[TokenWalk] = WeakSet()


class TokenWalk:
    """The walks of one vocabulary, memoised.

    Arguments:
        vocabulary: the tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.longest = vocabulary.longest
        self.words = (vocabulary.size + 31) // 32
        self._trie = trie
        self.nodes = TokenNodes(trie)
        """Where walks go."""
        self._node_of_token = np.full(self.words * 32, -1, np.int64)
        single = trie.token >= 0
        self._node_of_token[trie.token[single]] = np.flatnonzero(single)
        repeated = np.flatnonzero(trie.token < -1).tolist()
        for node in repeated:
            self._node_of_token[list(self.nodes.tokens[node])] = node
        # The walk of plain strings takes long and serves all grammars: it outlives each of them.
        self._plain = [string_body(EVERYTHING, spelling) for spelling in get_args(Spelling)]
        self._words = WordWalk(self.nodes)
        self._prepared = PreparedWalks(trie, self.nodes, self._node_of_token, self._stops)
        self._reached: WeakKeyDictionary[LexemeState, dict[int, Reach]] = WeakKeyDictionary()
        self.arrived: WeakKeyDictionary[LexemeState, dict[int, list[Any]]] = WeakKeyDictionary()
        """Where the tokens below a node lead, for whoever asks :meth:`arrivals` for it."""
        self._buffer = np.zeros(self.words * 32, np.bool_)
        self.memory = 0
        """Bytes that the walks take, by estimate, without the nodes."""
        self.generation = 0
        _walks.add(self)

    def make_room(self) -> int:
        """Forget all walks if they take too much. Not while a node's number is held.

        Returns:
            How often that has happened: the number of a merged node is of one time only.
        """
        most = CACHES.walks // len(_walks)
        held = self.nodes.memory + self._words.memory
        if held + self.memory + self._prepared.memory > most:
            self._prepared.make_room(most // 2)
            # One of those may take more.
            most -= min(self._prepared.memory, most // 2)
            if held + self.memory > most:
                # Walks of lexemes that nobody uses any more are gone already.
                self.memory = sum(
                    reach.memory for by_node in self._reached.values() for reach in by_node.values()
                )
                if held + self.memory > most // 2:
                    self._forget()
        return self.generation

    def _forget(self) -> None:
        self.generation += 1
        self.memory = 0
        self.nodes.forget()
        self._words.forget()
        self._prepared.forget()
        self._reached.clear()
        self.arrived.clear()

    def arrivals(self, lexeme: LexemeState, node: int) -> dict[LexemeState, list[Nodes]]:
        """The ids of the tokens below ``node`` that stay in the lexeme, by the state they lead to.

        Unlike :meth:`reach` this is exact about the state, and isn't memoised.
        """
        found: dict[LexemeState, list[Nodes]] = {}
        narrow: dict[LexemeState, list[int]] = {}
        stack = [(node, lexeme)]
        while stack:
            at, state = stack.pop()
            if self._is_wide(state, at):
                states, nodes, reached, *_ = self._levels(state, at)
                order = np.argsort(reached, kind="stable")
                ends = np.cumsum(np.bincount(reached, minlength=len(states)))[:-1]
                for target, some in zip(states, np.split(nodes[order], ends), strict=True):
                    ids = ids_at(self._trie, some)
                    if len(ids):
                        found.setdefault(target, []).append(ids)
                continue
            ways = state.transitions
            for byte, child in self.nodes.children(at).items():
                after = ways.get(byte)
                if after is not None:
                    narrow.setdefault(after, []).extend(self.nodes.tokens[child])
                    stack.append((child, after))
        for state, tokens in narrow.items():
            if tokens:
                found.setdefault(state, []).append(np.array(tokens, np.int64))
        return found

    def pack(self, ids: list[int] | npt.NDArray[np.int64]) -> Bitmap:
        """The bitmap of token ids."""
        try:
            self._buffer[ids] = True
            return np.packbits(self._buffer, bitorder="little").view("<u4").astype(np.uint32)
        finally:
            self._buffer[ids] = False

    def reach(self, lexeme: LexemeState, node: int) -> Reach:
        """The tokens below ``node`` that ``lexeme`` can read, and where it may end.

        That the lexeme may end at ``node`` itself is left to the caller.
        """
        if isinstance(lexeme, WordsState):
            # Few ask twice, and the words keep what takes long.
            return self._walk(lexeme, node)
        by_node = self._reached.get(lexeme)
        if by_node is None:
            by_node = self._reached[lexeme] = {}
        found = by_node.get(node)
        if found is None:
            found = by_node[node] = self._walk(lexeme, node)
            self.memory += found.memory
        return found

    def _walk(self, lexeme: LexemeState, node: int) -> Reach:
        stand_in = lexeme.stand_in(self._most_digits)
        if stand_in is not lexeme:
            return self.reach(stand_in, node)
        if isinstance(lexeme, WordsState):
            ids, ends = self._words.walk(lexeme, node)
            return self._reach(ids, [], ends)
        if isinstance(lexeme, OtherWordsState):
            return self._walk_other_words(lexeme, node)
        if not self._is_wide(lexeme, node):
            return self._walk_by_nodes(lexeme, node)
        near = self._near(lexeme)
        if near is not None:
            return self._difference(lexeme, near, node)
        if not isinstance(lexeme, CharacterState) or lexeme.stepwise:
            return self._walk_by_levels(lexeme, node)
        if isinstance(lexeme.machine, Language):
            return self._walk_language(lexeme, lexeme.machine, node)
        if self._prepared.pays(lexeme, lexeme.reading(EVERYTHING), node):
            return self._walk_by_characters(lexeme, node)
        return self._walk_by_levels(lexeme, node)

    def _walk_language(self, lexeme: CharacterState, machine: Language, node: int) -> Reach:
        """The walk of a string or raw text of a language, wide as it is."""
        plain = lexeme.blurred if machine.irregular else lexeme
        if plain is None:
            return self._walk_by_levels(lexeme, node)
        if plain is not lexeme:
            return self._amend(lexeme, node, self.reach(plain, node), self._telling)
        # What no token is long enough to count is dropped, and often leaves a known state.
        language = capped(machine, self.longest + 1)
        if language is not machine:
            return self.reach(lexeme.reading(language), node)
        is_class = counted_class(lexeme) is not None
        language = machine if node or is_class else capped(language, MOST_CHARACTERS + 1)
        if language is not machine:
            return self._amend(lexeme, node, self.reach(lexeme.reading(language), node), self._long)
        if never_fails(machine) and self._prepared.has_many(node):
            return self._walk_to_ends(lexeme, node)
        if self._prepared.pays(lexeme, lexeme.reading(EVERYTHING), node):
            return self._walk_by_characters(lexeme, node)
        return self._walk_by_levels(lexeme, node)

    def _is_wide(self, lexeme: LexemeState, node: int) -> bool:
        if isinstance(lexeme, CharacterState) and isinstance(lexeme.machine, NameState):
            return False
        below = self.nodes.subtree[node]
        return below > FEW_NODES and len(lexeme.following) > (WIDE if below < MANY_NODES else 12)

    @staticmethod
    def _stops(lexeme: LexemeState, reached: LexemeState) -> bool:
        """Whether a walk from the lexeme goes on no further: by character, where that is dear."""
        return reached.stepwise or (lexeme.stepwise and isinstance(reached, CharacterState))

    def _amend(self, lexeme: LexemeState, node: int, known: Reach, rare: RareTokens) -> Reach:
        """The reach of a state that reads all but the rare tokens as is known."""
        ids: list[int] = []
        exits: dict[Hashable, list[int]] = {}
        for label, exit_node in known.exits:
            parts = self.nodes.parts(exit_node)
            exits[label] = [part for part in parts if part not in rare.nodes]
        stack = [(part, lexeme) for part in self.nodes.parts(node)]
        loops: dict[LexemeState, int] = {}
        while stack:
            at, state = stack.pop()
            ways = state.transitions
            for byte, child in rare.children.get(at, ()):
                after = ways.get(byte)
                if after is None:
                    continue
                if child in rare.nodes:
                    ids += self.nodes.tokens[child]
                    if after.label is not None and self.nodes.counts[child]:
                        exits.setdefault(after.label, []).append(child)
                if after is state and state.label is None:
                    if state not in loops:
                        loops[state] = sum(1 << each for each, to in ways.items() if to is state)
                    if not rare.below[child] & ~loops[state]:
                        ids += rare.ids[rare.begin[child] : rare.end[child]]
                        continue
                if not after.stepwise:
                    stack.append((child, after))
        others = self._without(self.pack(list(known.ids)), rare.ids)
        if known.bitmap is not None:
            others |= self._without(known.bitmap, rare.ids)
        bitmap = self.pack(ids) | others
        return self._reach([], [bitmap], {label: nodes for label, nodes in exits.items() if nodes})

    @cached_property
    def _long(self) -> RareTokens:
        return find_long_tokens(self._trie, MOST_CHARACTERS)

    @cached_property
    def _telling(self) -> RareTokens:
        return find_telling_tokens(self._trie)

    @cached_property
    def _most_digits(self) -> int:
        return most_digits(self._trie, self.nodes)

    def _near(self, lexeme: LexemeState) -> LexemeState | None:
        """The state of any string that has read the same, if this one goes on much as that one."""
        base = lexeme.base
        few = len(lexeme.patch) * 4 < len(lexeme.transitions)
        is_near = (base in self._plain and base is not lexeme) or (
            isinstance(lexeme, CharacterState) and isinstance(lexeme.machine, UnwrittenState)
        )
        return base if few and is_near else None

    def _walk_by_nodes(self, lexeme: LexemeState, node: int) -> Reach:
        ids: list[int] = []
        bitmaps: list[Bitmap] = []
        exits: dict[Hashable, list[int]] = {}
        nodes = self.nodes
        tokens, counts, size = nodes.tokens, nodes.counts, nodes.size
        stack = [(node, lexeme)]
        while stack:
            at, state = stack.pop()
            children = nodes.known[at] or nodes.children(at)
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
                if self._stops(lexeme, after) or not after.following:
                    continue
                is_common = after.is_common and nodes.subtree[child] > FEW_NODES
                if is_common or after.by_texts or self._is_wide(after, child):
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
        merged = tuple(
            (label, self.nodes.merge(nodes)) for label, nodes in exits.items() if label is not LAST
        )
        if len(ids) <= MANY_IDS and not bitmaps:
            return Reach(tuple(ids), None, merged)
        if len(ids) > MANY_IDS:
            bitmaps = [*bitmaps, self.pack(ids)]
            ids = []
        bitmap = bitmaps[0] if len(bitmaps) == 1 else np.bitwise_or.reduce(bitmaps)
        return Reach(tuple(ids), bitmap, merged)

    def _walk_other_words(self, lexeme: OtherWordsState, node: int) -> Reach:
        """As any string that has read the same, but for what ends as one of the words."""
        known = self.reach(lexeme.plain, node)
        ends = [end for rest in lexeme.rests() if (end := self.nodes.find(rest, node)) is not None]
        if not ends:
            return known
        lost = [token for end in ends for token in self.nodes.tokens[end]]
        longer = filter(self.nodes.goes_on, ends)
        lost_exits = {part for end in longer for part in self.nodes.parts(end)}
        return self._without_some(known, lost, lost_exits, {})

    def _difference(self, lexeme: LexemeState, near: LexemeState, node: int) -> Reach:
        """The reach of a state that goes on much as this one, without what this one can't read."""
        known = self.reach(near, node)
        nodes = self.nodes
        lost: list[int] = []
        lost_exits: set[int] = set()
        exits: dict[Hashable, list[int]] = {}
        stack: list[tuple[int, LexemeState | None, LexemeState]] = [(node, lexeme, near)]
        while stack:
            at, state, other = stack.pop()
            other_ways = other.transitions
            children = nodes.known[at] or nodes.children(at)
            bytes_: Iterable[int] = children
            ways: Mapping[int, LexemeState | None] = NO_TRANSITIONS
            if state is not None and state.base is other:
                bytes_ = ways = state.patch
            elif state is not None:
                ways = state.transitions
            for byte in bytes_:
                child = children.get(byte)
                other_after = other_ways.get(byte)
                if child is None or other_after is None:
                    continue
                after = ways.get(byte)
                if after is other_after:
                    continue
                if after is None:
                    lost += nodes.tokens[child]
                if other_after.label is not None:
                    lost_exits.update(nodes.parts(child))
                if nodes.subtree[child] > 1:
                    if after is not None and after.label is not None:
                        exits.setdefault(after.label, []).append(child)
                    stack.append((child, after, other_after))
        return self._without_some(known, lost, lost_exits, exits)

    def _without_some(
        self,
        known: Reach,
        lost: list[int],
        lost_exits: set[int],
        exits: dict[Hashable, list[int]],
    ) -> Reach:
        """What is known but for lost tokens and exits, and with other exits beside."""
        for label, exit_node in known.exits:
            parts = self.nodes.parts(exit_node)
            rest = exits.setdefault(label, [])
            if lost_exits.isdisjoint(parts):
                rest.append(exit_node)
            else:
                rest += [part for part in parts if part not in lost_exits]
        exits = {label: nodes for label, nodes in exits.items() if nodes}
        bitmaps = [] if known.bitmap is None else [self._without(known.bitmap, lost)]
        gone = set(lost)
        return self._reach([token for token in known.ids if token not in gone], bitmaps, exits)

    def _without(self, bitmap: Bitmap, lost: list[int]) -> Bitmap:
        if len(lost) > MANY_IDS:
            return bitmap & ~self.pack(lost)
        if lost:
            bitmap = bitmap.copy()
            for token in lost:
                bitmap[token >> 5] &= ~(1 << (token & 31)) & 0xFFFFFFFF
        return bitmap

    def _walk_by_characters(self, lexeme: CharacterState, node: int) -> Reach:
        """The loops of a string by whole classes of tokens, what leads out of them one by one."""
        reading = self._prepared.get(lexeme.reading(EVERYTHING), node).read(lexeme)
        counts = self._trie.child_count
        bitmaps: list[Bitmap] = []
        exits: dict[Hashable, list[int]] = {}
        for label, nodes in reading.closed.items():
            ends = nodes[counts[nodes] > 0].tolist()
            if ends:
                exits[label] = ends
        for state, nodes in reading.left.items():
            inner = [] if state.stepwise else nodes[counts[nodes] > 0].tolist()
            if inner:
                found = self.reach(state, self.nodes.merge(inner))
                if found.bitmap is not None:
                    bitmaps.append(found.bitmap)
                if found.ids:
                    bitmaps.append(self.pack(list(found.ids)))
                for label, exit_node in found.exits:
                    exits.setdefault(label, []).append(exit_node)
        bitmaps.append(np.packbits(reading.tokens, bitorder="little").view("<u4"))
        return self._reach([], bitmaps, exits)

    def _walk_to_ends(self, lexeme: CharacterState, node: int) -> Reach:
        """The reach of a string in which any character may come, but not any closing quote."""
        plain = lexeme.reading(EVERYTHING)
        known = self.reach(plain, node)
        closing = self._prepared.get(plain, node).closing
        levels = self._levels(lexeme, node, closing.within)
        closes = np.array([state.label is not None for state in levels.states])[levels.at]
        ends = levels.nodes[closes]
        bitmap = np.packbits(~closing.tokens, bitorder="little").view("<u4")
        bitmap &= self.pack(list(known.ids)) if known.bitmap is None else known.bitmap
        bitmap |= self.pack(ids_at(self._trie, ends))
        exits = ends[self._trie.child_count[ends] > 0].tolist()
        return self._reach([], [bitmap], {DONE: exits} if exits else {})

    def _walk_by_levels(self, lexeme: LexemeState, node: int) -> Reach:
        """All nodes of one depth at once."""
        parts = self.nodes.parts(node)
        states, nodes, at = walk_below(self._trie, parts, lexeme, self._stops)
        closes = np.array([state.label is not None for state in states])
        ends = np.flatnonzero(closes.take(at))
        ends = ends[self._trie.child_count.take(nodes.take(ends)) > 0]
        exits: dict[Hashable, list[int]] = {}
        for end, number in zip(nodes[ends].tolist(), at[ends].tolist(), strict=True):
            exits.setdefault(states[number].label, []).append(end)
        return self._reach([], [self.pack(ids_at(self._trie, nodes))], exits)

    def _levels(self, lexeme: LexemeState, node: int, within: Flags | None = None) -> Levels:
        """The nodes below ``node`` that the lexeme reads, maybe out of some, and their states."""
        return walk_levels(self._trie, self.nodes.parts(node), lexeme, self._stops, within)
