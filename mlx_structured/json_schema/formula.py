"""What a schema says about values of one JSON type, as a formula of atoms.

A formula is made of conjunctions, disjunctions, references to whole schema nodes (so that a shared
or recursive subschema is one symbol) and atoms. Splitting by type first makes half of the keywords
vanish: ``minLength`` is true of every number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mlx_structured.json_schema.nodes import Node
    from mlx_structured.json_schema.scalars import ScalarSet
    from mlx_structured.languages.language import Language


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; without parts it is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one part holds; without parts it is false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Holds:
    """The value satisfies the node, as a whole."""

    node: Node


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


ObjectAtom: TypeAlias = Required | Property | Properties
ArrayAtom: TypeAlias = Length | Items
Atom: TypeAlias = Within | ObjectAtom | ArrayAtom
Formula: TypeAlias = All | Any | Holds | Atom

TRUE = All(())
FALSE = Any(())


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """All of the formulas, flattened and without repetition."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if formula == FALSE:
            return FALSE
        for part in formula.parts if isinstance(formula, All) else (formula,):
            parts[part] = None
    return next(iter(parts)) if len(parts) == 1 else All(tuple(parts))


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """At least one of the formulas, flattened and without repetition."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if formula == TRUE:
            return TRUE
        for part in formula.parts if isinstance(formula, Any) else (formula,):
            parts[part] = None
    return next(iter(parts)) if len(parts) == 1 else Any(tuple(parts))
