"""The characters that tokens write inside a string, for walks of whole classes of tokens at once.

Most states of strings read one character of some set and then, for as long as one likes, characters
of a class, until another character leads on. Which tokens stay in such a loop is a question about
the *set* of characters that a token writes, not about their order. So the trie is walked once as a
plain string reads it, the characters up to each node are kept as bits, and the tokens of a loop are
found by a few operations on whole arrays.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.character_loop import (
    Characters,
    Loop,
    bounds,
    counted_class,
    in_order,
)
from mlx_structured.automaton.level_walk import Flags, Levels, Nodes
from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.automaton.string_lexeme import escaped_characters
from mlx_structured.automaton.token_ids import ids_at
from mlx_structured.automaton.utf8 import CharacterState, Utf8State, Utf8Tail
from mlx_structured.languages.characters import Ranges, normalise, overlaps
from mlx_structured.vocabulary.token_trie import TokenTrie

Closed: TypeAlias = "dict[Hashable, list[Nodes]]"
Key = TypeVar("Key")
Kept = TypeVar("Kept")

NOT_ASCII = 0x80
NONE_YET = 0x81
"""In place of a first character that isn't ASCII, or not there."""

BETWEEN, CLOSED, INSIDE, ESCAPE = range(4)
"""What a node is: between characters, after the closing quote, inside one, inside an escape."""

FEW_NODES = 1500
"""Loops that are entered by characters with fewer nodes below them are walked one by one."""

MAX_KEPT = 24
"""Answers about classes that are kept; the oldest is dropped."""


class Reading(NamedTuple):
    """What a state of strings reads.

    Arguments:
        tokens: flags of the token ids that are read, ``token_count`` of them.
        closed: trie nodes after the closing quote, by the label as which the string ends.
        left: trie nodes at which another state begins, by state.
    """

    tokens: Flags
    closed: Mapping[Hashable, Nodes]
    left: Mapping[CharacterState, Nodes]


class _Found(NamedTuple):
    """What was found so far: flags of tokens, and places at which other tokens are read."""

    tokens: Flags
    places: list[Nodes]
    closed: Closed
    left: dict[CharacterState, list[Nodes]]


class Closing(NamedTuple):
    """Where a string may be closed.

    Arguments:
        within: flags of the trie nodes after the closing quote and of those on the way there.
        tokens: flags of the token ids whose nodes are after a closing quote.
    """

    within: Flags
    tokens: Flags


