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
NO_CHARACTER = 0x81
"""In place of a character that isn't ASCII, or not there."""

BETWEEN, CLOSED, INSIDE, ESCAPE, UNREAD = range(5)
"""What a node is: between characters, after the closing quote, inside one, inside an escape, or
not read at all."""
BETWEEN_BETWEEN, BETWEEN_INSIDE = BETWEEN << 3 | BETWEEN, BETWEEN << 3 | INSIDE
"""What a node is, after what its parent is."""

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
        self._parents = np.append(levels.parents, size)
        self._parents[:size][levels.parents < 0] = size
        self._levels = [
            slice(begin, end) for begin, end in zip(levels.starts, levels.starts[1:], strict=False)
        ]
        kinds = np.array([*map(_kind, levels.states), UNREAD], np.uint8)
        self._kind = np.append(kinds.take(levels.at), np.uint8(BETWEEN))
        self._find_characters(trie.byte.take(levels.nodes))
        self._loops: dict[tuple[Ranges, Ranges], Loop] = {}
        self._leaving: dict[tuple[Ranges, Ranges], tuple[Characters, Nodes]] = {}
        self._closed = np.flatnonzero(self._kind == CLOSED)
        # No token is read at the last element, where the walk began: it stands for all others.
        places = np.full(len(trie) + 1, size, np.int64)
        places[levels.nodes] = np.arange(size)
        self._place_of_token = places.take(node_of_token)
        self._is_read_token = self._is_read.take(self._place_of_token)
        self._count_of_token = self._count.take(self._place_of_token)

    @property
    def memory(self) -> int:
        """Bytes, by estimate."""
        places, tokens = len(self._kind), len(self._place_of_token)
        return 40 * places + 10 * tokens + len(self._loops) * (places + tokens)

    def _find_characters(self, byte: npt.NDArray[np.uint8]) -> None:
        """What each node adds to its parent's characters, and how many there are.

        ``_code`` is the character that ends or begins at a node. ``_value`` has its bits that are
        known, all but ``6 * _left``, ``_before`` is the node before it.
        """
        size, parents = self._begin, self._parents
        above = parents[:size]
        step = (self._kind.take(above) << 3) + self._kind[:size]
        self._code = code = np.full(size + 1, NO_CHARACTER, np.uint8)
        single, lead = step == BETWEEN_BETWEEN, step == BETWEEN_INSIDE
        np.copyto(code[:size], byte, where=single)
        np.copyto(code[:size], np.uint8(NOT_ASCII), where=lead)
        self._before = before = parents.copy()
        self._value = value = np.where(code < NOT_ASCII, code, 0).astype(np.int32)
        self._left = left = np.zeros(size + 1, np.uint8)
        for place, (start, character) in self._find_escapes(byte).items():
            before[place] = start
            if character is not None:
                value[place] = character
                code[place] = min(character, NOT_ASCII)
        places = np.flatnonzero(lead)
        leads = byte.take(places)
        left[places] = _LENGTHS.take(leads)
        value[places] = leads & (0x3F >> left.take(places))
        tails = np.flatnonzero(step >> 3 == INSIDE)
        ancestors = above.take(tails)
        is_known = lead
        while len(tails):
            # The bits of the character come from the parent, which has to have its own.
            known = is_known.take(ancestors)
            places, parent = tails[known], ancestors[known]
            value[places] = (value.take(parent) << 6) + (byte.take(places) & 0x3F)
            left[places] = left.take(parent) - np.uint8(1)
            before[places] = before.take(parent)
            if len(places) == len(tails):
                break
            tails, ancestors = tails[~known], ancestors[~known]
            is_known = np.zeros(size, np.bool_)
            is_known[places] = True
        self._is_first = before == size
        self._firsts = np.flatnonzero(self._is_first & (code != NO_CHARACTER))
        self._count = count = (code != NO_CHARACTER).astype(
            np.min_scalar_type(len(self._levels) + 1)
        )
        for level in self._levels:
            count[level] += count.take(parents[level])

    def _find_escapes(self, byte: npt.NDArray[np.uint8]) -> dict[int, tuple[int, int | None]]:
        """The nodes in and after escapes: the node before, and the character if it is written.

        The nodes of those that are cut off are kept by their text.
        """
        texts: dict[int, bytes] = {}
        found: dict[int, tuple[int, int | None]] = {}
        cut: dict[bytes, list[int]] = {}
        kind, parents = self._kind, self._parents
        inside = kind == ESCAPE
        for place in np.flatnonzero(inside | (inside.take(parents) & (kind != UNREAD))).tolist():
            parent = int(parents[place])
            text = texts.get(parent, b"") + bytes((int(byte[place]),))
            start = found[parent][0] if parent in texts else parent
            if kind[place] == ESCAPE:
                texts[place] = text
                cut.setdefault(text, []).append(place)
                found[place] = (start, None)
            else:
                found[place] = (start, ord(json.loads(b'"%b"' % text)))
        self._cut = {text: np.array(places, np.int64) for text, places in cut.items()}
        return found

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
        return self._in_order(np.flatnonzero(self._is_first[:-1] & (self._kind[:-1] == BETWEEN)))

    @cached_property
    def _begun(self) -> Nodes:
        """The places inside the first character's UTF-8."""
        return np.flatnonzero(self._is_first & (self._kind == INSIDE))

    @cached_property
    def _is_read(self) -> Flags:
        """The places within a string's content, where characters are written as themselves."""
        found: Flags = (self._kind == BETWEEN) | (self._kind == INSIDE)
        found[self._begin] = False
        return found

    @cached_property
    def _codes(self) -> bytes:
        """``_code``, in the form in which all of it is looked up in a table fastest."""
        found: bytes = self._code.tobytes()
        return found

    @cached_property
    def _wide_places(self) -> Nodes:
        """The places after or inside a character that isn't ASCII."""
        return np.flatnonzero(((self._value >= NOT_ASCII) | (self._left > 0)) & self._is_read)

    @cached_property
    def _at_once(self) -> Nodes:
        """The places after the closing quote of the empty string."""
        found: Nodes = self._closed[self._count[self._closed] == 0]
        return found

    @cached_property
    def _first_cuts(self) -> dict[bytes, Nodes]:
        """The places inside an escape of the first character, by its text so far."""
        count = self._count
        return {text: places[count[places] == 0] for text, places in self._cut.items()}

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
        value, left = self._value.take(places), self._left.take(places)
        low = np.maximum(value << 6 * left, _LOWEST.take(left))
        high = np.minimum(((value + 1) << 6 * left) - 1, 0x10FFFF)
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
            read = fits.take(self._place_of_token) & self._is_read_token
            not_read = np.iinfo(self._count.dtype).max
            closed = self._later(self._closed, fits)
            found = Loop(
                fits,
                np.where(read, self._count_of_token, self._count.dtype.type(not_read)),
                int(not_read),
                closed,
                self._count[closed],
                {text: self._later(places, fits) for text, places in self._cut.items()},
            )
            _keep(self._loops, key, found)
        return found

    def _later(self, places: Nodes, fits: Flags) -> Nodes:
        """The places that fit and have a character before them."""
        found: Nodes = places[fits[places] & (self._count[places] > 0)]
        return found

    def _find_leaving(self, first: Ranges, rest: Ranges) -> tuple[Characters, Nodes]:
        """The places after the first character that isn't in a loop, and those inside of it."""
        key = (first, rest)
        found = self._leaving.get(key)
        if found is None:
            fits, before = self._loop(first, rest).fits, self._before
            leaving = np.flatnonzero((fits.take(before) > fits) & ~self._is_first)
            kind = self._kind.take(leaving)
            found = (self._in_order(leaving[kind == BETWEEN]), leaving[kind == INSIDE])
            _keep(self._leaving, key, found)
        return found

    def _in_order(self, places: Nodes) -> Characters:
        masses = self._trie.subtree_size.take(self._nodes.take(places))
        return in_order(places, self._value.take(places), masses)

    def _find_fitting(self, first: Ranges, rest: Ranges) -> Flags:
        wide_first, wide_rest = _wide(first), _wide(rest)
        table = _table(rest, wide_rest)
        fits: Flags = np.frombuffer(self._codes.translate(table.tobytes()), np.bool_).copy()
        fits[self._firsts] = _table(first, wide_first).take(self._code.take(self._firsts))
        self._pass_on(fits)
        if any(_ANY_WIDE != wide != () for wide in (wide_first, wide_rest)):
            wide = self._wide_places[fits[self._wide_places]]
            initial = self._is_first[wide]
            for places, ranges in ((wide[initial], wide_first), (wide[~initial], wide_rest)):
                fits[places] = self._may_be_in(places, ranges)
            self._pass_on(fits)
        return fits

    def _pass_on(self, fits: Flags) -> None:
        """Clear the flags of all that comes after a cleared one."""
        for level in self._levels:
            fits[level] &= fits.take(self._parents[level])
            if not fits[level].any():
                fits[level.stop : self._begin] = False
                break


def _table(ranges: Ranges, wide: Ranges) -> Flags:
    """Whether each value of ``_code`` is of a set."""
    found = np.ones(256, np.bool_)
    found[:NOT_ASCII] = _in_ranges(np.arange(NOT_ASCII), ranges)
    found[NOT_ASCII] = bool(wide)
    return found


_LOWEST = np.array([0, 0x80, 0x800, 0x10000], np.int32)
_LENGTHS = np.repeat(np.array([0, 1, 2, 3], np.uint8), [0xC0, 0x20, 0x10, 0x10])
"""How many bytes come after a first byte of UTF-8."""
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
