"""What still has to hold of an object or array, while it is written part by part.

A formula is read like a regular expression by derivatives: after a key (or an item) each atom that
speaks of it becomes a condition on the value there (:class:`~formula.Here`) and what is left to
hold of the rest. The conditions are then decided one by one, so that a disjunction splits only
where it must, on the values of that one key: ``if``/``then``, ``dependentRequired`` and branches
with a discriminator never multiply with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Formula,
    Here,
    conjunction,
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.nodes import Negation, Node, ValueSet, is_passing
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class Scalar(NamedTuple):
    """A scalar with its type, because ``1`` is ``True`` in Python."""

    json_type: str
    value: str | Fraction | bool | None


class Branch(NamedTuple):
    """One way to go on: what must hold of the value, and what is left to hold of the rest."""

    values: ValueSet
    rest: Formula


def branches(form: NormalForm, formula: Formula, values: ValueSet) -> list[Branch]:
    """Decide the conditions on the value that is read now.

    Arguments:
        form: the normal form.
        formula: what must hold, with conditions on the value.
        values: what must hold of the value anyway.

    Raises:
        LimitExceededError: if the conditions split the values into too many parts.
    """
    found: dict[Branch, None] = {}
    rest, held = _forced(form, formula, values)
    stack = list(_cells(form, rest, held))
    while stack:
        rest, held = stack.pop()
        charge(4, 500)
        rest, held = _forced(form, rest, held)
        if rest is FALSE:
            continue
        condition = next((leaf for leaf in leaves(rest) if isinstance(leaf, Here)), None)
        if condition is None:
            found[Branch(held, rest)] = None
            continue
        without = _decided(rest, condition.value, holds=False)
        if without is not FALSE:
            opposite = form.table.negation(condition.value)
            apart = form.is_scalar(condition.value)
            stack.append((without, held | {opposite} if apart else held))
        stack.append((_decided(rest, condition.value, holds=True), held | {condition.value}))
    return _joined(form, list(found))


def _cells(form: NormalForm, rest: Formula, held: ValueSet) -> Iterator[tuple[Formula, ValueSet]]:
    """Decide all conditions that single out some scalars, at once: by the values they name."""
    members: dict[Node, frozenset[Scalar]] = {}
    for leaf in dict.fromkeys(leaves(rest)):
        if isinstance(leaf, Here):
            inner = leaf.value.inner if isinstance(leaf.value, Negation) else leaf.value
            few = form.few_scalars(inner)
            if few is not None:
                members[leaf.value] = few
    if len(members) < 2:
        yield rest, held
        return
    named = frozenset().union(*members.values())
    cells: dict[tuple[bool, ...], list[Scalar]] = {}
    for scalar in sorted(named, key=repr):
        charge(1 + len(members) // 32, 100 + 8 * len(members))
        cells.setdefault(_holding(members, scalar), []).append(scalar)
    table = form.table
    constant = partial(table.constant, passing=is_passing(frozenset(members)))
    for holding, scalars in cells.items():
        cell = held | {table.either(constant(scalar.value) for scalar in scalars)}
        yield _with_verdicts(rest, members, holding), cell
    others = table.either(constant(scalar.value) for scalar in named)
    yield _with_verdicts(rest, members, _holding(members, None)), held | {table.negation(others)}


def _holding(members: Mapping[Node, frozenset[Scalar]], scalar: Scalar | None) -> tuple[bool, ...]:
    """Which of the conditions a value satisfies; ``None`` is one that none of them names."""
    return tuple((scalar in few) != isinstance(node, Negation) for node, few in members.items())


def _with_verdicts(
    formula: Formula, members: Mapping[Node, frozenset[Scalar]], holding: tuple[bool, ...]
) -> Formula:
    verdicts = dict(zip(members, holding, strict=True))

    def change(leaf: Formula) -> Formula:
        if isinstance(leaf, Here) and leaf.value in verdicts:
            return TRUE if verdicts[leaf.value] else FALSE
        return leaf

    return replaced(formula, change)


def _forced(form: NormalForm, rest: Formula, held: ValueSet) -> tuple[Formula, ValueSet]:
    """Take over the conditions that must hold, and decide those that are settled by now."""
    while True:
        if rest is FALSE or form.is_plainly_empty(held):
            return FALSE, held
        parts = parts_of(rest)
        forced = {part.value for part in parts if isinstance(part, Here)}
        if forced:
            held |= forced
            rest = conjunction(part for part in parts if not isinstance(part, Here))
        settled = {
            leaf.value: verdict
            for leaf in dict.fromkeys(leaves(rest))
            if isinstance(leaf, Here) and (verdict := _verdict(form, leaf.value, held)) is not None
        }
        if not settled:
            if forced:
                continue
            return rest, held

        def change(leaf: Formula, settled: dict[Node, bool] = settled) -> Formula:
            if isinstance(leaf, Here) and leaf.value in settled:
                return TRUE if settled[leaf.value] else FALSE
            return leaf

        rest = replaced(rest, change)


def _verdict(form: NormalForm, node: Node, held: ValueSet) -> bool | None:
    """Whether every value that satisfies ``held`` satisfies the node, or none does."""
    if node is form.table.any_value or node in held:
        return True
    charge(1, 500)
    if form.is_plainly_empty(held | {node}):
        return False
    return True if form.is_plainly_empty(held | {form.table.negation(node)}) else None


def _decided(formula: Formula, node: Node, *, holds: bool) -> Formula:
    def change(leaf: Formula) -> Formula:
        if isinstance(leaf, Here) and leaf.value is node:
            return TRUE if holds else FALSE
        return leaf

    return replaced(formula, change)


def _joined(form: NormalForm, found: list[Branch]) -> list[Branch]:
    """Without the branches that another one covers."""
    kept: list[Branch] = []
    for held, rest in found:
        values = (held - {form.table.any_value}) or frozenset({form.table.any_value})
        if not any(other.values <= values and other.rest == rest for other in kept):
            kept.append(Branch(values, rest))
    return kept
