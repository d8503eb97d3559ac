"""The shortest texts with which a lexeme can end, for each way in which it may."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Hashable, Iterable
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.automaton.names import NameState
from mlx_structured.automaton.raw_text import RawTextState
from mlx_structured.automaton.string_lexeme import QuoteState, StringState
from mlx_structured.automaton.utf8 import Machine, after_character, language_arcs, machine_label
from mlx_structured.automaton.words_lexeme import WordsState
from mlx_structured.languages.expression import length_bounds
from mlx_structured.languages.language import Language, example
from mlx_structured.limits import Portion

MAX_STATES = 2_000
"""States of one lexeme that are looked at; after that the lexeme counts as one without an end."""

MAX_NAMES = 8
"""Names that are offered where a key may be chosen and none must come."""


class Tail(NamedTuple):
    """A text that ends a lexeme, and as what."""

    text: bytes
    label: Hashable


_known: WeakKeyDictionary[LexemeState, dict[int, tuple[Tail, ...]]] = WeakKeyDictionary()


def tails(lexeme: LexemeState, required: int = 0) -> tuple[Tail, ...]:
    """Texts that end the lexeme from this state on, at most one for each label.

    Each is as short as any with its label. Where a key is chosen among names, only one that must
    come is tried if there is any, and otherwise a few.

    Arguments:
        lexeme: the state; where it may end already, the text is empty.
        required: names that must still be written, as bits.

    Returns:
        Nothing if no end is found within ``MAX_STATES``.
    """
    by_required = _known.get(lexeme)
    if by_required is None:
        by_required = _known[lexeme] = {}
    found = by_required.get(required)
    if found is None:
        found = by_required[required] = tuple(_find(lexeme, required))
    return found


def _find(lexeme: LexemeState, required: int) -> Iterable[Tail]:
    best: dict[Hashable, bytes] = {}
    queue = deque([(b"", lexeme)])
    seen = {lexeme}
    while queue and len(seen) <= MAX_STATES:
        text, state = queue.popleft()
        if best and len(text) >= max(map(len, best.values())):
            break
        if state.label is not None:
            ends: Iterable[Tail] = (Tail(b"", state.label),)
        elif isinstance(state, QuoteState):
            ends = [Tail(b'"' + rest, label) for rest, label in _string_ends(state.body, required)]
        elif isinstance(state, StringState):
            ends = _string_ends(state, required)
        elif isinstance(state, RawTextState):
            rest_of_text = _shortest(cast("Language", state.machine))
            ends = () if rest_of_text is None else (Tail(rest_of_text.encode(), DONE),)
        elif isinstance(state, WordsState):
            ends = _word_ends(state, required)
        else:
            for byte, after in sorted(state.transitions.items()):
                if after not in seen:
                    seen.add(after)
                    queue.append((text + bytes([byte]), after))
            continue
        for rest, label in ends:
            known = best.get(label)
            if known is None or len(text) + len(rest) < len(known):
                best[label] = text + rest
    return [Tail(text, label) for label, text in best.items()]


def _word_ends(state: WordsState, required: int) -> Iterable[Tail]:
    rests = {label: rest for rest, label in sorted(state.rests(), key=_length, reverse=True)}
    if DONE in rests:
        return (Tail(rests[DONE], DONE),)
    names = sum(1 << cast("int", label) for label in rests)
    return [Tail(rests[index], index) for index in _chosen(names, required)]


def _length(labelled: tuple[bytes, Hashable]) -> int:
    return len(labelled[0])


def _string_ends(state: StringState, required: int) -> list[Tail]:
    machine = state.machine
    if isinstance(machine, NameState):
        return [
            Tail(_rest_of_string(machine.rest_of(index)), index)
            for index in _chosen(machine.labels, required)
        ]
    if isinstance(machine, Language):
        text = _shortest(machine)
        return [] if text is None else [Tail(_rest_of_string(text), DONE)]
    return [Tail(_rest_of_string(text), label) for label, text in _labelled_texts(machine).items()]


def _labelled_texts(machine: Machine) -> dict[Hashable, str]:
    """The shortest text for each of the first labels that are met, breadth first."""
    found: dict[Hashable, str] = {}
    seen: set[Machine] = {machine}
    queue = deque([("", machine)])
    while queue and len(seen) < MAX_STATES and len(found) < MAX_NAMES:
        text, at = queue.popleft()
        label = machine_label(at)
        if label is not None:
            found.setdefault(label, text)
        arcs = language_arcs(at) if isinstance(at, Language) else at.arcs()
        for low, high, target in arcs:
            character = ord("a") if low <= ord("a") <= high else low
            after = after_character(target, character)
            if after is not None and after not in seen:
                seen.add(after)
                queue.append((text + chr(character), after))
    return found


def _shortest(language: Language) -> str | None:
    bounds = length_bounds(language)
    if bounds is not None:
        return "a" * bounds[0]
    with Portion(MAX_STATES * 10) as portion:
        return example(language)
    assert portion.is_spent
    return None


def _rest_of_string(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:].encode()


def _chosen(labels: int, required: int) -> list[int]:
    wanted = labels & required
    if wanted:
        return [(wanted & -wanted).bit_length() - 1]
    chosen: list[int] = []
    while labels and len(chosen) < MAX_NAMES:
        index = labels.bit_length() - 1 if len(chosen) == 1 else (labels & -labels).bit_length() - 1
        chosen.append(index)
        labels ^= 1 << index
    return chosen
