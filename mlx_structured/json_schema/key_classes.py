"""The keys that a schema doesn't name, as its patterns tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from mlx_structured.json_schema.formula import (
    Formula,
    Matched,
    conjunction,
    disjunction,
    leaves,
)
from mlx_structured.json_schema.string_outcomes import StringOutcomes, within
from mlx_structured.languages.language import (
    EVERYTHING,
    Language,
    complement,
    intersection,
    is_empty,
    literals,
)
from mlx_structured.limits import charge

MANY_LANGUAGES = 4
"""The classes that more languages make are found as they are met."""


def key_classes(names: Collection[str], languages: Iterable[Language]) -> list[Language]:
    """All keys but the names, split so that each part lies wholly inside or outside each language.

    Raises:
        LimitExceededError: for overlapping languages, as the number of parts can double with each.
    """
    classes = [complement(literals(names)) if names else EVERYTHING]
    for language in languages:
        classes = [
            part
            for each in classes
            for part in (
                intersection([each, language]),
                intersection([each, complement(language)]),
            )
            if not is_empty(part)
        ]
        charge(len(classes))
    return classes


class KeyClass(NamedTuple):
    """Keys that the schema doesn't name, in the same ones of its languages.

    Arguments:
        number: of the class, in the order in which they were found.
        matched: the languages that they are in.
    """

    number: int
    matched: frozenset[Language]


class KeyClasses:
    """All keys but the names, told apart by languages.

    Arguments:
        names: the keys that the schema names.
        languages: of keys.
    """

    def __init__(self, names: Collection[str], languages: Collection[Language]) -> None:
        self._languages = sorted(languages, key=lambda each: each.serial)
        self._unnamed = complement(literals(names)) if names else EVERYTHING
        self.formula = conjunction(
            [
                within(self._unnamed),
                *(
                    disjunction(
                        [conjunction([within(each), Matched(each)]), within(complement(each))]
                    )
                    for each in self._languages
                ),
            ]
        )
        """What leaves the languages that a key matches, see :class:`StringOutcomes`."""
        self.are_many = len(self._languages) > MANY_LANGUAGES
        self._found: dict[frozenset[Language], KeyClass] = {}
        self._order: list[KeyClass] = []
        self._keys: dict[KeyClass, Language] = {}
        self._more: Iterator[Formula] = iter(())
        if self.are_many:
            self._more = StringOutcomes(self.formula, lambda _: True).outcomes()
        else:
            self._add(self._unnamed, frozenset(), self._languages)

    def __getitem__(self, index: int) -> KeyClass:
        """A class that was found before."""
        return self._order[index]

    def __iter__(self) -> Iterator[KeyClass]:
        """All classes, looked for as far as they are asked for."""
        position = 0
        while True:
            while position < len(self._order):
                yield self._order[position]
                position += 1
            left = next(self._more, None)
            if left is None:
                return
            self.leaving(left)

    def leaving(self, matched: Formula) -> KeyClass:
        """The class of the keys that leave this of the formula."""
        languages = frozenset(leaf.keys for leaf in leaves(matched) if isinstance(leaf, Matched))
        return self._class(languages)

    def _class(self, languages: frozenset[Language]) -> KeyClass:
        found = self._found.get(languages)
        if found is None:
            found = self._found[languages] = KeyClass(len(self._order), languages)
            self._order.append(found)
        return found

    def _add(
        self, keys: Language, matched: frozenset[Language], languages: Sequence[Language]
    ) -> None:
        """Add the classes of the keys that are matched so far, by the languages left."""
        if is_empty(keys):
            return
        if not languages:
            self._keys[self._class(matched)] = keys
            return
        first, *others = languages
        self._add(intersection([keys, first]), matched | {first}, others)
        self._add(intersection([keys, complement(first)]), matched, others)

    def keys(self, each: KeyClass) -> Language:
        """The keys of a class."""
        found = self._keys.get(each)
        if found is None:
            found = self._keys[each] = intersection(
                self._unnamed,
                (
                    language if language in each.matched else complement(language)
                    for language in self._languages
                ),
            )
        return found
