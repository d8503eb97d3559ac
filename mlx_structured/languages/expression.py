"""Regular languages of strings as hash-consed expressions with derivatives.

J. Brzozowski, "Derivatives of regular expressions" (1964): the derivative of a language by a
character holds what may follow that character. Union, intersection and complement have derivatives
as simple as concatenation's, so that a pattern, a length, a format and the negation of any of them
combine without an automaton being built for each.

Expressions are made by the constructors in :mod:`~.languages.algebra`. Nothing recurses along an
expression: a pattern may be as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, MutableMapping
from functools import singledispatch
from itertools import count
from threading import Lock
from typing import Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from mlx_structured.languages import characters as sets
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.partition import WHOLE, Partition, from_classes, refine
from mlx_structured.languages.remembering import keep_for_now
from mlx_structured.limits import charge

_SERIAL = count()
_STATE_BYTES = 2_500
"""About what a state of a machine takes."""


class Language:
    """A regular language. Equal definitions are the same object, so ``is`` compares them.

    ``nullable`` tells whether the empty string is in it. ``shortest`` and ``longest`` are bounds on
    the lengths of its words in characters (``longest`` is ``None`` where there is no known bound),
    exact where ``plain``: without intersection and complement. ``empty`` tells whether there is no
    word at all, ``None`` until that was found out: ask :func:`~.language.is_empty`. ``counter`` is
    the largest finite count of a repetition outside of intersections and complements. ``cyclic``
    tells whether a part is :class:`Deferred`, and so may be defined by means of the whole.
    ``serial`` is the age, ``classes`` the partition once it was asked for; ``capped`` and
    ``states`` are what :func:`~.counters.capped` has found out. ``stepwise`` tells whether nearly
    each text leads to another state, so that it doesn't pay to read ahead by whole tokens,
    ``irregular`` whether a part is a machine, which may have any number of states, and ``lasting``
    whether those are so few that each may keep those after it for good.
    """

    __slots__ = (
        "__weakref__",
        "_derivatives",
        "_successors",
        "capped",
        "classes",
        "counter",
        "cyclic",
        "empty",
        "irregular",
        "lasting",
        "longest",
        "nullable",
        "plain",
        "serial",
        "shortest",
        "states",
        "stepwise",
    )

    nullable: bool
    plain: bool
    shortest: int
    longest: int | None
    empty: bool | None
    counter: int
    cyclic: bool
    stepwise: bool
    irregular: bool
    lasting: bool

    def __init__(self) -> None:
        self.serial = next(_SERIAL)
        self.capped: dict[int, Language] = {}
        self.states: int | None = None
        self.classes: Partition | None = None
        self._derivatives: MutableMapping[int, Language] = {}
        self._successors: tuple[Language, ...] | None = None
        self.empty = False if self.nullable or self.plain else None
        self.stepwise = not self.plain and any(part.stepwise for part in self.immediate())
        self.irregular = not self.plain and any(part.irregular for part in self.operands())
        self.lasting = not self.irregular or all(part.lasting for part in self.operands())
        if not self.lasting:
            self._derivatives = WeakValueDictionary()

    def derivative(self, character: int) -> Language:
        """What may follow this character (a code point). Nothing may follow a surrogate."""
        found = self._derivatives.get(character)
        if found is None:
            representative = self.representative(character)
            if representative is None:
                return EMPTY
            found = self._derivatives.get(representative)
            if found is None:
                found = _derivative(self, representative)
            if character < 128:
                self._derivatives[character] = found
        return found

    def representative(self, character: int) -> int | None:
        """The character whose derivative is that of this one; ``None`` for a surrogate."""
        return self.partition.representative(character)

    def transitions(self) -> list[tuple[Ranges, Language]]:
        """The characters that have a derivative other than ``EMPTY``, grouped by it.

        Of a class whose characters are remembered, only the first.
        """
        groups: dict[Language, list[tuple[int, int]]] = {}
        partition = self.partition
        for number, character in enumerate(partition.representatives):
            following = self.derivative(character)
            if following is not EMPTY:
                alike = number not in partition.remembered
                ranges = partition.sets[number] if alike else ((character, character),)
                groups.setdefault(following, []).extend(ranges)
        return [(sets.normalise(ranges), following) for following, ranges in groups.items()]

    def successors(self) -> tuple[Language, ...]:
        """The different derivatives other than ``EMPTY``."""
        found = self._successors
        if found is None:
            each = dict.fromkeys(map(self.derivative, self.partition.representatives))
            each.pop(EMPTY, None)
            found = tuple(each)
            if self.lasting:
                self._successors = found
        return found

    @property
    def partition(self) -> Partition:
        """Characters in the same class have the same derivative, if they aren't remembered."""
        if self.classes is None:
            _find_partition(self)
        return cast(Partition, self.classes)

    def inputs(self) -> tuple[Language, ...]:
        """The expressions that the derivative is made of."""
        return ()

    def own_size(self) -> int:
        """About how many bytes it takes with its table of derivatives."""
        return 1_000

    def immediate(self) -> tuple[Language, ...]:
        """The inputs that are known from the start."""
        return self.inputs()

    def operands(self) -> tuple[Language, ...]:
        """The expressions that this one is made of."""
        return self.immediate()

    def hint(self) -> str:
        """Where a search for a word of a machine begins; empty where there is none."""
        if not self.irregular:
            return ""
        return next((part.hint() for part in self.immediate() if part.irregular), "")

    def common_words(self) -> Language | None:
        """Of a machine: a regular language of words that it is likely to have; else ``None``."""
        return None

    def make_partition(self) -> Partition:
        """Called once, when the inputs have theirs."""
        found = WHOLE
        for partition in {language.partition: None for language in self.inputs()}:
            found = refine(found, partition)
        return found

    def cached_derivative(self, character: int) -> Language | None:
        """The derivative, if it was computed before."""
        found = self._derivatives.get(character)
        if found is None:
            representative = self.representative(character)
            found = EMPTY if representative is None else self._derivatives.get(representative)
        return found

    def known_derivatives(self) -> set[Language]:
        """The derivatives that were computed so far."""
        return set(self._derivatives.values())

    def store_derivative(self, character: int, derivative: Language) -> None:
        """For the class of the character."""
        representative = self.representative(character)
        if representative is not None:
            self._derivatives[representative] = derivative
            if not self.lasting:
                keep_for_now(derivative, _STATE_BYTES)


