"""Languages that forget which character was read where they would remember it.

A machine may remember characters to compare them with what comes later, so that nearly each text
leads to another state. Most tokens hold nothing that tells these states apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlx_structured.languages.algebra import complement, concatenation, intersection, union
from mlx_structured.languages.expression import (
    Complement,
    Concatenation,
    Intersection,
    Language,
    Union,
    length_bounds,
)
from mlx_structured.languages.machine import Machine, machine


def blurred(language: Language) -> Language | None:
    """The same for texts that don't show what was remembered.

    A text shows it where a character out of a class of ``Partition.remembered`` comes before ``-``
    or ``>``: there it makes a difference which one it was. The language itself where nothing is
    remembered; ``None`` where what else is asked for might depend on what is.
    """
    if not language.irregular:
        return language
    known: dict[Language, Language] = {}
    stack = [language]
    while stack:
        node = stack[-1]
        missing = [part for part in _parts(node) if part.irregular and part not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        if node not in known:
            made = _made(node, known)
            if made is None:
                return None
            known[node] = made
    return known[language]


def is_shown(language: Language) -> bool:
    """Whether a text can show what is remembered; if not, no mask needs more than the blurred."""
    if isinstance(language, Machine):
        return language.state.is_shown
    return any(map(is_shown, _parts(language)))


def _parts(language: Language) -> Iterable[Language]:
    if isinstance(language, Concatenation):
        return language.parts()
    return language.operands() if language.irregular else ()


def _made(language: Language, known: dict[Language, Language]) -> Language | None:
    """``None`` where that can't be done."""
    if not language.irregular:
        return language
    if isinstance(language, Machine):
        return machine(language.state.blurred())
    if isinstance(language, Concatenation):
        return concatenation(*(known.get(part, part) for part in language.parts()))
    if isinstance(language, Union):
        return union(known.get(part, part) for part in language.parts)
    if isinstance(language, Complement):
        inner = known[language.inner]
        return language if inner is language.inner else complement(inner)
    others = [part for part in language.operands() if not part.irregular]
    is_one = len(language.operands()) - len(others) == 1
    is_free = (is_one and all(map(length_bounds, others))) or not is_shown(language)
    if isinstance(language, Intersection) and is_free:
        return intersection(known.get(part, part) for part in language.parts)
    same = all(known[part] is part for part in language.operands() if part.irregular)
    return language if same else None
