"""A short document of an acceptor, found without any tokenizer.

The search goes lexeme by lexeme and container by container: what is found for an array or object
is kept, so that each place of a schema is searched once. Nothing is ever a dead end, so the first
choice at each place nearly always does: close what may be closed, write what is wanted, prefer
scalars to containers. Other choices wait with a penalty.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import count
from typing import TypeAlias, cast

from mlx_structured.automaton.acceptor import LEARNING, Acceptor
from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.automaton.link import Configuration, Link, Network, Recording
from mlx_structured.automaton.names import NameState
from mlx_structured.automaton.number_lexeme import IntegerState
from mlx_structured.automaton.spelled_number import EitherSpelling
from mlx_structured.automaton.string_lexeme import QuoteState, StringState
from mlx_structured.automaton.utf8 import Machine, after_character, language_arcs, machine_label
from mlx_structured.automaton.words_lexeme import WordsState
from mlx_structured.automaton.written_keys import UnwrittenState
from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.language import (
    Language,
    complement,
    example,
    intersection,
    is_empty,
    literals,
)
from mlx_structured.languages.number_set import at_least, at_most
from mlx_structured.limits import DEFAULT_LIMITS, Budget, Limits

MAX_STEPS = 10_000
"""Lexemes that one search reads before it gives up."""

MAX_STATES = 500
"""States of one lexeme in which its shortest text is looked for; after that any text will do."""

MOST_LOOKED_AT = 5_000
"""Of a lexeme that isn't a string, so many for a shortest text."""

MOST_CHARACTERS = 32
"""Of a range of characters that lead to the same, so many are tried."""

_PENALTY = 24
_LONGEST_COUNTED = 8

Word: TypeAlias = "tuple[bytes, Hashable]"
Step: TypeAlias = "tuple[bytes, Iterable[Configuration]]"
Container: TypeAlias = "tuple[LexemeState, Network, Hashable]"


def example_document(acceptor: Acceptor, wanted: frozenset[str] = frozenset()) -> str | None:
    """A short document that the acceptor accepts, though not always the shortest.

    Arguments:
        acceptor: the language of documents.
        wanted: keys to prefer where one must be written: those that are required somewhere.

    Returns:
        ``None`` if none is found within ``MAX_STEPS``.

    Raises:
        LimitExceededError: if a pattern or format has too many states to find a text of it.
    """
    found = example_ending(acceptor.begin(), wanted, acceptor.limits)
    return None if found is None else found.decode()


def example_ending(
    reached: Iterable[Configuration],
    wanted: frozenset[str] = frozenset(),
    limits: Limits = DEFAULT_LIMITS,
) -> bytes | None:
    """What may be written after a text to make it a document, short but not always the shortest.

    Arguments:
        reached: the configurations after the text.
        wanted: keys to prefer where one must be written: those that are required somewhere.
        limits: of the search.

    Returns:
        ``None`` if nothing is found within ``MAX_STEPS``.

    Raises:
        LimitExceededError: if finding it takes more than the limits allow.
    """
    with LEARNING, Budget(limits):
        found = next(_Search(wanted).exits(reached, 0), None)
    return None if found is None else found[0]


