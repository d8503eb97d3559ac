"""Questions about regular languages: is one empty, finite, part of another, and what is in it.

All of them walk the derivatives, which are states of a deterministic automaton, only as far as the
answer needs it, and keep what they find on the expression itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import (
    characters,
    complement,
    concatenation,
    intersection,
    length_between,
    literals,
    repetition,
    union,
)
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.counters import capped
from mlx_structured.languages.emptiness import example, is_empty, later_in_class
from mlx_structured.languages.expression import (
    ANY_CHARACTER,
    EMPTY,
    EPSILON,
    EVERYTHING,
    Language,
    Literals,
)
from mlx_structured.languages.membership import is_string, matches
from mlx_structured.limits import charge

__all__ = [
    "ANY_CHARACTER",
    "EMPTY",
    "EPSILON",
    "EVERYTHING",
    "Language",
    "capped",
    "characters",
    "complement",
    "concatenation",
    "example",
    "intersection",
    "is_empty",
    "is_equivalent",
    "is_known_rest",
    "is_string",
    "is_subset",
    "length_between",
    "literals",
    "matches",
    "repetition",
    "sample",
    "union",
    "words",
]


def is_subset(language: Language, other: Language) -> bool:
    """Whether every word of the first language is in the second."""
    return is_empty(intersection(language, complement(other)))


def is_equivalent(language: Language, other: Language) -> bool:
    """Whether the two languages have the same words."""
    return language is other or (is_subset(language, other) and is_subset(other, language))


def words(language: Language, limit: int) -> list[str] | None:
    """All words, sorted, or ``None`` if there are more than ``limit``.

    Raises:
        LimitExceededError: as :func:`is_empty`.
    """
    if is_empty(language):
        return []
    if not _has_at_most(language, limit):
        return None
    found: list[str] = []
    waiting = [("", language)]
    while waiting:
        text, state = waiting.pop()
        if isinstance(state, Literals):
            found += (text + word for word in state.words)
            continue
        if state.nullable:
            found.append(text)
        for ranges, following in _all_transitions(state):
            if not is_empty(following):
                waiting += (
                    (text + chr(point), following)
                    for low, high in ranges
                    for point in range(low, high + 1)
                )
    return sorted(found)


def _all_transitions(language: Language) -> Iterator[tuple[Ranges, Language]]:
    """As ``transitions``, with all characters that are remembered, each by itself."""
    yield from language.transitions()
    for number in language.partition.remembered:
        for character in later_in_class(language, number):
            charge()
            yield ((character, character),), language.derivative(character)


def _has_at_most(language: Language, limit: int) -> bool:
    """Whether there are at most so many words, by the number of words from each state."""
    numbers: dict[Language, int] = {}
    choices: dict[Language, list[tuple[int, Language]]] = {}
    stack = [language]
    while stack:
        state = stack[-1]
        if state in numbers:
            stack.pop()
        elif isinstance(state, Literals):
            numbers[state] = len(state.words)
        elif state in choices:
            numbers[state] = state.nullable + sum(
                size * numbers[following] for size, following in choices[state]
            )
        else:
            if _remembers_more(state, limit):
                return False
            choices[state] = [
                (sets.size(ranges), following)
                for ranges, following in _all_transitions(state)
                if not is_empty(following)
            ]
            charge()
            for _, following in choices[state]:
                if following in choices and following not in numbers:
                    # What is open lies on the way here: a cycle, so there is no end of words.
                    return False
                stack.append(following)
        if numbers.get(state, 0) > limit:
            return False
    return True


def _remembers_more(language: Language, limit: int) -> bool:
    """Whether more characters than that may come, each of which is remembered."""
    partition = language.partition
    return any(
        sets.size(partition.sets[number]) > limit
        and not is_empty(language.derivative(partition.representatives[number]))
        for number in partition.remembered
    )


def is_known_rest(language: Language, of: Language) -> bool:
    """Whether the language was found to be left of another one after some characters."""
    seen = {of}
    stack = [of]
    while stack:
        each = stack.pop()
        if each is language:
            return True
        new = each.known_derivatives() - seen
        seen |= new
        stack += new
    return False


def sample(language: Language, rng: Random, length: int = 12) -> str:
    """A random word, ended as soon as it can be once it has ``length`` characters.

    Raises:
        ValueError: if the language is empty.
    """
    text: list[str] = []
    while True:
        if language.nullable and (len(text) >= length or rng.random() < 0.2):
            return "".join(text)
        if len(text) >= length:
            return "".join(text) + example(language)
        options = [option for option in language.transitions() if not is_empty(option[1])]
        if not options:
            return "".join(text) + example(language)
        ranges, language = rng.choice(options)
        printable = sets.intersection(ranges, ((0x20, 0x7E),))
        low, high = rng.choice(printable if printable and rng.random() < 0.8 else ranges)
        text.append(chr(rng.randint(low, high)))
