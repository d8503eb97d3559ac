"""Patterns with assertions (anchors, lookarounds, word boundaries) as regular languages.

A pattern without assertions is an ordinary expression. One with assertions is read from the left
as a list of what is still to match, a :class:`Frame`. A lookahead is an intersection with what
follows. A lookbehind asks about the text so far, so the languages that lookbehinds ask about go
along as derivatives, the *context*. If such a language itself looks ahead, its words have a mark
where the lookbehind stands (:mod:`~.marks`), and what it asks of the text that follows is again an
intersection. A loop over assertions becomes a :class:`~.expression.Deferred` language, which refers
to itself behind a character; so each assertion is exact wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import TypeAlias

from mlx_structured.languages.algebra import (
    characters,
    complement,
    concatenation,
    intersection,
    union,
    without_epsilon,
)
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.expression import (
    EMPTY,
    EPSILON,
    EVERYTHING,
    Deferred,
    Language,
    interned,
)
from mlx_structured.languages.marks import MARK, after_mark, marked
from mlx_structured.languages.partition import refine

_SERIAL = count()

EAGER_LENGTH = 32
"""Longer lists of items are put off, which also bounds the depth of the recursion."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """One item after the other."""

    items: tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Any of the items."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Loop:
    """``body``, ``low`` to ``high`` times."""

    body: Item
    low: int
    high: int | None


@dataclass(frozen=True)
class NextRound:
    """The rest of a loop, after a round that must have taken a character."""

    loop: Loop


@dataclass(frozen=True, eq=False)
class Ahead:
    """What follows starts with the body (or doesn't)."""

    body: Item
    negative: bool = False


@dataclass(frozen=True, eq=False)
class Behind:
    """The text so far is in ``prefixes`` (or isn't).

    ``is_marked`` tells whether ``prefixes`` is instead of whole texts, with a mark at the position.
    """

    prefixes: Language
    negative: bool = False
    is_marked: bool = False


@dataclass(frozen=True, eq=False)
class WordBoundary:
    """Exactly one of the characters on the two sides is a word character (or not).

    ``before`` holds the texts that end with one, ``after`` those that start with one.
    """

    before: Language
    after: Language
    negative: bool = False


def word_boundary(word: Ranges, *, negative: bool = False) -> WordBoundary:
    """The boundary for these word characters."""
    return WordBoundary(
        concatenation(EVERYTHING, characters(word)),
        concatenation(characters(word), EVERYTHING),
        negative,
    )


@dataclass(frozen=True, eq=False)
class End:
    """Nothing follows."""


Item: TypeAlias = (
    "Language | Sequence | Alternatives | Loop | NextRound | Ahead | Behind | WordBoundary | End"
)


def sequence(items: Iterable[Item]) -> Item:
    """The items in order; neighbours without assertions become one expression."""
    merged: list[Item] = []
    plain: list[Language] = []
    for item in items:
        if isinstance(item, Language):
            plain.append(item)
            continue
        if plain:
            merged.append(concatenation(*plain))
            plain = []
        merged.append(item)
    if plain or not merged:
        merged.append(concatenation(*plain))
    return merged[0] if len(merged) == 1 else Sequence(tuple(merged))


def look_behind(body: Item, *, negative: bool, looks_ahead: bool) -> Behind:
    """A lookbehind.

    Arguments:
        body: what the text so far ends with.
        negative: whether it must not.
        looks_ahead: whether there is an assertion about what follows anywhere in the body.
    """
    around = [MARK, EVERYTHING] if looks_ahead else []
    return Behind(language_of([EVERYTHING, body, *around]), negative, looks_ahead)


def alternatives(items: Iterable[Item]) -> Item:
    """Any of the items; those without assertions become one expression."""
    merged: list[Item] = []
    plain: list[Language] = []
    for item in items:
        if isinstance(item, Language):
            plain.append(item)
        else:
            merged.append(item)
    if plain:
        merged.append(union(plain))
    return merged[0] if len(merged) == 1 else Alternatives(tuple(merged))


class Frame:
    """An item to match, and what comes after it. Interned within its :class:`Frames`.

    ``trackers`` are the prefix languages that assertions from here on ask about. ``is_marked``
    tells whether there is a mark still to come, which assertions then look past.
    """

    __slots__ = ("frames", "is_marked", "item", "length", "loops", "next", "serial", "trackers")

    def __init__(self, frames: Frames, item: Item, following: Frame | None) -> None:
        self.serial = next(_SERIAL)
        self.frames = frames
        self.item = item
        self.next = following
        own = frames.facts(item)
        self.trackers = own.trackers
        self.loops = own.loops
        self.length = own.size
        self.is_marked: bool = item is MARK or (following is not None and following.is_marked)
        if following is not None:
            self.trackers = _merged(own.trackers, following.trackers)
            self.loops = own.loops or following.loops
            self.length = own.size + following.length


@dataclass(frozen=True)
class _Facts:
    trackers: tuple[Language, ...] = ()
    loops: bool = False
    size: int = 1


def _merged(*trackers: tuple[Language, ...]) -> tuple[Language, ...]:
    found = {tracker: None for several in trackers for tracker in several}
    return tuple(sorted(found, key=lambda tracker: tracker.serial))


class Frames:
    """The frames of one pattern."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Item, Frame | None], Frame] = {}
        self._facts: dict[Item, _Facts] = {}
        self.suffixes: dict[tuple[Frame, tuple[Language, ...]], Language] = {}
        self._after_marks: dict[Language, Language] = {}

    def push(self, item: Item, following: Frame | None) -> Frame:
        """The frame of the item before the others."""
        key = (item, following)
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = Frame(self, item, following)
        return found

    def texts_after(self, assertion: Behind, prefix: Language) -> Language:
        """The texts before which a lookbehind holds, given what is left of its language."""
        if not assertion.is_marked:
            return EVERYTHING if prefix.nullable is not assertion.negative else EMPTY
        found = self._after_marks.get(prefix)
        if found is None:
            found = self._after_marks[prefix] = after_mark(prefix)
        return complement(found) if assertion.negative else found

    def facts(self, item: Item) -> _Facts:
        """About the item and all inside of it, bottom up on a stack of its own."""
        stack = [item]
        while stack:
            top = stack[-1]
            missing = [part for part in _inside(top) if part not in self._facts]
            if missing:
                stack += missing
                continue
            stack.pop()
            inside = [self._facts[part] for part in _inside(top)]
            own: tuple[Language, ...] = ()
            if isinstance(top, Behind):
                own = (top.prefixes,)
            elif isinstance(top, WordBoundary):
                own = (top.before,)
            self._facts[top] = _Facts(
                _merged(own, *(facts.trackers for facts in inside)),
                isinstance(top, (Loop, NextRound)) or any(facts.loops for facts in inside),
                1 + sum(facts.size for facts in inside),
            )
        return self._facts[item]


def _inside(item: Item) -> tuple[Item, ...]:
    if isinstance(item, (Sequence, Alternatives)):
        return item.items
    if isinstance(item, (Loop, Ahead)):
        return (item.body,)
    return (item.loop.body,) if isinstance(item, NextRound) else ()


def language_of(items: Iterable[Item]) -> Language:
    """All strings that the items match one after the other, as a whole, from the start."""
    frames = Frames()
    frame: Frame | None = None
    for item in reversed(list(items)):
        frame = frames.push(item, frame)
    return EPSILON if frame is None else _expand(frame, frame.trackers)


@dataclass(frozen=True)
class _Rest:
    """What is left to match in a context: one residual for each of the frame's trackers."""

    frame: Frame
    context: tuple[Language, ...]

    @property
    def nullable(self) -> bool:
        return _accepts_empty(self.frame, dict(zip(self.frame.trackers, self.context, strict=True)))

    def expand(self) -> Language:
        return _expand(self.frame, self.context)


def _accepts_empty(start: Frame, context: dict[Language, Language]) -> bool:
    """Whether the frames match at the end of the text."""
    seen: set[Frame | None] = {start}
    waiting: list[Frame | None] = [start]
    while waiting:
        frame = waiting.pop()
        if frame is None:
            return True
        item, push = frame.item, frame.frames.push
        reached: list[Frame | None] = []
        if isinstance(item, Sequence):
            following = frame.next
            for part in reversed(item.items):
                following = push(part, following)
            reached.append(following)
        elif isinstance(item, Alternatives):
            reached += (push(part, frame.next) for part in item.items)
        elif isinstance(item, Loop) and item.low > 0:
            # At the end of the text one round is as good as many.
            reached.append(push(item.body, frame.next))
        elif _holds_at_end(frame, context):
            reached.append(frame.next)
        for other in reached:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def _holds_at_end(frame: Frame, context: dict[Language, Language]) -> bool:
    item = frame.item
    if isinstance(item, Language):
        return item.nullable
    if isinstance(item, Ahead):
        return _accepts_empty(frame.frames.push(item.body, None), context) is not item.negative
    if isinstance(item, Behind):
        return frame.frames.texts_after(item, context[item.prefixes]).nullable
    if isinstance(item, WordBoundary):
        return context[item.before].nullable is not item.negative
    return True


def _suffix(frame: Frame | None, context: dict[Language, Language]) -> Language:
    """What may follow, once a character was taken."""
    if frame is None:
        return EPSILON
    residuals = tuple(context[tracker] for tracker in frame.trackers)
    known = frame.frames.suffixes
    found = known.get((frame, residuals))
    if found is None:
        if frame.loops or frame.length > EAGER_LENGTH or not _is_settled(residuals):
            found = interned(
                Deferred,
                _Rest(frame, residuals),
                (frame.serial, *(residual.serial for residual in residuals)),
            )
        else:
            found = _expand(frame, residuals)
        known[frame, residuals] = found
    return found


def _is_settled(residuals: tuple[Language, ...]) -> bool:
    """Whether all characters make the same of the context: it is, or was, the start of the text."""
    return all(residual is EMPTY or residual is EPSILON for residual in residuals)


_Key = tuple[Frame | None, frozenset[NextRound]]
"""A frame, and the loops that were entered since the last character: a round that comes to its end
without a character adds nothing."""


def _expand(frame: Frame, residuals: tuple[Language, ...]) -> Language:
    """The language as an expression; bottom up on a stack of its own."""
    context = dict(zip(frame.trackers, residuals, strict=True))
    values: dict[_Key, Language] = {}
    start: _Key = (frame, frozenset())
    stack = [start]
    while stack:
        key = stack[-1]
        needs = _needs(key, context)
        missing = [need for need in needs if need not in values]
        if missing:
            stack += missing
        else:
            values[key] = _combine(key, context, [values[need] for need in needs])
            stack.pop()
    return values[start]


def _needs(key: _Key, context: dict[Language, Language]) -> list[_Key]:
    """The frames that follow without a character, in the order that :func:`_combine` wants."""
    frame, entered = key
    if frame is None:
        return []
    item, push = frame.item, frame.frames.push
    after: _Key = (frame.next, entered)
    if isinstance(item, Language):
        return [after] if item.nullable else []
    if isinstance(item, Sequence):
        following = frame.next
        for part in reversed(item.items):
            following = push(part, following)
        return [(following, entered)]
    if isinstance(item, Alternatives):
        return [(push(part, frame.next), entered) for part in item.items]
    if isinstance(item, Loop):
        high = None if item.high is None else item.high - 1
        if item.low > 0:
            rest = push(Loop(item.body, item.low - 1, high), frame.next)
            return [(push(item.body, rest), entered)]
        if item.high == 0:
            return [after]
        again = NextRound(Loop(item.body, 0, high))
        body = push(item.body, push(again, frame.next))
        return [after, (body, entered | {again})]
    if isinstance(item, NextRound):
        return [] if item in entered else [(push(item.loop, frame.next), entered)]
    if isinstance(item, Ahead):
        body = push(item.body, push(EVERYTHING, None))
        return [after, (body, frozenset())]
    if isinstance(item, Behind):
        fails = frame.frames.texts_after(item, context[item.prefixes]) is EMPTY
        return [] if fails else [after]
    return [after]


def _combine(key: _Key, context: dict[Language, Language], values: list[Language]) -> Language:
    frame = key[0]
    if frame is None:
        return EPSILON
    item = frame.item
    if isinstance(item, Language):
        return _take(item, key, context, values)
    wanted = EVERYTHING
    if isinstance(item, Ahead):
        wanted = complement(values[1]) if item.negative else values[1]
    elif isinstance(item, Behind):
        wanted = frame.frames.texts_after(item, context[item.prefixes])
    elif isinstance(item, WordBoundary):
        other_side = context[item.before].nullable is item.negative
        wanted = item.after if other_side else complement(item.after)
    elif isinstance(item, End):
        wanted = EPSILON
    else:
        return union(values)
    if wanted is EMPTY or wanted is EVERYTHING:
        return EMPTY if wanted is EMPTY else values[0]
    return intersection(values[0], marked(wanted) if frame.is_marked else wanted)


def _take(
    item: Language, key: _Key, context: dict[Language, Language], values: list[Language]
) -> Language:
    """A word of the item and then the rest; the value is that of the rest, if it may be empty."""
    frame, entered = key
    following = None if frame is None else frame.next
    if frame is None or following is None:
        return item
    residuals = {tracker: context[tracker] for tracker in following.trackers}
    if _is_settled(tuple(residuals.values())):
        rest = _suffix(following, dict.fromkeys(residuals, EMPTY))
        if not entered and (not residuals or values == [rest]):
            return concatenation(item, rest)
        return union(concatenation(without_epsilon(item), rest), *values)
    partition = reduce(refine, (residual.partition for residual in residuals.values()))
    choices = list(values)
    partition = refine(item.partition, partition)
    for ranges, character in zip(partition.sets, partition.representatives, strict=True):
        taken = item.derivative(character)
        if taken is not EMPTY:
            moved = {key: value.derivative(character) for key, value in residuals.items()}
            rest_frame = following if taken is EPSILON else frame.frames.push(taken, following)
            choices.append(concatenation(characters(ranges), _suffix(rest_frame, moved)))
    return union(choices)
