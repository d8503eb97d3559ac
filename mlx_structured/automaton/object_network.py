"""How an object is written: which lexemes follow each other, member by member.

::

    OPEN --{--> COMMA --name or other key--> KEY --> COLON --:--> VALUE --,--> COMMA ... --}--> back

Keys that the schema names are bits. In the declared order the set of keys that can't come any more
is every name up to the last one written; in any order it is the names written. Other keys are
remembered by their text, because none may come twice.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link, Unknown
from mlx_structured.automaton.names import name_trie
from mlx_structured.automaton.string_lexeme import string_lexeme
from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.nodes import ValueSet
from mlx_structured.json_schema.object_shape import KeyWay, ObjectShape, Progress
from mlx_structured.json_schema.responsible import responsible_keyword
from mlx_structured.languages.language import Language, complement, intersection, is_empty, literals

if TYPE_CHECKING:
    from mlx_structured.automaton.grammar import Grammar

OPEN, COMMA, NAME, OTHER, COLON, VALUE = "open", "comma", "name", "other", "colon", "value"

OtherKey = str | Unknown


class ObjectState(NamedTuple):
    """A state of an object.

    Arguments:
        phase: what is read.
        progress: how far the object is written.
        others: the other keys written.
        detail: for OTHER the index of the key's class, for COLON what must hold of the value.
    """

    phase: str
    progress: Progress
    others: frozenset[OtherKey]
    detail: int | ValueSet | None = None


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
        self._all = (1 << len(shape.names)) - 1
        self._judged = 0
        self._possible = 0

    def begin(self, link: Link) -> Configuration:
        """The configuration before the opening brace; ``link`` goes on after the object."""
        opened = link.child(self, ObjectState(OPEN, self._shape.start, frozenset()))
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
            return self._after_other(link, at, captured)
        if at.phase == COLON:
            return self._after_colon(link, at)
        if at.phase == VALUE:
            return self._after_value(link, at)
        return self._after_open(link, at) if at.phase == OPEN else self._keys(link, at)

    def _after_open(self, link: Link, state: ObjectState) -> list[Configuration]:
        punctuation = self._grammar.punctuation
        keys = self._keys(link, state)
        first = punctuation.first(link.depth)
        if first is not None and keys:
            keys = [link.sibling(state._replace(phase=COMMA)).configuration(first)]
        if self._shape.may_close(state.progress):
            keys.append(cast("Link", link.parent).configuration(punctuation.close_empty_brace))
        return keys

    def _after_name(self, link: Link, state: ObjectState, index: int) -> list[Configuration]:
        ways = self._shape.after_name(state.progress, index, in_order=self._declared)
        return [self._colon(link, way, state.others) for way in ways]

    def _after_other(
        self, link: Link, state: ObjectState, captured: Captured
    ) -> list[Configuration]:
        key: OtherKey = json.loads(captured) if isinstance(captured, bytes) else Unknown.TEXT
        index = cast("int", state.detail)
        ways = self._shape.after_other(state.progress, index, in_order=self._declared)
        return [self._colon(link, way, state.others | {key}) for way in ways]

    def _colon(self, link: Link, way: KeyWay, others: frozenset[OtherKey]) -> Configuration:
        colon = link.sibling(ObjectState(COLON, way.progress, others, way.values))
        return colon.configuration(self._grammar.punctuation.colon)

    def _after_colon(self, link: Link, state: ObjectState) -> list[Configuration]:
        value = link.sibling(ObjectState(VALUE, state.progress, state.others))
        return self._grammar.begin(cast("ValueSet", state.detail), value)

    def _after_value(self, link: Link, state: ObjectState) -> list[Configuration]:
        punctuation = self._grammar.punctuation
        follow = []
        if self._allowed_names(state.progress) or any(self._other_keys(state)):
            comma = punctuation.comma(link.depth)
            follow.append(link.sibling(state._replace(phase=COMMA)).configuration(comma))
        if self._shape.may_close(state.progress):
            close = punctuation.close_brace(link.depth)
            follow.append(cast("Link", link.parent).configuration(close))
        return follow

    def _keys(self, link: Link, state: ObjectState) -> list[Configuration]:
        spelling = self._grammar.style.spelling
        keys = []
        allowed = self._allowed_names(state.progress)
        if allowed:
            names = name_trie(self._shape.names).start(allowed)
            named = link.sibling(ObjectState(NAME, state.progress, state.others))
            keys.append(named.configuration(string_lexeme(names, spelling)))
        for index, language in self._other_keys(state):
            other = link.sibling(ObjectState(OTHER, state.progress, state.others, index))
            keys.append(other.configuration(string_lexeme(language, spelling)))
        return keys

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

    def _other_keys(self, state: ObjectState) -> Iterable[tuple[int, Language]]:
        """The classes of other keys that may come next, without the keys written."""
        required = self._shape.required & self._shape.ordered
        if self._declared and required & ~state.progress.passed:
            return
        written = [key for key in state.others if isinstance(key, str)]
        for index, each in enumerate(self._shape.classes()):
            if not self._shape.after_other(state.progress, index, in_order=self._declared):
                continue
            keys = each.keys
            if written:
                keys = intersection([keys, complement(literals(written))])
                if is_empty(keys):
                    continue
            yield index, keys

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
        phase, _, others, _ = cast("ObjectState", state)
        return phase == OTHER and Unknown.TEXT in others
