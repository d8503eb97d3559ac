"""Raw text: the characters of a regular language in UTF-8, as the whole document."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import LAST, LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link
from mlx_structured.automaton.utf8 import (
    CharacterState,
    Machine,
    add_ascii,
    machine_label,
    set_multibyte,
)
from mlx_structured.languages.language import Language


class RawTextState(CharacterState):
    """Between two characters of the document."""

    __slots__ = ()

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, None if machine_label(machine) is None else LAST)

    def reading(self, machine: Machine) -> RawTextState:
        """See :class:`~mlx_structured.automaton.utf8.CharacterState`."""
        return raw_text(machine)

    def expand(self) -> Mapping[int, LexemeState]:
        arcs = self.arcs()
        transitions: dict[int, LexemeState] = {}
        add_ascii(transitions, arcs, 0)
        if arcs and arcs[-1][1] >= 0x80:
            set_multibyte(transitions, arcs, 0x80, 0x10FFFF)
        return transitions


_states: WeakValueDictionary[Machine, RawTextState] = WeakValueDictionary()


def raw_text(machine: Machine) -> RawTextState:
    """The lexeme of the texts whose characters the machine reads."""
    state = _states.get(machine)
    if state is None:
        state = _states[machine] = RawTextState(machine)
    return state


class RawTextNetwork:
    """The whole document: one text, which ends with the document.

    Arguments:
        language: the texts; at least one.
    """

    def __init__(self, language: Language) -> None:
        self._language = language

    def begin(self) -> tuple[Configuration, ...]:
        """The configurations before the first byte, with a link of their own."""
        return (Link(self, "text", None).configuration(raw_text(self._language)),)

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """Nothing comes after the text."""
        return ()

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        return "pattern", ""

    def captures(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_final(self, state: Hashable) -> bool:
        """Always."""
        return True

    def is_uncertain(self, state: Hashable) -> bool:
        """Never."""
        return False
