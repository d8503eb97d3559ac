"""Strings under a key, told apart by what is left to hold of the object after them.

Many conditions on one string (patterns of ``anyOf`` branches whose discriminator comes later) would
split the strings into exponentially many parts. Instead the whole formula is derived by each
character: its conditions are languages (:class:`~formula.Within`), and their derivatives are those
of regular languages. Where the string ends each condition holds or doesn't, so the formula becomes
what is left to hold. Only the combinations that a text really meets are ever made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Formula,
    Within,
    leaves,
    replaced,
)
from mlx_structured.languages.blurring import blurred
from mlx_structured.languages.each_character import EachCharacter
from mlx_structured.languages.expression import Complement, Literals
from mlx_structured.languages.language import EMPTY, EVERYTHING, Language, is_empty, matches
from mlx_structured.languages.partition import WHOLE, Partition, refine
from mlx_structured.languages.shapes import excluded_words, never_fails
from mlx_structured.limits import charge

Arc: TypeAlias = "tuple[int, int, OutcomeState | EachCharacter[OutcomeState]]"

MANY_SEARCHES = 12
MANY_LANGUAGES = 64
"""Where more endless languages are open, masks would have to follow too many combinations. Patterns
that are searched stay open whatever comes; most others are out after a few characters."""


class StringOutcomes:
    """The strings that satisfy a formula, each with what it leaves to hold.

    Arguments:
        formula: what must hold, with the conditions on the string as languages.
        may_follow: whether an object can be finished of which that is left to hold.
    """

    def __init__(self, formula: Formula, may_follow: Callable[[Formula], bool]) -> None:
        self._may_follow = may_follow
        self._states: dict[Formula, OutcomeState] = {}
        self._alive: dict[Formula, bool] = {}
        self._formula = replaced(formula, _simplified)

    def start(self) -> OutcomeState | None:
        """The state before the first character, if there is such a string."""
        return self._state(self._formula) if self.is_alive(self._formula) else None

    def outcomes(self) -> Iterator[Formula]:
        """All that a string may leave to hold: of named words, then of short ones."""
        found: set[Formula] = {FALSE}
        named = map(self._after_word, self._named_words())
        for left in chain(named, map(_ended, self._reachable(self._formula))):
            if left not in found:
                found.add(left)
                yield left

    def words(self, limit: int) -> list[tuple[str, Formula]] | None:
        """All strings with what each leaves to hold, or ``None`` if there are more."""
        found: list[tuple[str, Formula]] = []
        level = [("", state)] if (state := self.start()) is not None else []
        while level:
            found += [(text, each.label) for text, each in level if each.label is not None]
            following: list[tuple[str, OutcomeState]] = []
            for text, each in level:
                for low, high, target in each.arcs():
                    # Each beginning is the beginning of some string.
                    if len(following) + high - low >= limit:
                        return None
                    for point in range(low, high + 1):
                        after = _after_character(target, point)
                        if after is not None:
                            following.append((text + chr(point), after))
            if len(found) > limit:
                return None
            level = following
        return found

    def _named_words(self) -> Iterator[str]:
        for atom in dict.fromkeys(leaves(self._formula)):
            if isinstance(atom, Within) and isinstance(atom.members, Literals):
                yield from sorted(atom.members.words)

    def _after_word(self, word: str) -> Formula:
        def change(atom: Formula) -> Formula:
            if isinstance(atom, Within):
                assert isinstance(atom.members, Language)
                return TRUE if matches(atom.members, word) else FALSE
            return atom

        return replaced(self._formula, change)

    def _state(self, formula: Formula) -> OutcomeState:
        state = self._states.get(formula)
        if state is None:
            left = _ended(formula)
            label = left if left is not FALSE and self._may_follow(left) else None
            state = self._states[formula] = OutcomeState(self, formula, label)
        return state

    def arcs(
        self, formula: Formula
    ) -> list[tuple[int, int, OutcomeState | EachCharacter[OutcomeState]]]:
        """(first code point, last code point, next state), in order, without dead ends."""
        arcs: list[Arc] = []
        partition = _partition(formula)
        each = EachCharacter(partial(self._after, formula), is_ordered=False)
        for number, character in enumerate(partition.representatives):
            following = _derivative(formula, character)
            is_remembered = number in partition.remembered
            if following is not FALSE and (is_remembered or self.is_alive(following)):
                target = each if is_remembered else self._state(following)
                arcs += ((low, high, target) for low, high in partition.sets[number])
        return sorted(arcs, key=lambda arc: arc[0])

    def _after(self, formula: Formula, character: int) -> OutcomeState | None:
        following = _derivative(formula, character)
        return self._state(following) if self.is_alive(following) else None

    def is_alive(self, formula: Formula) -> bool:
        """Whether some string leads from there to something that may follow."""
        found = self._alive.get(formula)
        if found is None:
            came_from: dict[Formula, Formula | None] = {}
            for each in self._reachable(formula, came_from):
                if self._alive.get(each) or self._state(each).label is not None:
                    step: Formula | None = each
                    while step is not None:
                        self._alive[step] = True
                        step = came_from[step]
                    return True
            self._alive.update(dict.fromkeys(came_from, False))
            found = False
        return found

    def _reachable(
        self, start: Formula, came_from: dict[Formula, Formula | None] | None = None
    ) -> Iterator[Formula]:
        """The formulas after any string, by its length; notes from which each was reached."""
        came_from = {} if came_from is None else came_from
        came_from[start] = None
        queue = [] if start is FALSE else [start]
        for formula in queue:
            charge(4, 1_000)
            yield formula
            if self._alive.get(formula) is False:
                continue
            for character in _partition(formula).representatives:
                following = _derivative(formula, character)
                if following is not FALSE and following not in came_from:
                    came_from[following] = formula
                    queue.append(following)


class OutcomeState:
    """Between two characters.

    The same interface as a set of names: ``label`` is what is left to hold when the string ends
    here, ``None`` where it may not.
    """

    __slots__ = ("__weakref__", "_arcs", "_formula", "_outcomes", "label")

    def __init__(self, outcomes: StringOutcomes, formula: Formula, label: Formula | None) -> None:
        self._outcomes = outcomes
        self._formula = formula
        self._arcs: list[tuple[int, int, OutcomeState | EachCharacter[OutcomeState]]] | None = None
        self.label = label

    @property
    def stepwise(self) -> bool:
        """Where so many languages are open that nearly each text leads to another state."""
        languages = dict.fromkeys(
            atom.members
            for atom in leaves(self._formula)
            if isinstance(atom, Within) and isinstance(atom.members, Language)
        )
        endless = [each for each in languages if not _is_listed(each)]
        searches = sum(map(_is_search, endless))
        if searches > MANY_SEARCHES or len(endless) > MANY_LANGUAGES:
            return True
        return any(each.stepwise or blurred(each) is not each for each in endless)

    def arcs(self) -> list[tuple[int, int, OutcomeState | EachCharacter[OutcomeState]]]:
        """(first code point, last code point, next state), in order."""
        if self._arcs is None:
            self._arcs = self._outcomes.arcs(self._formula)
        return self._arcs


def _is_listed(language: Language) -> bool:
    """Whether it's words or all but some words, which part ways with nearly any text at once."""
    return isinstance(language, Literals) or excluded_words(language) is not None


