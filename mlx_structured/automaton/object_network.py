"""How an object is written: which lexemes follow each other, member by member.

::

    OPEN --{--> COMMA --name or other key--> NAME or OTHER --> COLON --:--> VALUE --,--> COMMA ...
                                                                                  --}--> back

Where there is no choice of whitespace and each key has one spelling, a comma, a name and a colon
are one lexeme, and COMMA and COLON are passed over.

Keys that the schema names are bits. In the declared order the set of keys that can't come any more
is every name up to the last one written; in any order it is the names written. Other keys are
remembered by their text, because none may come twice.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link
from mlx_structured.automaton.names import name_trie
from mlx_structured.automaton.string_lexeme import string_lexeme
from mlx_structured.automaton.utf8 import Machine
from mlx_structured.automaton.written_keys import NO_KEYS, WrittenKeys, unwritten
from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.key_classes import KeyClass
from mlx_structured.json_schema.nodes import ValueSet
from mlx_structured.json_schema.object_progress import KeyWay, Progress
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.json_schema.responsible import responsible_keyword
from mlx_structured.json_schema.string_outcomes import StringOutcomes
from mlx_structured.languages.language import Language

if TYPE_CHECKING:
    from mlx_structured.automaton.grammar import Grammar

OPEN, COMMA, NAME, OTHER, COLON, VALUE = "open", "comma", "name", "other", "colon", "value"

MAX_REMEMBERED = 256


class ObjectState(NamedTuple):
    """A state of an object.

    Arguments:
        phase: what is read.
        progress: how far the object is written.
        others: the other keys written.
        is_uncertain: whether some other key is written that isn't known.
        detail: for OTHER the key's class, unless the lexeme tells it, for COLON the way to go on,
            for VALUE the strings that are told apart, if any.
    """

    phase: str
    progress: Progress
    others: WrittenKeys
    is_uncertain: bool = False
    detail: KeyClass | KeyWay | StringOutcomes | None = None


class NextKeys(NamedTuple):
    """The keys that may come next.

    Arguments:
        names: bits.
        others: without those written, with their class unless the machine tells it.
    """

    names: int
    others: tuple[tuple[KeyClass | None, Machine], ...]


class ObjectNetwork:
    """The objects of one shape.

    Arguments:
        grammar: the grammar.
        shape: which objects.
        position: where the schema asks for them, for messages.
    """

    def __init__(self, grammar: Grammar, shape: ObjectShape, position: ValueSet) -> None:
        self._grammar = grammar
        self._shape = shape
        self._position = position
        self._declared = grammar.style.key_order == "declared"
        self._spelling = grammar.style.spelling
        self._joins_names = grammar.punctuation.is_fixed and self._spelling == "json.dumps"
        self._names = name_trie(shape.names)
        self._all = (1 << len(shape.names)) - 1
        self._judged = 0
        self._possible = 0
        self._next_keys: dict[Progress, NextKeys] = {}

    def begin(self, link: Link) -> Configuration:
        """The configuration before the opening brace; ``link`` goes on after the object."""
        opened = link.child(self, ObjectState(OPEN, self._shape.start, NO_KEYS))
        return opened.configuration(self._grammar.punctuation.open_brace)

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        try:
            return self._follow(link, cast("ObjectState", state), label, captured)
        except LimitExceededError as error:
            error.locate(*responsible_keyword(self._position, "object"))
            raise

    def _follow(
        self, link: Link, at: ObjectState, label: Hashable, captured: Captured
    ) -> list[Configuration]:
        if at.phase == NAME:
            return self._after_name(link, at, cast("int", label))
        if at.phase == OTHER:
            return self._after_other(link, at, label, captured)
        if at.phase == COLON:
            return self._value(link, at, cast("KeyWay", at.detail))
        if at.phase == VALUE:
            return self._after_value(link, at, label)
        if at.phase == OPEN:
            return self._after_open(link, at)
        following = self._following(at.progress)
        named = [] if self._joins_names else self._named(link, at, following, b"")
        return named + self._others(link, at, following)

    def _after_open(self, link: Link, state: ObjectState) -> list[Configuration]:
        punctuation = self._grammar.punctuation
        before = punctuation.first_text(link.depth) if self._joins_names else b""
        follow = self._members(link, state, before, punctuation.first(link.depth))
        if self._shape.may_close(state.progress):
            follow.append(cast("Link", link.parent).configuration(punctuation.close_empty_brace))
        return follow

    def _after_name(self, link: Link, state: ObjectState, index: int) -> list[Configuration]:
        ways = self._shape.after_name(state.progress, index, in_order=self._declared)
        if not self._joins_names:
            return [self._colon(link, state, way) for way in ways]
        return [each for way in ways for each in self._value(link, state, way)]

    def _after_other(
        self, link: Link, state: ObjectState, label: Hashable, captured: Captured
    ) -> list[Configuration]:
        each = cast("KeyClass | None", state.detail)
        if each is None:
            each = self._shape.classes.leaving(cast("Formula", label))
        if isinstance(captured, bytes):
            state = state._replace(others=state.others.with_key(json.loads(captured)))
        else:
            state = state._replace(is_uncertain=True)
        ways = self._shape.after_other(state.progress, each, in_order=self._declared)
        return [self._colon(link, state, way) for way in ways]

    def _colon(self, link: Link, state: ObjectState, way: KeyWay) -> Configuration:
        colon = link.sibling(
            ObjectState(COLON, way.progress, state.others, state.is_uncertain, way)
        )
        return colon.configuration(self._grammar.punctuation.colon)

    def _value(self, link: Link, state: ObjectState, way: KeyWay) -> list[Configuration]:
        value = link.sibling(
            ObjectState(VALUE, way.progress, state.others, state.is_uncertain, way.strings)
        )
        if way.strings is None:
            return self._grammar.begin(way.values, value)
        start = way.strings.start()
        assert start is not None
        return [value.configuration(string_lexeme(start, self._grammar.style.spelling))]

    def _after_value(self, link: Link, state: ObjectState, label: Hashable) -> list[Configuration]:
        if state.detail is not None:
            progress = self._shape.after_string(state.progress, cast("Formula", label))
            state = state._replace(progress=progress, detail=None)
        punctuation = self._grammar.punctuation
        before = punctuation.comma_text(link.depth) if self._joins_names else b""
        follow = self._members(link, state, before, punctuation.comma(link.depth))
        if self._shape.may_close(state.progress):
            close = punctuation.close_brace(link.depth)
            follow.append(cast("Link", link.parent).configuration(close))
        return follow

    def _members(
        self, link: Link, state: ObjectState, before: bytes, separator: LexemeState | None
    ) -> list[Configuration]:
        """How a member begins that comes next.

        Arguments:
            link: the object's.
            state: where it stands.
            before: what stands before a name that is read together with it.
            separator: what stands before any other key, if anything.
        """
        following = self._following(state.progress)
        if separator is None:
            named = self._named(link, state, following, before)
            return named + self._others(link, state, following)
        begun = self._named(link, state, following, before) if self._joins_names else []
        if (following.names and not begun) or any(self._unwritten(state, following)):
            comma = link.sibling(state._replace(phase=COMMA))
            begun.append(comma.configuration(separator))
        return begun

    def _named(
        self, link: Link, state: ObjectState, following: NextKeys, before: bytes
    ) -> list[Configuration]:
        """The names that may come next, if any, with what stands before each."""
        names = following.names
        if not names:
            return []
        named = link.sibling(state._replace(phase=NAME))
        if self._spelling == "any":
            return [named.configuration(string_lexeme(self._names.start(names), "any"))]
        after = self._grammar.punctuation.colon_text if self._joins_names else b""
        return [named.configuration(self._names.keys(names, before, after))]

    def _others(self, link: Link, state: ObjectState, following: NextKeys) -> list[Configuration]:
        """The other keys that may come next."""
        return [
            link.sibling(state._replace(phase=OTHER, detail=each)).configuration(
                string_lexeme(machine, self._spelling)
            )
            for each, machine in self._unwritten(state, following)
        ]

    def _following(self, progress: Progress) -> NextKeys:
        """The keys that may come next, but for those written; asked before the comma and after."""
        found = self._next_keys.get(progress)
        if found is None:
            if len(self._next_keys) >= MAX_REMEMBERED:
                self._next_keys.clear()
            names = self._allowed_names(progress)
            found = self._next_keys[progress] = NextKeys(names, tuple(self._other_keys(progress)))
        return found

    @staticmethod
    def _unwritten(
        state: ObjectState, following: NextKeys
    ) -> Iterator[tuple[KeyClass | None, Machine]]:
        for each, machine in following.others:
            rest = unwritten(machine, state.others)
            if rest is not None:
                yield each, rest

    def _allowed_names(self, progress: Progress) -> int:
        """The names that may come next, as bits."""
        candidates = self._all & ~progress.passed
        required = self._shape.required & self._shape.ordered & candidates
        if self._declared and required:
            next_required = required & -required
            candidates &= (next_required << 1) - 1
        allowed = candidates & self._nonempty(candidates)
        if self._shape.is_settled(progress):
            return allowed
        for index in range(allowed.bit_length()):
            if allowed >> index & 1 and not self._shape.after_name(
                progress, index, in_order=self._declared
            ):
                allowed ^= 1 << index
        return allowed

    def required_after(self, state: Hashable) -> int:
        """The names that must be written, as bits, without those written."""
        return self._shape.required & ~cast("ObjectState", state).progress.passed

    def _nonempty(self, names: int) -> int:
        """Those of the names under which a value may stand (at least these are judged)."""
        unjudged = names & ~self._judged
        while unjudged:
            bit = unjudged & -unjudged
            unjudged ^= bit
            name = self._shape.names[bit.bit_length() - 1]
            if self._grammar.form.is_nonempty(self._shape.values(name)):
                self._possible |= bit
        self._judged |= names
        return self._possible

    def _other_keys(self, progress: Progress) -> Iterator[tuple[KeyClass | None, Machine]]:
        """The classes of other keys that may come next."""
        required = self._shape.required & self._shape.ordered
        if self._declared and required & ~progress.passed:
            return
        for each, keys in self._shape.other_keys(progress, in_order=self._declared):
            if isinstance(keys, Language):
                yield each, keys
            else:
                start = keys.start()
                assert start is not None
                yield each, start

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        return self._grammar.responsible(lexeme, self._position, "object")

    def captures(self, state: Hashable) -> bool:
        """While a key is read that the schema doesn't name."""
        return cast("ObjectState", state).phase == OTHER

    def is_final(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_uncertain(self, state: Hashable) -> bool:
        """Where an unknown key may come again."""
        at = cast("ObjectState", state)
        return at.phase == OTHER and at.is_uncertain