class CharacterWalk:
    """The nodes below some node of the trie, as a plain string reads them.

    Arrays have one element for each of them, and a last one for where the walk began.

    Arguments:
        levels: the walk of a plain string.
        trie: the tokens.
        node_of_token: the trie node of each token id; -1 for none.
    """

    def __init__(
        self,
        levels: Levels,
        trie: TokenTrie,
        node_of_token: Nodes,
    ) -> None:
        self._nodes = levels.nodes
        self._plain = levels.states[0]
        self._trie = trie
        self._begin = size = len(levels.nodes)
        parents = np.where(levels.parents < 0, size, levels.parents)
        self._parents = np.append(parents, size)
        self._levels = [
            slice(begin, end) for begin, end in zip(levels.starts, levels.starts[1:], strict=False)
        ]
        kinds = np.array([_kind(state) for state in levels.states], np.uint8)
        self._kind = np.append(kinds[levels.at], BETWEEN).astype(np.uint8)
        self._loops: dict[tuple[Ranges, Ranges], Loop] = {}
        self._leaving: dict[tuple[Ranges, Ranges], tuple[Characters, Nodes]] = {}
        self._find_characters(trie.byte[levels.nodes])
        # No token is read at the last element, where the walk began: it stands for all others.
        places = np.full(len(trie) + 1, size, np.int32)
        places[levels.nodes] = np.arange(size, dtype=np.int32)
        self._place_of_token = places[node_of_token]
        self._is_between = self._kind == BETWEEN
        self._is_inside = self._kind == INSIDE
        self._closed = np.flatnonzero(self._kind == CLOSED)

    def _find_characters(self, byte: npt.NDArray[np.uint8]) -> None:
        """What each node adds to its parent's characters, and then, level by level, the sums.

        ``_low`` to ``_high`` are the code points that the last character can be, one where it is
        known; ``_before`` is the node before that character.
        """
        size = self._begin
        above, kind = self._parents[:size], self._kind
        now, was = kind[:size], kind[above]
        escapes = self._find_escapes(byte)
        from_escape = np.zeros(size, np.bool_)
        from_escape[list(escapes)] = True
        between = was == BETWEEN
        single = (now == BETWEEN) & between
        lead = (now == INSIDE) & between
        self._low = low = np.zeros(size + 1, np.int32)
        np.copyto(low[:size], byte, where=single)
        low[list(escapes)] = list(escapes.values())
        self._high = low.copy()
        self._find_ranges(lead, np.flatnonzero(was == INSIDE), byte)
        self._before = before = self._parents.copy()
        places = np.flatnonzero(~between)
        ancestors = above[places]
        while len(places):
            ancestors = above[ancestors]
            found = kind[ancestors] == BETWEEN
            before[places[found]] = ancestors[found]
            places, ancestors = places[~found], ancestors[~found]
        self._sum_up(single | lead | from_escape)

    def _find_ranges(self, lead: Flags, tails: Nodes, byte: npt.NDArray[np.uint8]) -> None:
        """What the bytes of UTF-8 leave of the range of their character."""
        low, high, parents = self._low, self._high, self._parents
        places = np.flatnonzero(lead)
        value = byte[places].astype(np.int32)
        long = np.where(value >= 0xF0, 3, np.where(value >= 0xE0, 2, 1))
        start = (value & (0x3F >> long)) << 6 * long
        low[places] = np.maximum(start, _LOWEST[long])
        high[places] = np.minimum(start + (1 << 6 * long) - 1, 0x10FFFF)
        while len(tails):
            reached = np.zeros(self._begin + 1, np.bool_)
            reached[places] = True
            is_next = reached[parents[tails]]
            places, tails = tails[is_next], tails[~is_next]
            self._narrow(places, byte[places])

    def _narrow(self, places: Nodes, read: npt.NDArray[np.uint8]) -> None:
        """What a continuation byte leaves of its parent's range."""
        above = self._parents[places]
        low, high = self._low[above], self._high[above]
        # The bits not read yet are those in which both ends of the range may still differ.
        left = np.where(high - low >= 1 << 12, 2, np.where(high - low >= 1 << 6, 1, 0))
        left = np.where(self._kind[places] == BETWEEN, 0, np.maximum(left, 1))
        value = (read.astype(np.int32) & 0x3F) << 6 * left
        base = high >> 6 * (left + 1) << 6 * (left + 1)
        start = base + value
        self._low[places] = np.maximum(start, low)
        self._high[places] = np.minimum(start + (1 << 6 * left) - 1, high)

    def _sum_up(self, new: Flags) -> None:
        """The first character up to each node, the set of the others, and how many there are.

        Arguments:
            new: the nodes at which one more character is known, or begins.
        """
        size = self._begin
        code = np.minimum(self._low[:size], NOT_ASCII)
        # What a node adds depends on its character and on whether that is the first one.
        kinds = np.where(self._before[:size] == size, 1, 2 + NOT_ASCII) + code
        kinds *= new
        own = np.zeros((3, size + 1), np.uint64)
        for row, table in zip(own, _ADDED, strict=True):
            np.take(table, kinds, out=row[:size], mode="clip")
        sums, lower, upper = own
        for level in self._levels:
            above = self._parents[level]
            sums[level] += sums.take(above)
            lower[level] |= lower.take(above)
            upper[level] |= upper.take(above)
        self._rest = own[1:]
        begun = (sums >> _FIRST_BITS).astype(np.uint8)
        begun += (begun == 0) * np.uint8(NONE_YET + 1)
        self._first = begun - np.uint8(1)
        self._rest_wide = (sums & _WIDE_MASK) > 0
        self._count = sums.astype(np.uint32).view(np.int32) & _COUNT_MASK

    def _find_escapes(self, byte: npt.NDArray[np.uint8]) -> dict[int, int]:
        """The characters that escapes write; those that are cut off are kept by their text."""
        texts: dict[int, bytes] = {}
        characters: dict[int, int] = {}
        cut: dict[bytes, list[int]] = {}
        kind, parents = self._kind, self._parents
        inside = kind == ESCAPE
        for position in np.flatnonzero(inside | inside[parents]).tolist():
            text = texts.get(int(parents[position]), b"") + bytes((int(byte[position]),))
            if kind[position] == ESCAPE:
                texts[position] = text
                cut.setdefault(text, []).append(position)
            else:
                characters[position] = ord(json.loads(b'"%b"' % text))
        self._cut = {text: np.array(places, np.int64) for text, places in cut.items()}
        return characters

    @cached_property
    def closing(self) -> Closing:
        """The nodes at which a string may be closed, with the way to them."""
        on_the_way = np.zeros(self._begin + 1, np.bool_)
        on_the_way[self._closed] = True
        for level in reversed(self._levels):
            on_the_way[self._parents[level][on_the_way[level]]] = True
        found = on_the_way.copy()
        found[:] = False
        found[self._closed] = True
        within = np.zeros(len(self._trie), np.bool_)
        within[self._nodes[on_the_way[:-1]]] = True
        return Closing(within, found[self._place_of_token])

    @cached_property
    def _singles(self) -> Characters:
        """The places after one character."""
        begun = (self._before == self._begin) & self._is_between
        return self._in_order(np.flatnonzero(begun[:-1]))

    @cached_property
    def _begun(self) -> Nodes:
        """The places inside the first character's UTF-8."""
        return np.flatnonzero(self._is_inside & (self._before == self._begin))

    @cached_property
    def _is_read(self) -> Flags:
        """The places within a string's content, where characters are written as themselves."""
        found: Flags = self._is_between | self._is_inside
        found[self._begin] = False
        return found

    @cached_property
    def _first_bytes(self) -> bytes:
        """``_first``, in the form in which all of it is looked up in a table fastest."""
        found: bytes = self._first.tobytes()
        return found

    @cached_property
    def _wide_places(self) -> Nodes:
        """The places after or inside a character that isn't ASCII."""
        return np.flatnonzero((self._high >= NOT_ASCII) & self._is_read)

    @cached_property
    def _short_count(self) -> npt.NDArray[np.unsignedinteger]:
        """``_count`` in as few bytes as hold one more than the most characters of a token."""
        found: npt.NDArray[np.unsignedinteger]
        found = self._count.astype(np.min_scalar_type(int(self._count.max()) + 1))
        return found

    @cached_property
    def _at_once(self) -> Nodes:
        """The places after the closing quote of the empty string."""
        found: Nodes = self._closed[self._first[self._closed] == NONE_YET]
        return found

    @cached_property
    def _first_cuts(self) -> dict[bytes, Nodes]:
        """The places inside an escape of the first character, by its text so far."""
        first = self._first
        return {text: places[first[places] == NONE_YET] for text, places in self._cut.items()}

    def read(self, state: CharacterState) -> Reading:
        """The nodes that a state reads, its loops by whole classes."""
        found = _Found(np.zeros(len(self._place_of_token), np.bool_), [], {}, {})
        counted = counted_class(state)
        self._read_begin(state, found)
        if counted is not None:
            self._read_counted(state, counted.characters, 0, found)
        else:
            for target, ranges in _grouped(state).items():
                self._read_group(target, ranges, found)
        places = [*found.places, *chain(*found.closed.values(), *found.left.values())]
        if places:
            found.tokens[ids_at(self._trie, self._nodes[np.concatenate(places)])] = True
        return Reading(
            found.tokens,
            {label: self._nodes[np.concatenate(some)] for label, some in found.closed.items()},
            {to: self._nodes[np.concatenate(some)] for to, some in found.left.items()},
        )

    def _read_counted(
        self, state: CharacterState, first: Ranges, before: int, found: _Found
    ) -> None:
        """A class of characters, so many times, after some that come ``before``."""
        counted = counted_class(state)
        assert counted is not None
        low = before + counted.low
        loop = self._loop(first, counted.characters)
        most = loop.not_read - 1
        high = most if counted.high is None else min(before + counted.high, most)
        np.logical_or(found.tokens, loop.counts <= high, out=found.tokens)
        for text in self._accepted_cuts(counted.characters):
            cut = loop.cuts[text]
            found.places.append(cut[self._count[cut] < high])
        begun = loop.closed_counts
        _close(found.closed, DONE, loop.closed[(begun >= low) & (begun <= high)])

    def _read_begin(self, state: CharacterState, found: _Found) -> None:
        """The nodes at which the first character isn't written yet, or not wholly."""
        if 0x22 in state.transitions:
            _close(found.closed, state.transitions[0x22].label, self._at_once)
        reached = normalise((low, high) for low, high, _ in state.arcs())
        found.places.extend(self._first_cuts[text] for text in self._accepted_cuts(reached))
        found.places.append(self._begun[self._may_be_in(self._begun, reached)])

    def _read_group(self, state: CharacterState, first: Ranges, found: _Found) -> None:
        """What is read by a first character out of some, and then from ``state`` on."""
        entering, mass = self._singles.within(first)
        is_large = not state.stepwise and mass >= FEW_NODES
        if is_large and counted_class(state) is not None:
            self._read_counted(state, first, 1, found)
            return
        groups = _grouped(state) if is_large else {}
        rest = groups.pop(state, None)
        if rest is None:
            found.left.setdefault(state, []).append(entering)
            return
        loop = self._loop(first, rest)
        np.logical_or(found.tokens, loop.counts != loop.not_read, out=found.tokens)
        reached = normalise(chain(rest, *groups.values()))
        found.places.extend(loop.cuts[text] for text in self._accepted_cuts(reached))
        if 0x22 in state.transitions:
            _close(found.closed, state.transitions[0x22].label, loop.closed)
        if groups:
            leaving, begun = self._find_leaving(first, rest)
            for to, ranges in groups.items():
                found.left.setdefault(to, []).append(leaving.within(ranges)[0])
            if any(ranges[-1][1] >= NOT_ASCII for ranges in groups.values()):
                others = normalise(chain(*groups.values()))
                found.places.append(begun[self._may_be_in(begun, others)])

    @cached_property
    def _cut_characters(self) -> dict[bytes, Ranges]:
        """What the escapes that are cut off may still become, by their text so far."""
        found: dict[bytes, Ranges] = {}
        for text in self._cut:
            state = self._plain
            for byte in text:
                state = state.transitions[byte]
            found[text] = escaped_characters(state)
        return found

    def _accepted_cuts(self, characters: Ranges) -> Iterator[bytes]:
        """The texts so far of those escapes that may become one of the characters."""
        for text, ranges in self._cut_characters.items():
            if any(overlaps(characters, *each) for each in ranges):
                yield text

    def _may_be_in(self, places: Nodes, ranges: Ranges) -> Flags:
        """Whether characters that are only begun can still become one of the set."""
        low, high = self._low[places], self._high[places]
        ends = bounds(ranges)
        first = np.searchsorted(ends, low, "right")
        found: Flags = (first & 1 == 1) | (np.searchsorted(ends, high, "right") > first)
        return found

    def _loop(self, first: Ranges, rest: Ranges) -> Loop:
        """What is read by a character of ``first`` and then some of ``rest``."""
        key = (first, rest)
        found = self._loops.get(key)
        if found is None:
            fits = self._find_fitting(first, rest)
            read = fits & self._is_read
            counts = np.where(read, self._short_count, np.iinfo(self._short_count.dtype).max)
            later = fits & (self._first != NONE_YET)
            closed = self._closed[later[self._closed]]
            cuts = {text: places[later[places]] for text, places in self._cut.items()}
            found = Loop(
                fits,
                counts.take(self._place_of_token),
                int(np.iinfo(counts.dtype).max),
                closed,
                self._count[closed],
                cuts,
            )
            _keep(self._loops, key, found)
        return found

    def _find_leaving(self, first: Ranges, rest: Ranges) -> tuple[Characters, Nodes]:
        """The places after the first character that isn't in a loop, and those inside of it."""
        key = (first, rest)
        found = self._leaving.get(key)
        if found is None:
            fits, before = self._loop(first, rest).fits, self._before
            leaving = np.flatnonzero(~fits & fits[before] & (before != self._begin))
            found = (
                self._in_order(leaving[self._is_between[leaving]]),
                leaving[self._is_inside[leaving]],
            )
            _keep(self._leaving, key, found)
        return found

    def _in_order(self, places: Nodes) -> Characters:
        return in_order(places, self._low[places], self._trie.subtree_size[self._nodes[places]])

    def _find_fitting(self, first: Ranges, rest: Ranges) -> Flags:
        wide_first, wide_rest = _wide(first), _wide(rest)
        allowed = np.ones(256, np.bool_)
        codes = np.arange(NOT_ASCII)
        allowed[:NOT_ASCII] = _in_ranges(codes, first)
        allowed[NOT_ASCII] = bool(wide_first)
        inside = _in_ranges(codes, rest)
        fits: Flags = np.frombuffer(self._first_bytes.translate(allowed.tobytes()), np.bool_).copy()
        for half, bits in enumerate(self._rest):
            mask = sum(1 << n for n in np.flatnonzero(~inside[64 * half : 64 * half + 64]).tolist())
            if mask:
                fits &= (bits & np.uint64(mask)) == 0
        if not wide_rest:
            fits &= ~self._rest_wide
        partial = [_ANY_WIDE != wide != () for wide in (wide_first, wide_rest)]
        if any(partial):
            self._follow_wide(fits, wide_first, wide_rest)
        return fits

    def _follow_wide(self, fits: Flags, first: Ranges, rest: Ranges) -> None:
        """Clear the flags from each character on that isn't ASCII and not one of the set."""
        wide = self._wide_places[fits[self._wide_places]]
        initial = self._before[wide] == self._begin
        for places, ranges in ((wide[initial], first), (wide[~initial], rest)):
            fits[places] = self._may_be_in(places, ranges)
        for level in self._levels:
            fits[level] &= fits[self._parents[level]]


