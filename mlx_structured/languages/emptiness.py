"""Whether a language has a word, and which one is the shortest: searches over its derivatives."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count, islice
from weakref import WeakKeyDictionary

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import intersection
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.cover import cover
from mlx_structured.languages.expression import (
    EMPTY,
    EVERYTHING,
    Complement,
    Concatenation,
    Intersection,
    Language,
    Literals,
    Repetition,
    Union,
    conjuncts,
    length_bounds,
)
from mlx_structured.limits import charge

HINTED_STEPS = 512
"""So far a machine's hints are followed before all ways are tried."""


PATIENCE = 64
"""So many states are looked at before a language is compared with a wider one without machines."""

TRIED_AT_ONCE = 16
"""Characters that are remembered: so many are tried before what follows them is."""


def is_empty(language: Language) -> bool:
    """Whether the language has no word.

    Raises:
        LimitExceededError: if more states had to be looked at than the active budget has left.
    """
    if language.empty is None:
        stack = [_decide(language)]
        while stack:
            # Questions that depend on others wait on this stack: nesting costs no recursion.
            question = next(stack[-1], None)
            if question is None:
                stack.pop()
            elif question.empty is None:
                stack.append(_decide(question))
    return bool(language.empty)


def _decide(language: Language) -> Generator[Language, None, None]:
    """Find ``language.empty``; yields the languages that have to be decided before going on."""
    if isinstance(language, Concatenation):
        for part in language.parts():
            yield part
            if part.empty:
                language.empty = True
                return
        language.empty = False
    elif isinstance(language, Union):
        for part in sorted(language.parts, key=lambda part: part.empty is None):
            yield part
            if not part.empty:
                language.empty = False
                return
        language.empty = True
    elif isinstance(language, Repetition):
        yield language.inner
        language.empty = language.inner.empty
    else:
        length = next(filter(None, map(length_bounds, conjuncts(language))), None)
        if length is None or language.irregular:
            yield from _search(language)
        else:
            rest = intersection(part for part in conjuncts(language) if length_bounds(part) is None)
            yield from _search_length(language, rest, *length)


def _search(language: Language) -> Generator[Language, None, None]:
    """Best first over the derivatives: where the shortest word may be shortest."""
    serial = count()
    cause: dict[Language, Language | None] = {language: None}
    queue: list[tuple[int, int, Language]] = [(0, next(serial), language)]
    patience = PATIENCE if language.irregular else -1
    remembering: list[tuple[Language, Iterator[int]]] = []
    while queue or remembering:
        if len(cause) > patience >= 0:
            patience = -1
            wider = cover(language)
            if wider is not None:
                yield wider
                if wider.empty:
                    break
        if queue:
            state = heapq.heappop(queue)[2]
            ways = _hinted(state)
            tried: Iterable[int] = _ends_of_classes(state)
            if state.partition.remembered:
                remembering.append((state, _other_remembered(state)))
        else:
            state, others = remembering[-1]
            ways = iter(())
            tried = list(islice(others, TRIED_AT_ONCE))
            if not tried:
                remembering.pop()
        for previous, _, hinted in ways:
            if hinted.empty is False:
                cause.setdefault(hinted, previous)
                ancestor: Language | None = previous
                while ancestor is not None:
                    ancestor.empty = False
                    ancestor = cause[ancestor]
                return
            if hinted.empty is None and hinted not in cause and _is_searched(hinted):
                cause[hinted] = previous
                heapq.heappush(queue, (hinted.shortest, next(serial), hinted))
            elif hinted not in cause:
                break
        for character in tried:
            following = state.derivative(character)
            if following is EMPTY or following in cause:
                continue
            if following.empty is None and not _is_searched(following):
                yield following
            if following.empty is False:
                ancestor = state
                while ancestor is not None:
                    ancestor.empty = False
                    ancestor = cause[ancestor]
                return
            if following.empty is None:
                cause[following] = state
                heapq.heappush(queue, (following.shortest, next(serial), following))
                charge()
    for state in cause:
        state.empty = True


def _ends_of_classes(language: Language) -> Iterator[int]:
    """A character of each class: the one with most after it, where a complement may turn that."""
    partition = language.partition
    yield from partition.representatives
    for number in partition.ordered:
        yield partition.sets[number][-1][1]


def _other_remembered(language: Language) -> Iterator[int]:
    """The characters whose derivatives nothing is known about by those of others."""
    partition = language.partition
    for number in partition.remembered - partition.ordered:
        yield from later_in_class(language, number)


def later_in_class(language: Language, number: int) -> Iterator[int]:
    """All but the first character of a class, if any may come."""
    first = language.partition.representatives[number]
    if language.derivative(first) is not EMPTY:
        for low, high in language.partition.sets[number]:
            yield from range(max(low, first + 1), high + 1)


def _hinted(language: Language) -> Iterator[tuple[Language, int, Language]]:
    """Ways to try first: states, each with the character and the state after it.

    First a word of what else is asked for, then what a machine hints at.
    """
    if not language.irregular:
        return
    if isinstance(language, Intersection):
        common = [part.common_words() for part in language.parts if part.irregular]
        if all(common):
            regular = [part for part in language.parts if not part.irregular]
            word = _common_word((*regular, *filter(None, common)))
            yield from _steps(language, word)
        yield from _steps(language, _word(x for x in language.parts if not x.irregular))
    for _ in range(HINTED_STEPS):
        hint = language.hint()
        if not hint:
            return
        for character in map(ord, hint):
            following = language.derivative(character)
            if following is EMPTY:
                return
            yield language, character, following
            language = following


