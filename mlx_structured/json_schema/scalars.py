"""Sets of scalars, one kind a JSON type, each closed under intersection and union.

Scalars never split into alternatives: whatever a schema says about numbers is one set of numbers
(in draft 4, as they are written), and whatever it says about strings is one regular language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from mlx_structured.json_schema.formula import All, Any, Formula, Holds, OneOf, Within, leaves
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import Negation, Node, ValueSet
from mlx_structured.languages import language as languages
from mlx_structured.languages import number_set
from mlx_structured.languages.language import EMPTY, EVERYTHING, Language
from mlx_structured.languages.number_set import ALL_NUMBERS, INTEGERS, NO_NUMBERS
from mlx_structured.languages.spelled_numbers import Numbers
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm

__all__ = ["INTEGERS", "ScalarSet", "scalar_members", "scalar_set"]

Symbols: TypeAlias = frozenset[bool | None]
ScalarSet: TypeAlias = Language | Numbers | Symbols

_FULL: dict[str, ScalarSet] = {
    "null": frozenset({None}),
    "boolean": frozenset({False, True}),
    "number": ALL_NUMBERS,
    "string": EVERYTHING,
}
_EMPTY: dict[str, ScalarSet] = {
    "null": frozenset(),
    "boolean": frozenset(),
    "number": NO_NUMBERS,
    "string": EMPTY,
}


def scalar_members(json_type: JsonType, values: Iterable[object]) -> ScalarSet:
    """The set of the given values, all of that type."""
    if json_type == "string":
        return languages.literals(cast("Iterable[str]", values))
    if json_type == "number":
        return number_set.points(cast("Iterable[int | float]", values))
    return frozenset(cast("Iterable[bool | None]", values))


def intersect(sets: list[ScalarSet], json_type: JsonType) -> ScalarSet:
    """What is in every one of the sets, of the same type."""
    if json_type == "string":
        return languages.intersection(cast("list[Language]", sets))
    result = _FULL[json_type]
    for each in sets:
        result = result & each  # type: ignore[operator, arg-type]
    return result


def unite(sets: list[ScalarSet], json_type: JsonType) -> ScalarSet:
    """What is in at least one of the sets, of the same type."""
    if json_type == "string":
        return languages.union(cast("list[Language]", sets))
    result = _EMPTY[json_type]
    for each in sets:
        result = result | each  # type: ignore[operator, arg-type]
    return result


def complement(members: ScalarSet, json_type: JsonType) -> ScalarSet:
    """What is not in the set, of the same type."""
    if json_type == "string":
        return languages.complement(cast("Language", members))
    if json_type == "number":
        return ~cast("Numbers", members)
    return cast("Symbols", _FULL[json_type]) - cast("Symbols", members)


def scalar_set(form: NormalForm, values: ValueSet, json_type: JsonType) -> ScalarSet:
    """The scalars of one type that satisfy every node."""
    return intersect([_of_node(form, node, json_type) for node in values], json_type)


def _of_node(form: NormalForm, node: Node, json_type: JsonType) -> ScalarSet:
    # What it is made of comes first, on a stack of its own: nesting costs no recursion.
    stack = [] if json_type in node.scalars else [node]
    while stack:
        charge()
        each = stack[-1]
        missing = [part for part in _parts(form, each, json_type) if json_type not in part.scalars]
        if missing:
            stack += missing
            continue
        stack.pop()
        if isinstance(each, Negation):
            members = _outside(form, form.formula(each.inner, json_type), json_type)
        else:
            members = _of_formula(form, form.formula(each, json_type), json_type)
        each.scalars[json_type] = members
    return _known(node, json_type)


def _parts(form: NormalForm, node: Node, json_type: JsonType) -> Iterator[Node]:
    """The nodes whose scalars make up those of the node."""
    is_negative = isinstance(node, Negation)
    inner = node.inner if isinstance(node, Negation) else node
    for leaf in leaves(form.formula(inner, json_type)):
        if isinstance(leaf, Holds):
            yield form.table.negation(leaf.node) if is_negative else leaf.node
        elif isinstance(leaf, OneOf):
            for each in leaf.nodes:
                yield each
                yield form.table.negation(each)


def _known(node: Node, json_type: JsonType) -> ScalarSet:
    return cast("ScalarSet", node.scalars[json_type])


def _of_formula(form: NormalForm, formula: Formula, json_type: JsonType) -> ScalarSet:
    if isinstance(formula, Within):
        return formula.members
    if isinstance(formula, Holds):
        return _known(formula.node, json_type)
    if isinstance(formula, OneOf):
        return _exactly_one(form, formula.nodes, json_type)[1]
    if isinstance(formula, All):
        return intersect([_of_formula(form, x, json_type) for x in formula.parts], json_type)
    if isinstance(formula, Any):
        return unite([_of_formula(form, x, json_type) for x in formula.parts], json_type)
    raise AssertionError(f"{formula} says nothing about a {json_type}")


def _outside(form: NormalForm, formula: Formula, json_type: JsonType) -> ScalarSet:
    """The scalars of one type that surely don't satisfy the formula."""
    if isinstance(formula, Within):
        return complement(formula.members, json_type) if formula.others is None else formula.others
    if isinstance(formula, Holds):
        return _known(form.table.negation(formula.node), json_type)
    if isinstance(formula, OneOf):
        none, _, more = _exactly_one(form, formula.nodes, json_type)
        return unite([none, more], json_type)
    if isinstance(formula, All):
        return unite([_outside(form, x, json_type) for x in formula.parts], json_type)
    if isinstance(formula, Any):
        return intersect([_outside(form, x, json_type) for x in formula.parts], json_type)
    raise AssertionError(f"{formula} says nothing about a {json_type}")


def _exactly_one(
    form: NormalForm, nodes: Sequence[Node], json_type: JsonType
) -> tuple[ScalarSet, ScalarSet, ScalarSet]:
    """The scalars that satisfy none, one, and more of the nodes."""
    none, one, more = _FULL[json_type], _EMPTY[json_type], _EMPTY[json_type]
    for node in nodes:
        inside = _known(node, json_type)
        outside = _known(form.table.negation(node), json_type)
        more = unite([more, intersect([one, inside], json_type)], json_type)
        one = unite(
            [intersect([one, outside], json_type), intersect([none, inside], json_type)], json_type
        )
        none = intersect([none, outside], json_type)
    return none, one, more
