"""Constructors of regular languages, and the rules for their derivatives.

Constructors simplify, so that equal languages are mostly the same object, though not always: two
objects may hold the same words. Besides the laws of Brzozowski's similarity (a union is a set) they
join what would multiply states: words into sets of words, overlapping counters, lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from mlx_structured.languages import characters as sets
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.expression import (
    ANY_CHARACTER,
    EMPTY,
    EPSILON,
    EVERYTHING,
    Characters,
    Complement,
    Concatenation,
    Deferred,
    Intersection,
    Language,
    Literals,
    Repetition,
    Union,
    bound_sum,
    derive,
    interned,
    length_bounds,
)
from mlx_structured.languages.membership import is_string, matches
from mlx_structured.languages.shapes import (
    SMALL_CLASS,
    counter_views,
    counts,
    drop_tails,
    excluded_words,
    joined_counts,
    least,
    single_word,
)

LITERAL_CHUNK = 256
"""Longer words are walked in pieces, so that their suffixes don't take quadratic space."""


def character_set(ranges: Ranges) -> Language:
    """One character out of a normalised set."""
    return interned(Characters, ranges, ranges)


def word_set(words: frozenset[str]) -> Language:
    """Words without surrogates."""
    if all(len(word) == 1 for word in words):
        return character_set(sets.of("".join(words)))
    return interned(Literals, words, words)


def characters(ranges: Iterable[tuple[int, int]]) -> Language:
    """One character in any of the ranges ``(low, high)`` of code points, ends included."""
    return character_set(sets.normalise(ranges))


def literals(words: Iterable[str]) -> Language:
    """Exactly these words. One that holds a surrogate is no string, and is left out."""
    return word_set(frozenset(word for word in words if is_string(word)))


def repetition(language: Language, low: int, high: int | None) -> Language:
    """The language ``low`` to ``high`` times in a row; ``None`` is without an upper bound."""
    if low < 0 or (high is not None and high < low):
        raise ValueError(f"no number of repetitions is from {low} to {high}")
    if (low, high) == (1, 1):
        return language
    if language.nullable:
        low = 0
        language = _without_epsilon(language)
    if high == 0 or language is EPSILON:
        return EPSILON
    if language is EMPTY:
        return EPSILON if low == 0 else EMPTY
    if (low, high) == (0, 1) and language is not ANY_CHARACTER:
        return union(EPSILON, language)
    if isinstance(language, Repetition) and (
        language.low == 0 or (language.low == 1 and language.high is None)
    ):
        # (X+){2,5} is X{2,}; (X{0,3}){0,5} is X{0,15}.
        high = None if high is None or language.high is None else high * language.high
        return _repeated(language.inner, low, high)
    return _repeated(language, low, high)


def _repeated(inner: Language, low: int, high: int | None) -> Language:
    return interned(Repetition, (inner, low, high), (inner.serial, low, high))


def _without_epsilon(language: Language) -> Language:
    """Without the empty string where that is easy to see, else the language itself."""
    if isinstance(language, Literals):
        return word_set(language.words - {""})
    if isinstance(language, Union) and EPSILON in language.parts:
        return union(part for part in language.parts if part is not EPSILON)
    return language


def without_epsilon(language: Language) -> Language:
    """The words that have a character."""
    if not language.nullable:
        return language
    shorter = _without_epsilon(language)
    if isinstance(shorter, Repetition) and not shorter.inner.nullable:
        shorter = repetition(shorter.inner, 1, shorter.high)
    return intersection(shorter, length_between(1, None)) if shorter.nullable else shorter


def length_between(low: int, high: int | None) -> Language:
    """All strings of ``low`` to ``high`` characters."""
    return repetition(ANY_CHARACTER, low, high)


def concatenation(*parts: Language) -> Language:
    """A word of each part, one after the other."""
    result = EPSILON
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, Concatenation) and result is not EPSILON:
            waiting += (part.head, part.tail)
        else:
            result = _prepend(part, result)
    return result


def _prepend(head: Language, tail: Language) -> Language:
    while True:
        if head is EMPTY or tail is EMPTY:
            return EMPTY
        if head is EPSILON:
            return tail
        if tail is EPSILON:
            return head
        if tail is EVERYTHING and head.nullable:
            return EVERYTHING
        following, rest = (
            (tail.head, tail.tail) if isinstance(tail, Concatenation) else (tail, EPSILON)
        )
        joined = _joined(head, following)
        if joined is None:
            return interned(Concatenation, (head, tail), (head.serial, tail.serial))
        head, tail = joined, rest


def _joined(left: Language, right: Language) -> Language | None:
    """The concatenation where that is a word or a repetition, else ``None``."""
    first, second = single_word(left), single_word(right)
    if first is not None and second is not None:
        if len(first) + len(second) > LITERAL_CHUNK:
            return None
        return word_set(frozenset([first + second]))
    inner, low, high = counts(left)
    other, more, most = counts(right)
    if inner is not other:
        return None
    return repetition(inner, low + more, bound_sum(high, most))