class Characters(Language):
    """One character out of a set. The empty set is the empty language."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.nullable = False
        self.plain = True
        self.shortest = 1
        self.longest = 1
        self.counter = 0
        self.cyclic = False
        super().__init__()
        if not ranges:
            self.empty = True

    def make_partition(self) -> Partition:
        return from_classes((self.ranges,))


class Literals(Language):
    """A finite set of words, not all of one character."""

    __slots__ = ("words",)

    def __init__(self, words: frozenset[str]) -> None:
        self.words = words
        self.nullable = "" in words
        self.plain = True
        self.shortest = min(map(len, words))
        self.longest = max(map(len, words))
        self.counter = 0
        self.cyclic = False
        super().__init__()

    def own_size(self) -> int:
        return 1_000 + 100 * len(self.words)

    def make_partition(self) -> Partition:
        firsts = sorted({word[0] for word in self.words if word})
        return from_classes(tuple(((ord(first), ord(first)),) for first in firsts))


class Concatenation(Language):
    """``head`` and then ``tail``. The head is no concatenation itself."""

    __slots__ = ("head", "tail")

    def __init__(self, pair: tuple[Language, Language]) -> None:
        head, tail = self.head, self.tail = pair
        self.nullable = head.nullable and tail.nullable
        self.plain = head.plain and tail.plain
        self.shortest = head.shortest + tail.shortest
        self.longest = bound_sum(head.longest, tail.longest)
        self.counter = max(head.counter, tail.counter)
        self.cyclic = head.cyclic or tail.cyclic
        super().__init__()

    def parts(self) -> Iterator[Language]:
        """All heads, and the last tail."""
        rest: Language = self
        while isinstance(rest, Concatenation):
            yield rest.head
            rest = rest.tail
        yield rest

    def operands(self) -> tuple[Language, ...]:
        return (self.head, self.tail)

    def inputs(self) -> tuple[Language, ...]:
        if not self.head.nullable:
            return (self.head,)
        parts = []
        for part in self.parts():
            parts.append(part)
            if not part.nullable:
                break
        return tuple(parts)


class Union(Language):
    """Any of the parts, none of which is a union."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Language, ...]) -> None:
        self.parts = parts
        self.nullable = any(part.nullable for part in parts)
        self.plain = all(part.plain for part in parts)
        self.shortest = min(part.shortest for part in parts)
        bounds = [part.longest for part in parts if part.longest is not None]
        self.longest = max(bounds) if len(bounds) == len(parts) else None
        self.counter = max(part.counter for part in parts)
        self.cyclic = any(part.cyclic for part in parts)
        super().__init__()

    def inputs(self) -> tuple[Language, ...]:
        return self.parts

    def own_size(self) -> int:
        return 1_000 + 16 * len(self.parts)


