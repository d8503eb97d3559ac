"""Languages with counters cut down to what the next few characters can tell apart."""

from __future__ import annotations

from collections.abc import Iterable

from mlx_structured.languages.algebra import (
    concatenation,
    intersection,
    length_between,
    repetition,
    union,
)
from mlx_structured.languages.expression import (
    Concatenation,
    Language,
    Repetition,
    Union,
    conjuncts,
    length_bounds,
)
from mlx_structured.languages.machine import Machine, machine

COUNTED_STATES = 512
"""An automaton with more states isn't counted for :func:`capped`."""


def capped(language: Language, bound: int) -> Language:
    """The same for the next ``bound`` characters, with counters beyond them cut down.

    Both languages have the same words of at most ``bound`` characters, and the same strings of at
    most ``bound`` characters can be completed to a word. States that differ only in large counters
    become the same object.
    """
    stack = [language]
    while stack:
        node = stack[-1]
        missing = [part for part in _counted_parts(node) if _known_cap(part, bound) is None]
        if missing:
            stack += missing
        else:
            if _known_cap(node, bound) is None:
                node.capped[bound] = _make_capped(node, bound)
            stack.pop()
    return _cap(language, bound)


def _known_cap(language: Language, bound: int) -> Language | None:
    if language.counter <= bound:
        return language
    return language.capped.get(bound)


def _cap(language: Language, bound: int) -> Language:
    known = _known_cap(language, bound)
    return language if known is None else known


def _counted_parts(language: Language) -> Iterable[Language]:
    if isinstance(language, Concatenation):
        return language.parts()
    if isinstance(language, Union):
        return language.parts
    return (language.inner,) if isinstance(language, Repetition) else ()


def _make_capped(language: Language, bound: int) -> Language:
    if isinstance(language, Concatenation):
        return concatenation(*(_cap(part, bound) for part in language.parts()))
    if isinstance(language, Union):
        return union(_cap(part, bound) for part in language.parts)
    if isinstance(language, Machine):
        return machine(language.state.capped(bound))
    if isinstance(language, Repetition):
        # Each round takes a character, so no string within the bound is in round bound + 2.
        high = None if language.high is None or language.high > bound else language.high
        return repetition(_cap(language.inner, bound), min(language.low, bound + 1), high)
    return _cap_length(language, bound)


def _cap_length(language: Language, bound: int) -> Language:
    """A length and something else: exact by pumping, for ``states`` states of the something else.

    Where a string can be completed at all, loops of at most ``states`` characters can be left out
    of the completion, or added, until its length is within the bounds.
    """
    parts = conjuncts(language)
    length = next(filter(None, map(length_bounds, parts)), None)
    if length is None:
        return language
    rest = intersection(part for part in parts if length_bounds(part) is None)
    states = _count_states(rest)
    low, high = length
    if states is None or (high is not None and high < max(low, bound) + states):
        return language
    if low == 0:
        return capped(rest, bound)
    return intersection(rest, length_between(min(low, bound + states), None))


def _count_states(language: Language) -> int | None:
    """A bound on the number of derivatives, ``None`` if it is above ``COUNTED_STATES``."""
    number = language.states
    if number is None:
        states = {language: None}
        waiting = [language]
        while waiting and len(states) <= COUNTED_STATES:
            for following in waiting.pop().successors():
                if following not in states:
                    states[following] = None
                    waiting.append(following)
        number = len(states)
        if number > COUNTED_STATES:
            language.states = number
        else:
            for state in states:
                state.states = number
    return number if number <= COUNTED_STATES else None
