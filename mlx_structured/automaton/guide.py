"""The guide: the acceptor's states over the tokens of one vocabulary.

A state keeps its bitmap and its successors, so that a step on known ground is two look-ups. A new
bitmap is put together from the reach of each configuration's lexeme, which is shared by all
grammars, and from what the network lets tokens go on to after the lexeme, which is shared by all
states of one grammar that go back to the same link.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

from mlx_structured.automaton.acceptor import LEARNING, accepts_end, advance
from mlx_structured.automaton.forgetting import Origin
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link, Unknown, release
from mlx_structured.automaton.reach import Bitmap
from mlx_structured.automaton.token_walk import TokenWalk
from mlx_structured.errors import LimitExceededError, VocabularyError
from mlx_structured.limits import charge
from mlx_structured.vocabulary import Vocabulary

Crossing: TypeAlias = "tuple[tuple[int, ...], tuple[Bitmap, ...], tuple[int, ...]]"
"""Ids, bitmaps and suspects of the tokens that go on after a lexeme, to be kept.

A plain tuple of such ones is nothing that garbage collections look at.
"""


class Found:
    """The parts of a bitmap: few ids, whole bitmaps, and ids that need a check each."""

    __slots__ = ("bitmaps", "ids", "suspects")

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.bitmaps: list[Bitmap] = []
        self.suspects: list[int] = []

    def add(self, crossing: Crossing) -> None:
        """Take in what a crossing has found."""
        ids, bitmaps, suspects = crossing
        self.ids += ids
        self.bitmaps += bitmaps
        self.suspects += suspects


class GuideState:
    """One state: configurations, whether the document may end here, bitmap and successors.

    ``ceiling`` (exact, or a bound above it) and ``completion`` are those of
    :mod:`mlx_structured.automaton.completable_masks`, if known.
    """

    __slots__ = (
        "bitmap",
        "ceiling",
        "completion",
        "configurations",
        "is_accepting",
        "is_ceiling_exact",
        "is_finished",
        "next",
    )

    def __init__(self, configurations: Sequence[Configuration], *, is_finished: bool) -> None:
        self.configurations = configurations
        self.is_finished = is_finished
        self.is_accepting = is_finished or accepts_end(configurations)
        self.bitmap: Bitmap | None = None
        self.ceiling: int | None = None
        self.is_ceiling_exact = False
        self.completion: tuple[int, ...] | None = None
        self.next: dict[int, GuideState | None] = {}


class Guide:
    """An acceptor over the tokens of a vocabulary.

    Holds neither the acceptor nor the vocabulary, so that it can be kept as long as both live.

    Arguments:
        origin: where the acceptor's texts begin.
        vocabulary: the tokens.
        walk: the walks of the vocabulary.
    """

    def __init__(
        self,
        origin: Origin,
        vocabulary: Vocabulary,
        walk: TokenWalk,
    ) -> None:
        self.origin = origin
        self._walk = walk
        self._tokens = vocabulary.flat
        self.eos = frozenset(vocabulary.eos_token_ids)
        self._finished = GuideState((), is_finished=True)
        self._finished.next = dict.fromkeys(self.eos, self._finished)
        self.forget()
        origin.add(self)

    def forget(self) -> None:
        """Start again from no states. Those that sequences stand on go on to new ones."""
        self._states: dict[Configuration | frozenset[Configuration], GuideState] = {}
        self._bitmaps: dict[
            tuple[tuple[int, ...], tuple[int, ...]], tuple[Bitmap, tuple[Bitmap, ...]]
        ] = {}
        self._crossings: dict[tuple[Link, Hashable, int], Crossing] = {}
        self._start: GuideState | None = None
        self._generation = self._walk.generation

    def __del__(self) -> None:
        # States lead back to themselves, and would wait for a garbage collection.
        self._finished.next = {}
        for state in self._states.values():
            state.next.clear()
        if self._start is not None:
            for each in self._start.configurations:
                release(each.link)

    @property
    def start(self) -> GuideState:
        """The state before the first token."""
        start = self._start
        if start is None:
            with LEARNING, self.origin.work:
                start = self._start = self._state(self.origin.begin())
        return start

    def _state(self, configurations: Sequence[Configuration]) -> GuideState:
        key = configurations[0] if len(configurations) == 1 else frozenset(configurations)
        state = self._states.get(key)
        if state is None:
            charge(1, 1_000)
            state = GuideState(configurations, is_finished=False)
            if state.is_accepting:
                state.next = dict.fromkeys(self.eos, self._finished)
            self._states[key] = state
        return state

    def advance(self, state: GuideState, token_id: int) -> GuideState | None:
        """The state after a token; ``None`` if the token isn't allowed.

        Raises:
            LimitExceededError: if finding it takes more than the acceptor's limits allow.
        """
        try:
            return state.next[token_id]
        except KeyError:
            pass
        with LEARNING, self.origin.work:
            text = self._tokens[token_id]
            reached = advance(state.configurations, text) if text else ()
            following = self._state(reached) if reached else None
            state.next[token_id] = following
            return following

    def text(self, token_id: int) -> bytes:
        """The bytes of a token, none if it is no text."""
        return self._tokens[token_id] or b""

    def goes_on(self, configurations: Sequence[Configuration], node: int) -> bool:
        """Whether some token below a node of the trie goes on as the configurations allow."""
        found = Found()
        for each in configurations:
            self._contribute(each.lexeme, each.link, node, each.captured(), found)
        return bool(found.ids or found.bitmaps or found.suspects)

    def bitmap(self, state: GuideState) -> Bitmap:
        """The tokens allowed in a state, as a packed read-only bitmap.

        Raises:
            VocabularyError: if no token of the vocabulary can go on although the text must.
            LimitExceededError: as :meth:`advance`.
        """
        with LEARNING, self.origin.work:
            if self._generation != self._walk.make_room():
                self._crossings.clear()
                self._generation = self._walk.generation
            found = state.bitmap
            if found is None:
                found = state.bitmap = self._make_bitmap(state)
            return found

    def _make_bitmap(self, state: GuideState) -> Bitmap:
        found = Found()
        for each in state.configurations:
            link = each.link
            captured = link.captured(each.recording) if link.captures else None
            self._contribute(each.lexeme, link, 0, captured, found)
        ids, bitmaps = found.ids, found.bitmaps
        if found.suspects:
            ids += [token for token in found.suspects if self.advance(state, token) is not None]
        if state.is_accepting:
            ids += self.eos
        key = (tuple(ids), tuple(map(id, bitmaps)))
        known = self._bitmaps.get(key)
        if known is not None:
            return known[0]
        charge(1, 4 * self._walk.words)
        bitmap = self._assemble(ids, bitmaps)
        if not ids and not bitmap.any():
            raise VocabularyError(
                "no token of the vocabulary can write what must come next; "
                "it needs a token for each single byte"
            )
        bitmap.flags.writeable = False
        # The parts are kept, so that no other bitmap gets their identity.
        self._bitmaps[key] = (bitmap, tuple(bitmaps))
        return bitmap

    def _assemble(self, ids: list[int], bitmaps: list[Bitmap]) -> Bitmap:
        if not bitmaps:
            bitmap = np.zeros(self._walk.words, np.uint32)
        elif len(bitmaps) == 1:
            bitmap = bitmaps[0].copy()
        else:
            bitmap = np.bitwise_or.reduce(bitmaps)
        if len(ids) > 100:
            bitmap |= self._walk.pack(ids)
        else:
            words = memoryview(bitmap)  # type: ignore[arg-type]
            for token in ids:
                words[token >> 5] |= 1 << (token & 31)
        return bitmap

    def _contribute(
        self, lexeme: LexemeState, link: Link, node: int, captured: Captured, into: Found
    ) -> None:
        """Add the tokens below ``node`` that start with this configuration."""
        if lexeme.label is not None and not link.is_final:
            self._cross(link, lexeme.label, node, captured, into)
        try:
            reach = self._walk.reach(lexeme, node)
        except LimitExceededError as error:
            error.locate(*link.network.responsible(link.state, lexeme))
            raise
        into.ids += reach.ids
        if reach.bitmap is not None:
            into.bitmaps.append(reach.bitmap)
        if link.is_final:
            return
        unknown = Unknown.TEXT if link.captures else None
        for label, exit_node in reach.exits:
            self._cross(link, label, exit_node, unknown, into)

    def _cross(
        self, link: Link, label: Hashable, node: int, captured: Captured, into: Found
    ) -> None:
        """Add the tokens below ``node`` that go on after the lexeme has ended there."""
        if link.is_uncertain and not isinstance(captured, bytes):
            into.suspects += self._walk.nodes.below(node)
        elif isinstance(captured, bytes):
            into.add(self._crossing(link, label, node, captured))
        else:
            key = (link, label, node)
            crossing = self._crossings.get(key)
            if crossing is None:
                crossing = self._crossings[key] = self._crossing(link, label, node, captured)
            into.add(crossing)

    def _crossing(self, link: Link, label: Hashable, node: int, captured: Captured) -> Crossing:
        found = Found()
        children = self._walk.nodes.children(node)
        for each in link.after(label, captured):
            if each.lexeme.label is None and children.keys().isdisjoint(each.lexeme.following):
                continue
            unknown = Unknown.TEXT if each.link.captures else None
            self._contribute(each.lexeme, each.link, node, unknown, found)
        return tuple(found.ids), tuple(found.bitmaps), tuple(found.suspects)