class Intersection(Language):
    """All of the parts, none of which is an intersection. At most one part is a length."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Language, ...]) -> None:
        self.parts = parts
        self.nullable = all(part.nullable for part in parts)
        self.plain = False
        self.shortest = max(part.shortest for part in parts)
        self.longest = min(
            (part.longest for part in parts if part.longest is not None), default=None
        )
        length = next(filter(None, map(length_bounds, parts)), (0, None))
        self.counter = max(length[0], length[1] or 0)
        self.cyclic = any(part.cyclic for part in parts)
        super().__init__()

    def inputs(self) -> tuple[Language, ...]:
        return self.parts

    def own_size(self) -> int:
        return 1_000 + 16 * len(self.parts)


class Complement(Language):
    """All strings that aren't in ``inner``."""

    __slots__ = ("inner",)

    def __init__(self, inner: Language) -> None:
        self.inner = inner
        self.nullable = not inner.nullable
        self.plain = False
        self.shortest = 0 if self.nullable else 1
        self.longest = None
        self.counter = 0
        self.cyclic = inner.cyclic
        super().__init__()
        if inner.plain and inner.longest is not None:
            self.empty = False

    def inputs(self) -> tuple[Language, ...]:
        return (self.inner,)


class Repetition(Language):
    """``inner``, ``low`` to ``high`` times, or without an upper bound.

    ``low`` is 0 where ``inner`` is nullable.
    """

    __slots__ = ("high", "inner", "low")

    def __init__(self, definition: tuple[Language, int, int | None]) -> None:
        inner, low, high = self.inner, self.low, self.high = definition
        self.nullable = low == 0
        self.plain = inner.plain
        self.shortest = low * inner.shortest
        self.longest = None if high is None or inner.longest is None else high * inner.longest
        self.counter = max(inner.counter, low, high or 0)
        self.cyclic = inner.cyclic
        super().__init__()

    def inputs(self) -> tuple[Language, ...]:
        return (self.inner,)


class Definition(Protocol):
    """What a deferred language is."""

    @property
    def nullable(self) -> bool:
        """Whether the empty string is in the language."""
        ...

    @property
    def context(self) -> tuple[Language, ...]:
        """The languages whose derivatives :meth:`expand` asks for."""
        ...

    def expand(self) -> Language:
        """The language, as an expression in which it may itself stand after a character."""
        ...


