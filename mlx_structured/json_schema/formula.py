"""What a schema says about values of one JSON type, as a formula of atoms.

A formula is made of conjunctions, disjunctions, references to whole schema nodes (so that a shared
or recursive subschema is one symbol) and atoms. Splitting by type first makes half of the keywords
vanish: ``minLength`` is true of every number. Only the positive form of a keyword is written:
:func:`negation` is mechanical, because each atom has an atom (or a formula of atoms) that says the
opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, TypeAlias

from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.nodes import Node, NodeTable
    from mlx_structured.json_schema.scalars import ScalarSet
    from mlx_structured.languages.language import Language


class _Parts:
    """A set of formulas. There is no table of them: their nodes would lead back to them, so that
    none of a schema could ever go.
    """

    __slots__ = ("_hash", "_members", "parts")
    __match_args__ = ("parts",)

    def __init__(self, parts: tuple[Formula, ...]) -> None:
        self.parts = parts
        self._members: frozenset[Formula] | None = None
        self._hash = 0

    @property
    def members(self) -> frozenset[Formula]:
        """The parts, without their order."""
        found = self._members
        if found is None:
            found = self._members = frozenset(self.parts)
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, _Parts)
            and type(self) is type(other)
            and hash(self) == hash(other)
            and self.members == other.members
        )

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash((type(self), self.members))
        return self._hash


class All(_Parts):
    """Every part holds; without parts it is true."""

    __slots__ = ()


class Any(_Parts):
    """At least one part holds; without parts it is false."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Holds:
    """The value satisfies the node, as a whole."""

    node: Node


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value satisfies exactly one of the nodes."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The scalar is a member of the set.

    ``others`` are the scalars of which the opposite is sure, where a set leaves out what is hard to
    describe; ``None`` stands for the complement.
    """

    members: ScalarSet
    others: ScalarSet | None = None


@dataclass(frozen=True, slots=True)
class Required:
    """The object has the key."""

    name: str


@dataclass(frozen=True, slots=True)
class Property:
    """The object lacks the key, or its value there satisfies the node."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Properties:
    """Every value under a key of the language satisfies the node."""

    keys: Language
    value: Node


@dataclass(frozen=True, slots=True)
class Names:
    """Every key, as a string, satisfies the node."""

    value: Node


@dataclass(frozen=True, slots=True)
class Exists:
    """Some value under a key of the language satisfies the node."""

    keys: Language
    value: Node


@dataclass(frozen=True, slots=True)
class Size:
    """The object has at least ``low`` and at most ``high`` keys (``None``: any number)."""

    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Length:
    """The array has at least ``low`` and at most ``high`` items (``None``: any number)."""

    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Items:
    """Every item from index ``low`` up to, not including, ``high`` satisfies the node."""

    low: int
    high: int | None
    value: Node


@dataclass(frozen=True, slots=True)
class Count:
    """Of the items from index ``low`` up to ``high``, so many satisfy the node."""

    low: int
    high: int | None
    value: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items are equal. ``pointer`` is of the keyword that says so."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Repeating:
    """Some two items are equal. ``pointer`` is of the keyword whose opposite this is."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Here:
    """The value under the key, or at the index, that is read now satisfies the node."""

    value: Node


@dataclass(frozen=True, slots=True)
class Matched:
    """The key that is read now is in the language."""

    keys: Language


ObjectAtom: TypeAlias = Required | Property | Properties | Names | Exists | Size
ArrayAtom: TypeAlias = Length | Items | Count | Unique | Repeating
Atom: TypeAlias = Within | Here | Matched | ObjectAtom | ArrayAtom
Formula: TypeAlias = All | Any | Holds | OneOf | Atom

TRUE = All(())
FALSE = Any(())
"""No other conjunction or disjunction is without parts: ``is`` finds them."""


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """All of the formulas, flattened and without repetition."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if formula is FALSE:
            return FALSE
        for part in formula.parts if isinstance(formula, All) else (formula,):
            parts[part] = None
    if len(parts) < 2:
        return next(iter(parts), TRUE)
    charge(1 + len(parts) // 32, 200 + 50 * len(parts))
    return All(tuple(parts))


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """At least one of the formulas, flattened and without repetition."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if formula is TRUE:
            return TRUE
        for part in formula.parts if isinstance(formula, Any) else (formula,):
            parts[part] = None
    if len(parts) < 2:
        return next(iter(parts), FALSE)
    charge(1 + len(parts) // 32, 200 + 50 * len(parts))
    return Any(tuple(parts))


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself as the only one."""
    return formula.parts if isinstance(formula, All) else (formula,)


def replaced(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with each of its atoms and nodes changed."""
    if not isinstance(formula, _Parts):
        return change(formula)
    decisive = FALSE if isinstance(formula, All) else TRUE
    parts: list[Formula] = []
    for part in formula.parts:
        new = replaced(part, change)
        if new is decisive:
            return decisive
        parts.append(new)
    if all(map(is_, parts, formula.parts)):
        return formula
    return conjunction(parts) if isinstance(formula, All) else disjunction(parts)


def leaves(formula: Formula) -> Iterator[Formula]:
    """The atoms and nodes of a formula, those of the outer parts first."""
    queue = [formula]
    for each in queue:
        if isinstance(each, (All, Any)):
            queue.extend(each.parts)
        else:
            yield each


def negation(formula: Formula, table: NodeTable) -> Formula:
    """What holds of exactly the containers of which the formula doesn't.

    Scalars are complemented as whole sets instead, so ``Within`` never occurs here.
    """
    match formula:
        case All(parts) | Any(parts):
            opposites = []
            for part in parts:
                opposites.append(negation(part, table))
            return disjunction(opposites) if isinstance(formula, All) else conjunction(opposites)
        case Holds(node):
            return Holds(table.negation(node))
        case Required(name):
            return Property(name, table.no_value)
        case Property(name, value):
            return conjunction([Required(name), Property(name, table.negation(value))])
        case Properties(keys, value):
            return Exists(keys, table.negation(value))
        case Exists(keys, value):
            return Properties(keys, table.negation(value))
        case Size(low, high):
            return disjunction(Size(*span) for span in _outside(low, high))
        case Length(low, high):
            return disjunction(Length(*span) for span in _outside(low, high))
        case Items(low, high, value):
            return Count(low, high, table.negation(value), 1, None)
        case Count(low, high, value, least, most):
            return disjunction(Count(low, high, value, *span) for span in _outside(least, most))
        case Unique(pointer):
            return Repeating(pointer)
        case Repeating(pointer):
            return Unique(pointer)
        case _:
            raise AssertionError(f"{formula} is about a scalar")


def _outside(low: int, high: int | None) -> list[tuple[int, int | None]]:
    """The numbers below ``low`` and those above ``high``."""
    below: list[tuple[int, int | None]] = [(0, low - 1)] if low > 0 else []
    return below if high is None else [*below, (high + 1, None)]