def union(*parts: Language | Iterable[Language]) -> Language:
    """Any of the parts; each is a language or several."""
    given = dict.fromkeys(_listed(parts))
    given.pop(EMPTY, None)
    if len(given) <= 1:
        return next(iter(given), EMPTY)
    words: set[str] = set()
    ranges: list[tuple[int, int]] = []
    forbidden: frozenset[str] | None = None
    others: dict[Language, None] = {}
    for part in _flattened(given, Union):
        if part is EVERYTHING:
            return EVERYTHING
        excluded = excluded_words(part)
        if excluded is not None:
            forbidden = excluded if forbidden is None else forbidden & excluded
        elif isinstance(part, Literals):
            words |= part.words
        elif isinstance(part, Characters):
            ranges += part.ranges
        else:
            others[part] = None
    charset = sets.normalise(ranges)
    if forbidden is not None:
        forbidden -= words
        remaining = word_set(
            frozenset(
                word
                for word in forbidden
                if not (len(word) == 1 and sets.contains(charset, ord(word)))
            )
        )
        if remaining is EMPTY:
            return EVERYTHING
        others[complement(remaining)] = None
        words = set()
        charset = sets.NONE
    if charset == sets.ALL:
        others[ANY_CHARACTER] = None
        charset = sets.NONE
    _merge_concatenations(others)
    _merge_counters(others)
    drop_tails(others)
    if EVERYTHING in others or any(
        isinstance(part, Complement) and part.inner in others for part in others
    ):
        return EVERYTHING
    if "" in words:
        _admit_epsilon(others)
    if any(part.nullable for part in others):
        words.discard("")
    _place_characters(words, charset, others)
    if not others:
        return EMPTY
    if len(others) == 1:
        return next(iter(others))
    return _interned_set(Union, others)


def _admit_epsilon(parts: dict[Language, None]) -> None:
    """A repetition of one and more takes the empty string in."""
    for part in list(parts):
        inner, low, high = counts(part)
        if low == 1 and (part is ANY_CHARACTER or inner is not part):
            del parts[part]
            parts[repetition(inner, 0, high)] = None


def _interned_set(
    kind: Callable[[tuple[Language, ...]], Language], parts: Iterable[Language]
) -> Language:
    ordered = tuple(sorted(parts, key=_serial))
    return interned(kind, ordered, tuple(map(_serial, ordered)))


def _serial(language: Language) -> int:
    return language.serial


def _listed(parts: Iterable[Language | Iterable[Language]]) -> Iterator[Language]:
    for part in parts:
        if isinstance(part, Language):
            yield part
        else:
            yield from part


def _flattened(
    parts: Iterable[Language], kind: type[Union] | type[Intersection]
) -> Iterator[Language]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def _place_characters(words: set[str], charset: Ranges, others: dict[Language, None]) -> None:
    """Single characters go to the words if they are few, and the other way round if many."""
    if words and charset:
        if sets.size(charset) <= SMALL_CLASS:
            words |= {chr(point) for low, high in charset for point in range(low, high + 1)}
            charset = sets.NONE
        else:
            short = {word for word in words if len(word) == 1}
            words -= short
            charset = sets.union(charset, sets.of("".join(short)))
    for part in (word_set(frozenset(words)), character_set(charset)):
        if part is not EMPTY:
            others[part] = None


def _merge_concatenations(parts: dict[Language, None]) -> None:
    """Join the concatenations that end alike: ``xT`` and ``yT`` are ``(x or y)T``."""
    by_tail: dict[Language, list[Concatenation]] = {}
    for part in parts:
        if isinstance(part, Concatenation):
            by_tail.setdefault(part.tail, []).append(part)
    for tail, group in by_tail.items():
        if len(group) > 1:
            joined = concatenation(union(part.head for part in group), tail)
            for part in group:
                del parts[part]
            for part in joined.parts if isinstance(joined, Union) else (joined,):
                parts[part] = None


def _merge_counters(parts: dict[Language, None]) -> None:
    """Join repetitions of one language whose counts overlap, with the same before and after."""
    groups: dict[tuple[Language | None, Language, Language], list[tuple[int, int | None]]] = {}
    members: dict[tuple[Language | None, Language, Language], list[Language]] = {}
    for part in parts:
        for key, bounds in counter_views(part):
            groups.setdefault(key, []).append(bounds)
            members.setdefault(key, []).append(part)
    for key, group in groups.items():
        if len(group) < 2 or any(part not in parts for part in members[key]):
            continue
        before, inner, after = key
        merged = joined_counts(group)
        if len(merged) == len(group):
            continue
        for part in members[key]:
            del parts[part]
        for low, high in merged:
            counted = concatenation(repetition(inner, low, high), after)
            parts[counted if before is None else concatenation(before, counted)] = None