def _added() -> npt.NDArray[np.uint64]:
    """What a character adds: to the sums, and as bits to both halves of the set of characters.

    Columns: no character, then ASCII and all others as the first one, then the same as a later
    one. Three small numbers make one sum, so that an addition for each level is enough for all of
    them: how many characters, from bit 24 on how many of the later ones are not ASCII, and from bit
    48 on the first one, plus 1.
    """
    table = np.zeros((3, 1 + 2 * (NOT_ASCII + 1)), np.uint64)
    table[0, 1:] = 1
    for code in range(NOT_ASCII + 1):
        table[0, 1 + code] += np.uint64((code + 1) << 48)
        if code < NOT_ASCII:
            table[1 + code // 64, 2 + NOT_ASCII + code] = np.uint64(1 << code % 64)
    table[0, -1] += np.uint64(1 << 24)
    return table


_ADDED = _added()
_FIRST_BITS = np.uint64(48)
_WIDE_MASK = np.uint64(((1 << 24) - 1) << 24)
_COUNT_MASK = np.int32((1 << 24) - 1)
_LOWEST = np.array([0, 0x80, 0x800, 0x10000], np.int32)
_ANY_WIDE: Ranges = ((NOT_ASCII, 0xD7FF), (0xE000, 0x10FFFF))


def _kind(state: LexemeState) -> int:
    if isinstance(state, CharacterState):
        return BETWEEN
    if isinstance(state, (Utf8State, Utf8Tail)):
        return INSIDE
    return ESCAPE if state.label is None else CLOSED


def _keep(kept: dict[Key, Kept], key: Key, value: Kept) -> None:
    if len(kept) >= MAX_KEPT:
        del kept[next(iter(kept))]
    kept[key] = value


def _close(closed: Closed, label: Hashable, places: Nodes) -> None:
    if len(places):
        closed.setdefault(label, []).append(places)


def _grouped(state: CharacterState) -> dict[CharacterState, Ranges]:
    """The characters that lead to each state."""
    groups: dict[CharacterState, list[tuple[int, int]]] = {}
    for low, high, target in state.arcs():
        assert isinstance(target, CharacterState)
        groups.setdefault(target, []).append((low, high))
    return {target: normalise(ranges) for target, ranges in groups.items()}


def _wide(ranges: Ranges) -> Ranges:
    return tuple((max(low, NOT_ASCII), high) for low, high in ranges if high >= NOT_ASCII)


def _in_ranges(characters: npt.NDArray[np.integer], ranges: Ranges) -> Flags:
    found: Flags = np.searchsorted(bounds(ranges), characters, "right") & 1 == 1
    return found
