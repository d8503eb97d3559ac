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
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.errors import UnsupportedSchemaError
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.nodes import Node, NodeTable
    from mlx_structured.json_schema.scalars import ScalarSet
    from mlx_structured.languages.language import Language


class All:
    """Every part holds; without parts it is true. Equal ones are the same object."""

    __slots__ = ("__weakref__", "parts")
    __match_args__ = ("parts",)

    def __init__(self, parts: tuple[Formula, ...]) -> None:
        self.parts = parts


class Any:
    """At least one part holds; without parts it is false. Equal ones are the same object."""

    __slots__ = ("__weakref__", "parts")
    __match_args__ = ("parts",)

    def __init__(self, parts: tuple[Formula, ...]) -> None:
        self.parts = parts


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
    """The scalar is a member of the set."""

    members: ScalarSet


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
    """No two items are equal. The opposite isn't enforced; ``pointer`` is for that error."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Here:
    """The value under the key, or at the index, that is read now satisfies the node."""

    value: Node


ObjectAtom: TypeAlias = Required | Property | Properties | Names | Exists | Size
ArrayAtom: TypeAlias = Length | Items | Count | Unique
Atom: TypeAlias = Within | Here | ObjectAtom | ArrayAtom
Formula: TypeAlias = All | Any | Holds | OneOf | Atom

TRUE = All(())
FALSE = Any(())

# By hashes: a part may lead back to the whole through its node, and would keep it for ever.
_alls: WeakValueDictionary[int, All] = WeakValueDictionary()
_anys: WeakValueDictionary[int, Any] = WeakValueDictionary()


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
    key = hash(frozenset(parts))
    found = _alls.get(key)
    while found is not None and parts.keys() != set(found.parts):
        key += 1
        found = _alls.get(key)
    if found is None:
        charge(1 + len(parts) // 32, 300 + 50 * len(parts))
        found = _alls[key] = All(tuple(parts))
    return found


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
    key = hash(frozenset(parts))
    found = _anys.get(key)
    while found is not None and parts.keys() != set(found.parts):
        key += 1
        found = _anys.get(key)
    if found is None:
        charge(1 + len(parts) // 32, 300 + 50 * len(parts))
        found = _anys[key] = Any(tuple(parts))
    return found


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself as the only one."""
    return formula.parts if isinstance(formula, All) else (formula,)


def replaced(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with each of its atoms and nodes changed."""
    if not isinstance(formula, (All, Any)):
        return change(formula)
    parts = []
    # No generator: it would take a frame of its own for each level of a deep formula.
    for part in formula.parts:
        parts.append(replaced(part, change))
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
            raise UnsupportedSchemaError(
                "uniqueItems", pointer, "is not supported where its opposite may be asked for"
            )
        case _:
            raise AssertionError(f"{formula} is about a scalar")


def _outside(low: int, high: int | None) -> list[tuple[int, int | None]]:
    """The numbers below ``low`` and those above ``high``."""
    below: list[tuple[int, int | None]] = [(0, low - 1)] if low > 0 else []
    return below if high is None else [*below, (high + 1, None)]