class Deferred(Language):
    """A language whose expression is made when it is first needed, and may refer to itself."""

    __slots__ = ("_expression", "definition")

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._expression: Language | None = None
        self.nullable = definition.nullable
        self.plain = False
        self.shortest = 0 if self.nullable else 1
        self.longest = None
        self.counter = 0
        self.cyclic = True
        super().__init__()

    @property
    def expression(self) -> Language:
        """The language in other words."""
        if self._expression is None:
            self._expression = self.definition.expand()
        return self._expression

    def inputs(self) -> tuple[Language, ...]:
        return (self.expression,)

    def context(self) -> tuple[Language, ...]:
        """The languages whose derivatives the expression is made of, until it is."""
        return self.definition.context if self._expression is None else ()

    def immediate(self) -> tuple[Language, ...]:
        return ()


DefinitionType = TypeVar("DefinitionType")

# Keys hold serial numbers in place of expressions: a part may lead back to the whole through its
# derivatives, and would keep the whole alive for ever.
_INTERNED: WeakValueDictionary[tuple[object, object], Language] = WeakValueDictionary()
_INTERNING = Lock()


def interned(
    kind: Callable[[DefinitionType], Language], definition: DefinitionType, key: Hashable
) -> Language:
    """The one expression of that kind with that definition, which the key stands for.

    The key must not refer to an expression, but to its serial number.
    """
    found = _INTERNED.get((kind, key))
    if found is None:
        made = kind(definition)
        charge(1, made.own_size())
        with _INTERNING:
            found = _INTERNED.setdefault((kind, key), made)
    return found


EMPTY: Language = interned(Characters, sets.NONE, sets.NONE)
"""No string at all."""

EPSILON: Language = interned(Literals, frozenset([""]), frozenset([""]))
"""The empty string."""

ANY_CHARACTER: Language = interned(Characters, sets.ALL, sets.ALL)
"""All strings of one character."""

EVERYTHING: Language = interned(
    Repetition, (ANY_CHARACTER, 0, None), (ANY_CHARACTER.serial, 0, None)
)
"""All strings."""


def length_bounds(language: Language) -> tuple[int, int | None] | None:
    """``(low, high)`` where the language is all strings of that length, else ``None``."""
    if isinstance(language, Repetition) and language.inner is ANY_CHARACTER:
        return language.low, language.high
    return (1, 1) if language is ANY_CHARACTER else None


def conjuncts(language: Language) -> tuple[Language, ...]:
    """The parts of an intersection, or just the language."""
    return language.parts if isinstance(language, Intersection) else (language,)


def bound_sum(left: int | None, right: int | None) -> int | None:
    """The sum of two upper bounds, of which ``None`` is infinite."""
    return None if left is None or right is None else left + right


@singledispatch
def derive(language: Language, character: int) -> Language:
    """The derivative, out of those of the inputs. Each kind of expression has a rule for it.

    Called once for each class of characters; the rules are beside the constructors they use.
    """
    raise NotImplementedError(type(language).__name__)


def _find_partition(language: Language) -> None:
    """Bottom up on a stack of its own."""
    stack = [language]
    while stack:
        node = stack[-1]
        # An expansion within an expansion would be recursion.
        context = node.context() if isinstance(node, Deferred) else ()
        missing = [part for part in context if part.classes is None]
        if not missing:
            missing = [part for part in node.inputs() if part.classes is None]
        if missing:
            stack += missing
        else:
            if node.classes is None:
                node.classes = node.make_partition()
            stack.pop()


def _derivative(language: Language, character: int) -> Language:
    """Bottom up on a stack of its own."""
    # Not every language keeps its derivatives alive.
    known: dict[Language, Language] = {}
    stack = [language]
    while stack:
        node = stack[-1]
        missing = []
        for part in node.inputs():
            if part not in known:
                found = part.cached_derivative(character)
                if found is None:
                    missing.append(part)
                else:
                    known[part] = found
        if missing:
            stack += missing
            continue
        stack.pop()
        if node not in known:
            found = known[node] = derive(node, character)
            node.store_derivative(character, found)
    return known[language]