def intersection(*parts: Language | Iterable[Language]) -> Language:
    """What is in all of the parts; each is a language or several."""
    low, high = 0, cast("int | None", None)
    words: frozenset[str] | None = None
    charset: Ranges | None = None
    excluded: set[str] = set()
    others: dict[Language, None] = {}
    for part in _flattened(_listed(parts), Intersection):
        if part is EMPTY:
            return EMPTY
        bounds = length_bounds(part)
        without = excluded_words(part)
        if bounds is not None:
            low = max(low, bounds[0])
            high = least(high, bounds[1])
        elif without is not None:
            excluded |= without
        elif isinstance(part, Characters):
            charset = part.ranges if charset is None else sets.intersection(charset, part.ranges)
        elif isinstance(part, Literals):
            words = part.words if words is None else words & part.words
        else:
            others[part] = None
    shortest = max((low, *(part.shortest for part in others)))
    longest: int | None = None
    for part in others:
        longest = least(longest, part.longest)
    # A bound that the other parts imply goes, so that equal languages look equal.
    if any(low <= part.shortest for part in others):
        low = 0
    if longest is not None and (high is None or longest <= high):
        high = None
    else:
        longest = high

    def fits(word: str) -> bool:
        return shortest <= len(word) and (longest is None or len(word) <= longest)

    if words is not None:
        return word_set(
            frozenset(
                word
                for word in words
                if fits(word)
                and word not in excluded
                and (charset is None or (len(word) == 1 and sets.contains(charset, ord(word))))
                and all(matches(part, word) for part in others)
            )
        )
    if charset is not None:
        if not fits("x"):
            return EMPTY
        charset = sets.difference(charset, sets.of("".join(w for w in excluded if len(w) == 1)))
        return character_set(sets.intersection(charset, *map(_characters_of, others)))
    if longest is not None and shortest > longest:
        return EMPTY
    excluded = set(filter(fits, excluded))
    if excluded:
        others[complement(word_set(frozenset(excluded)))] = None
    if any(isinstance(part, Complement) and part.inner in others for part in others):
        return EMPTY
    if (low, high) != (0, None):
        others[length_between(low, high)] = None
    if not others:
        return EVERYTHING
    if len(others) == 1:
        return next(iter(others))
    for part in others:
        if part.cyclic and isinstance(part, Union):
            # Only as a union of intersections do the derivatives of a cycle stay finitely many.
            del others[part]
            return union(intersection(choice, others) for choice in part.parts)
    return _interned_set(Intersection, others)


def _characters_of(language: Language) -> Ranges:
    """The words of one character."""
    partition = language.partition
    return sets.union(
        *(
            ranges
            for ranges, character in zip(partition.sets, partition.representatives, strict=True)
            if language.derivative(character).nullable
        )
    )


def complement(language: Language) -> Language:
    """All strings that aren't in the language."""
    if isinstance(language, Complement):
        return language.inner
    if language is EMPTY:
        return EVERYTHING
    if language is EVERYTHING:
        return EMPTY
    low, high = (0, 0) if language is EPSILON else length_bounds(language) or (1, 1)
    if low == 0 and high is not None:
        return length_between(high + 1, None)
    if low > 0 and high is None:
        return length_between(0, low - 1)
    return interned(Complement, language, language.serial)


@derive.register
def _(language: Characters, character: int) -> Language:
    return EPSILON if sets.contains(language.ranges, character) else EMPTY


@derive.register
def _(language: Literals, character: int) -> Language:
    rests: dict[str, list[str]] = {}
    for word in language.words:
        if word:
            rests.setdefault(word[0], []).append(word)
    # All at once: a pass over the words for each first letter would be quadratic.
    for first, words in rests.items():
        language.store_derivative(ord(first), _rests(words))
    return language.cached_derivative(character) or EMPTY


def _rests(words: list[str]) -> Language:
    """The words without their first character."""
    word = words[0]
    if len(words) == 1 and len(word) > LITERAL_CHUNK:
        cut = len(word) - (len(word) - 1) // LITERAL_CHUNK * LITERAL_CHUNK
        pieces = (frozenset([word[1:cut]]), frozenset([word[cut:]]))
        return concatenation(*map(word_set, pieces))
    return word_set(frozenset(word[1:] for word in words))


@derive.register
def _(language: Concatenation, character: int) -> Language:
    alternatives: list[Language] = []
    rest: Language = language
    while isinstance(rest, Concatenation):
        alternatives.append(concatenation(rest.head.derivative(character), rest.tail))
        if not rest.head.nullable:
            return union(alternatives)
        rest = rest.tail
    return union(*alternatives, rest.derivative(character))


@derive.register
def _(language: Union, character: int) -> Language:
    return union(part.derivative(character) for part in language.parts)


@derive.register
def _(language: Intersection, character: int) -> Language:
    return intersection(part.derivative(character) for part in language.parts)


@derive.register
def _(language: Complement, character: int) -> Language:
    return complement(language.inner.derivative(character))


@derive.register
def _(language: Repetition, character: int) -> Language:
    high = None if language.high is None else language.high - 1
    return concatenation(
        language.inner.derivative(character),
        repetition(language.inner, max(language.low - 1, 0), high),
    )


@derive.register
def _(language: Deferred, character: int) -> Language:
    return language.expression.derivative(character)
