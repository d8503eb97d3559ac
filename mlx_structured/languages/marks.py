"""Languages of texts with a mark: what the text before a position asks of the text after it.

A lookbehind that looks ahead from within asks about both sides of its position: it holds for pairs
of a text so far and a text that follows. The pairs are a regular language of words with one mark
between the two, of which the derivatives by the characters so far and then by the mark are the
texts that may follow. Such languages are made and derived here and in
:mod:`~.languages.assertions`, and no others hold a mark.
"""

from __future__ import annotations

from mlx_structured.languages.algebra import concatenation, intersection, union
from mlx_structured.languages.expression import (
    EMPTY,
    EPSILON,
    EVERYTHING,
    Concatenation,
    Deferred,
    Intersection,
    Language,
    Union,
    bound_sum,
    derive,
    interned,
)


class Mark(Language):
    """The mark alone. It is no character, so none of its derivatives has a word."""

    __slots__ = ()

    def __init__(self, _: None) -> None:
        self.nullable = False
        self.plain = True
        self.shortest = 1
        self.longest = 1
        self.counter = 0
        self.cyclic = False
        super().__init__()


class Marked(Language):
    """The words of ``inner`` with a mark put in somewhere."""

    __slots__ = ("inner",)

    def __init__(self, inner: Language) -> None:
        self.inner = inner
        self.nullable = False
        self.plain = False
        self.shortest = inner.shortest + 1
        self.longest = bound_sum(inner.longest, 1)
        self.counter = inner.counter
        self.cyclic = inner.cyclic
        super().__init__()

    def inputs(self) -> tuple[Language, ...]:
        return (self.inner,)


MARK: Language = interned(Mark, None, None)


def marked(language: Language) -> Language:
    """What a marked language is intersected with to be of the language, its mark left out."""
    if language is EMPTY or language is EVERYTHING:
        return language
    return interned(Marked, language, language.serial)


_MADE_OF_MARKED = (Concatenation, Union, Intersection, Deferred)


def after_mark(language: Language) -> Language:
    """The derivative by the mark: what follows the words that begin with it.

    Arguments:
        language: of words with a mark each, or without a word.
    """
    values: dict[Language, Language] = {}
    stack = [language]
    while stack:
        node = stack[-1]
        inputs = node.inputs() if isinstance(node, _MADE_OF_MARKED) else ()
        missing = [part for part in inputs if part not in values]
        if missing:
            stack += missing
        else:
            values[node] = _after_mark(node, values)
            stack.pop()
    return values[language]


def _after_mark(language: Language, values: dict[Language, Language]) -> Language:
    if language is MARK:
        return EPSILON
    if isinstance(language, Marked):
        return language.inner
    if isinstance(language, Union):
        return union(values[part] for part in language.parts)
    if isinstance(language, Intersection):
        return intersection(values[part] for part in language.parts)
    if isinstance(language, Deferred):
        return values[language.expression]
    found = EMPTY
    rest = language
    while isinstance(rest, Concatenation):
        found = union(found, concatenation(values[rest.head], rest.tail))
        if not rest.head.nullable:
            return found
        rest = rest.tail
    # Other kinds are without a mark.
    return found if rest is language else union(found, values[rest])


@derive.register
def _(language: Mark, character: int) -> Language:
    return EMPTY


@derive.register
def _(language: Marked, character: int) -> Language:
    return marked(language.inner.derivative(character))