def _steps(language: Language, text: str) -> Iterator[tuple[Language, int, Language]]:
    for character in map(ord, text):
        following = language.derivative(character)
        if following is EMPTY:
            return
        yield language, character, following
        language = following


def _word(parts: Iterable[Language]) -> str:
    """A word of all of them, empty if there is none."""
    language = intersection(parts)
    known = _words.get(language)
    if known is None:
        known = _words[language] = "" if is_empty(language) else example(language)
    return known


@lru_cache(maxsize=256)
def _common_word(parts: tuple[Language, ...]) -> str:
    """As :func:`_word`; many states of a machine ask for the same."""
    return _word(parts)


_words: WeakKeyDictionary[Language, str] = WeakKeyDictionary()


def _is_searched(language: Language) -> bool:
    """Whether it belongs to the same search: its parts don't decide it, or may lead back here."""
    return language.cyclic or (
        isinstance(language, (Intersection, Complement))
        and (language.irregular or not any(map(length_bounds, conjuncts(language))))
    )


def _search_length(
    language: Language, rest: Language, low: int, high: int | None
) -> Generator[Language, None, None]:
    """Whether ``rest`` has a word of ``low`` to ``high`` characters.

    Follows the set of states that so many characters can lead to; once the set repeats, whole
    rounds are skipped. That looks at each state of ``rest`` once, whatever the bounds are.
    """
    if rest.plain and any(
        bound is not None and low <= bound and (high is None or bound <= high)
        for bound in (rest.shortest, rest.longest)
    ):
        language.empty = False
        return
    followers: dict[Language, frozenset[Language]] = {}
    seen: dict[frozenset[Language], int] = {}
    states = frozenset([rest])
    length = 0
    last = high
    repeating = False
    while states and (last is None or length <= last):
        if length >= low and any(state.nullable for state in states):
            language.empty = False
            return
        if high is None and length >= low:
            for state in states:
                if not state.cyclic:
                    yield state
                elif state.empty is None:
                    yield from _search(state)
                if not state.empty:
                    language.empty = False
                    return
            break
        if EVERYTHING in states:
            language.empty = False
            return
        if not repeating and states in seen:
            repeating = True
            period = length - seen[states]
            if length < low:
                length += (low - length) // period * period
            last = max(length, low) + period
            last = last if high is None else min(last, high)
            continue
        seen[states] = length
        charge(1 + len(states) // 32, 100 + 40 * len(states))
        for state in states:
            if state not in followers:
                followers[state] = frozenset(state.successors())
        states = frozenset().union(*(followers[state] for state in states))
        length += 1
    language.empty = True


_PREFERRED: Ranges = (
    (0x61, 0x7A),
    (0x41, 0x5A),
    (0x30, 0x39),
    (0x21, 0x7E),
    (0x20, 0x20),
    (0xA1, sets.MAX),
    (0x00, sets.MAX),
)


def _plainest(ranges: Ranges) -> tuple[int, int]:
    """The character that reads best, with its rank (0 is best)."""
    for rank, (first, last) in enumerate(_PREFERRED):
        for low, high in ranges:
            if low <= last and high >= first:
                return rank, max(low, first)
    raise ValueError("an empty set of characters has no example")


def _plainest_word(words: Iterable[str]) -> str:
    """A shortest word, and among these the one that reads best."""
    return min(
        words,
        key=lambda word: (len(word), [_plainest(sets.single(character)) for character in word]),
    )


def example(language: Language) -> str:
    """A shortest word, of printable ASCII where possible; a short one where machines take part.

    Raises:
        ValueError: if the language is empty.
        LimitExceededError: as :func:`is_empty`.
    """
    if is_empty(language):
        raise ValueError("an empty language has no example")
    serial = count()
    cause: dict[Language, tuple[Language, int] | None] = {language: None}
    queue = [(language.shortest, language.shortest, next(serial), 0, language)]
    while queue:
        _, _, _, length, state = heapq.heappop(queue)
        if isinstance(state, Literals) or state.nullable:
            return _text(cause, state)
        for ahead, (previous, character, hinted) in enumerate(_hinted(state), length + 1):
            if hinted in cause:
                break
            cause[hinted] = (previous, character)
            if hinted.nullable:
                return _text(cause, hinted)
            least = hinted.shortest
            heapq.heappush(queue, (ahead + least, least, next(serial), ahead, hinted))
        ranked = sorted(
            ((_plainest(ranges), following) for ranges, following in state.transitions()),
            key=lambda pair: pair[0],
        )
        for (_, character), following in ranked:
            if following not in cause and following.empty is not True:
                cause[following] = (state, character)
                least = following.shortest
                entry = (length + 1 + least, least, next(serial), length + 1, following)
                heapq.heappush(queue, entry)
                charge()
    raise AssertionError("a language that isn't empty has a word")


def _text(cause: Mapping[Language, tuple[Language, int] | None], state: Language) -> str:
    """The way to a state, and a word of it."""
    text = [_plainest_word(state.words) if isinstance(state, Literals) else ""]
    step = cause[state]
    while step is not None:
        text.append(chr(step[1]))
        step = cause[step[0]]
    return "".join(reversed(text))