class _Search:
    """One search, with what it has found of each lexeme and container."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = {_quoted(name) for name in wanted}
        self._steps = 0
        self._words: dict[LexemeState, Word] = {}
        self._containers: dict[Container, tuple[bytes, LexemeState]] = {}
        self._open: set[Container] = set()

    def exits(
        self, begin: Iterable[Configuration], depth: int, *, varied: bool = False
    ) -> Iterator[tuple[bytes, Configuration | None]]:
        """Texts that lead out of all places of ``depth`` and deeper, and where each leads.

        It leads to no configuration where the document ends. Where the text matters to what
        follows (``varied``) there are many that lead to the same.
        """
        serial = count()
        queue: list[tuple[int, int, bytes, int, Configuration, Iterator[Step] | None]] = []
        seen: set[tuple[Configuration, bytes]] = set()

        def push(cost: int, text: bytes, start: int, choices: Iterable[Configuration]) -> None:
            ranked = sorted(choices, key=lambda each: self._rank(each, depth))
            for i, each in enumerate(ranked):
                entry = (cost + i * _PENALTY, next(serial), text, start, each, None)
                heapq.heappush(queue, entry)

        push(0, b"", 0, begin)
        while queue and self._steps < MAX_STEPS:
            self._steps += 1
            cost, _, text, start, at, steps = heapq.heappop(queue)
            if at.link.depth < depth:
                yield text, at
                continue
            captured = text[start:] if at.link.captures else b""
            if at.recording is not None:
                captured = at.captured() or b""
            if steps is None:
                if not varied and (at, captured) in seen:
                    continue
                seen.add((at, captured))
                if at.link.depth > depth:
                    above = cast("Link", at.link.parent)
                    steps = self._container(at, varied=varied or above.captures)
                else:
                    steps = self._lexeme(at, captured, varied=varied or at.link.captures)
            step = next(steps, None)
            if step is None:
                continue
            heapq.heappush(queue, (cost + _PENALTY, next(serial), text, start, at, steps))
            written, reached = step
            text += written
            if at.link.is_final:
                yield text, None
            elif at.link.depth == depth:
                start = len(text)
            push(cost + 1 + min(len(written), _LONGEST_COUNTED), text, start, reached)

    def _rank(self, configuration: Configuration, depth: int) -> tuple[int, int]:
        """The order of trial: the way out, scalars and known keys, other keys, containers."""
        lexeme, link = configuration.lexeme, configuration.link
        if link.depth < depth:
            return 0, 0
        if link.depth > depth:
            return 3, 0
        if _is_of_names(lexeme):
            return 1, 0
        return (2 if link.captures else 1), len(self._text(lexeme)[0])

    def _lexeme(self, at: Configuration, before: bytes, *, varied: bool) -> Iterator[Step]:
        """The texts of a lexeme, and what comes after each."""
        link = at.link
        for written, label in self._texts(at.lexeme, varied=varied):
            captured = before + written if link.captures else None
            # Unlike link.after, this keeps alternatives apart, so that each can be searched.
            yield (
                written,
                () if link.is_final else link.network.follow(link, link.state, label, captured),
            )

    def _container(self, opened: Configuration, *, varied: bool) -> Iterator[Step]:
        """Texts of the container that begins there up to its end, and where they lead."""
        link = opened.link
        key = (opened.lexeme, link.network, link.state)
        known = None if varied else self._containers.get(key)
        if known is not None:
            yield known[0], [_closed(opened, *known)]
            return
        exits = self.exits([opened], link.depth, varied=varied)
        while key not in self._open:
            self._open.add(key)
            found = next(exits, None)
            self._open.discard(key)
            if found is None or found[1] is None:
                return
            self._containers.setdefault(key, (found[0], found[1].lexeme))
            yield found[0], [_closed(opened, found[0], found[1].lexeme)]
            if not varied:
                return

    def _texts(self, lexeme: LexemeState, *, varied: bool) -> Iterator[Word]:
        """Short texts of a lexeme, for each way in which it may end; if ``varied``, more."""
        if _is_of_names(lexeme):
            names = [
                (text[text.find(b'"') : text.rfind(b'"') + 1] not in self._wanted, -label, text)
                for text, label in _names(lexeme)
            ]
            # Wanted keys first, and of these the last one: nothing later may be written before it.
            for _, label, text in sorted(names):
                yield text, -label
            return
        if isinstance(lexeme, QuoteState) and _language(lexeme) is None:
            # One text for each label, as each may leave something else to hold.
            labels: set[Hashable] = set()
            for word in _told_apart(lexeme, distinct=True):
                if word[1] not in labels:
                    labels.add(word[1])
                    yield word
        else:
            yield self._text(lexeme)
        if varied:
            yield from _more_texts(lexeme)

    def _text(self, lexeme: LexemeState) -> Word:
        word = self._words.get(lexeme)
        if word is None:
            word = self._words[lexeme] = _short_text(lexeme)
        return word


def _closed(opened: Configuration, text: bytes, lexeme: LexemeState) -> Configuration:
    """Where the rest of a container leads, with what was recorded before the search began."""
    parent = cast("Link", opened.link.parent)
    before = opened.recording
    if before is None:
        return parent.configuration(lexeme)
    recording = parent.continued(Recording(before.text + text, before.starts))
    return parent.configuration(lexeme, recording)


def _is_of_names(lexeme: LexemeState) -> bool:
    """Whether names are written, which end the lexeme each in its own way."""
    if isinstance(lexeme, QuoteState):
        return isinstance(lexeme.body.machine, NameState)
    return isinstance(lexeme, WordsState) and lexeme.is_of_names


def _names(lexeme: LexemeState) -> Iterator[tuple[bytes, int]]:
    """The names that may be written, with what belongs to them and their labels."""
    if isinstance(lexeme, WordsState):
        yield from ((rest, cast("int", label)) for rest, label in lexeme.rests())
        return
    stack = [("", cast("NameState", cast("QuoteState", lexeme).body.machine))]
    while stack:
        name, state = stack.pop()
        if state.label is not None:
            yield _quoted(name), state.label
        stack += ((name + chr(character), after) for character, _, after in state.arcs())


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _short_text(lexeme: LexemeState) -> Word:
    """A short text of a lexeme that isn't a choice of names, and as what it ends."""
    if isinstance(lexeme, (QuoteState, StringState)):
        begun = isinstance(lexeme, StringState)
        language = _language(lexeme)
        if language is not None:
            return _quoted(example(language))[begun:], DONE
        told_apart = next(_told_apart(lexeme, distinct=True), None)
        if told_apart is not None:
            return told_apart[0][begun:], told_apart[1]
    if isinstance(lexeme, EitherSpelling):
        if lexeme.whole is not None:
            return _short_text(lexeme.whole)
        text, label = _short_text(lexeme.others)
        return text if any(byte in text for byte in b".eE") else text + b".0", label
    if isinstance(lexeme, IntegerState):
        for text in _integers(lexeme):
            label = _label_after(lexeme, text)
            if label is not None:
                return text, label
    shortest = next(_texts_by_length(lexeme, distinct=True, most=MOST_LOOKED_AT), None)
    return shortest or _some_text(lexeme)