def _is_search(language: Language) -> bool:
    return never_fails(language.inner if isinstance(language, Complement) else language)


def within(language: Language) -> Formula:
    """The string is in the language."""
    if language is EVERYTHING:
        return TRUE
    return FALSE if language is EMPTY or is_empty(language) else Within(language)


def _simplified(atom: Formula) -> Formula:
    return within(atom.members) if isinstance(atom, Within) else atom  # type: ignore[arg-type]


def _ended(formula: Formula) -> Formula:
    """What is left to hold when the string ends."""

    def change(atom: Formula) -> Formula:
        if isinstance(atom, Within):
            assert isinstance(atom.members, Language)
            return TRUE if atom.members.nullable else FALSE
        return atom

    return replaced(formula, change)


def _after_character(
    target: OutcomeState | EachCharacter[OutcomeState], character: int
) -> OutcomeState | None:
    return target.after(character) if isinstance(target, EachCharacter) else target


def _languages(formula: Formula) -> list[Language]:
    return list(
        dict.fromkeys(
            atom.members
            for atom in leaves(formula)
            if isinstance(atom, Within) and isinstance(atom.members, Language)
        )
    )


def _partition(formula: Formula) -> Partition:
    """Characters of one class make no difference to what must hold after one of them."""
    partition = WHOLE
    for each in dict.fromkeys(language.partition for language in _languages(formula)):
        partition = refine(partition, each)
    return partition


def _derivative(formula: Formula, character: int) -> Formula:
    """What must hold after the character."""
    after = {each: within(each.derivative(character)) for each in _languages(formula)}

    def change(atom: Formula) -> Formula:
        if isinstance(atom, Within):
            assert isinstance(atom.members, Language)
            return after[atom.members]
        return atom

    return replaced(formula, change)