def _texts_by_length(
    lexeme: LexemeState, *, distinct: bool, most: int = MAX_STATES
) -> Iterator[Word]:
    """The shortest texts of a lexeme; if ``distinct``, only one that leads to each state."""
    queue = deque([(b"", lexeme)])
    seen = {lexeme}
    for _ in range(most):
        if not queue:
            return
        text, state = queue.popleft()
        if state.label is not None:
            yield text, state.label
        for byte, after in sorted(state.transitions.items()):
            if not distinct or after not in seen:
                seen.add(after)
                queue.append((text + bytes([byte]), after))


def _machine(lexeme: QuoteState | StringState) -> Machine:
    return lexeme.body.machine if isinstance(lexeme, QuoteState) else lexeme.machine


def _language(lexeme: LexemeState) -> Language | None:
    """The texts of a string's lexeme, if it doesn't tell them apart."""
    if not isinstance(lexeme, (QuoteState, StringState)):
        return None
    machine = _machine(lexeme)
    if isinstance(machine, Language):
        return machine
    return machine.language if isinstance(machine, UnwrittenState) else None


def _told_apart(lexeme: QuoteState | StringState, *, distinct: bool) -> Iterator[Word]:
    """The shortest texts of a machine; if ``distinct``, only one that leads to each state."""
    start = _machine(lexeme)
    queue = deque([("", start)])
    seen = {start}
    for _ in range(MAX_STATES):
        if not queue:
            return
        text, at = queue.popleft()
        label = machine_label(at)
        if label is not None:
            yield _quoted(text), label
        for low, high, target in language_arcs(at) if isinstance(at, Language) else at.arcs():
            first = max(low, min(high, 0x61))
            last = first if distinct else min(high, first + MOST_CHARACTERS)
            for point in range(first, last + 1):
                after = after_character(target, point)
                if after is not None and not (distinct and after in seen):
                    seen.add(after)
                    queue.append((text + chr(point), after))


def _more_texts(lexeme: LexemeState) -> Iterator[Word]:
    """More texts of a lexeme that isn't a choice of names."""
    rest = _language(lexeme) if isinstance(lexeme, QuoteState) else None
    if rest is None:
        if isinstance(lexeme, QuoteState):
            yield from _told_apart(lexeme, distinct=False)
        else:
            yield from _texts_by_length(lexeme, distinct=False)
        return
    while not is_empty(rest):
        text = example(rest)
        yield _quoted(text), DONE
        rest = intersection([rest, complement(literals([text]))])


def _integers(lexeme: IntegerState) -> Iterator[bytes]:
    """The integers next to zero on both sides, as far as there are any."""
    for half, side in ((at_least(0), 0), (at_most(0), 1)):
        members = lexeme.numbers & half
        if not members.is_empty():
            bound = members.bounds[side]
            if bound is not None and bound.denominator == 1:
                yield str(bound.numerator).encode()


def _label_after(lexeme: LexemeState, text: Sequence[int]) -> Hashable | None:
    """As what the lexeme ends after the text, ``None`` if it doesn't."""
    for byte in text:
        after = lexeme.transitions.get(byte)
        if after is None:
            return None
        lexeme = after
    return lexeme.label


def _some_text(lexeme: LexemeState) -> Word:
    """A text that ends where it can, by the smallest digits: no way is a dead end."""
    text = b""
    while lexeme.label is None:
        if len(text) > MAX_STATES:
            raise LimitExceededError("has a number of too many digits to be shown", "digits")
        byte, lexeme = min(
            lexeme.transitions.items(),
            key=lambda step: (step[1].label is None, not 0x30 <= step[0] <= 0x39, step[0]),
        )
        text += bytes([byte])
    return text, lexeme.label
