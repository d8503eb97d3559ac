"""Disjunctive normal form of a value position: alternatives without any disjunction left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.formula import (
    All,
    Any,
    Formula,
    Holds,
    Items,
    Length,
    Properties,
    Property,
    Required,
)
from mlx_structured.json_schema.nodes import AnyValue, JsonType, Node, ValueSet

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm

Atoms = frozenset[Formula]

MAX_ALTERNATIVES = 4_000
MAX_STEPS = 40_000


def alternatives(form: NormalForm, values: ValueSet, of: JsonType) -> list[Atoms]:
    """The alternatives for arrays or objects that satisfy every node, as sets of atoms.

    Alternatives that contradict themselves plainly are left out, and those that are contained in
    another one.

    Raises:
        LimitExceededError: when there are too many of them.
    """
    nodes = sorted(values, key=lambda node: node.index)
    found: dict[Atoms, None] = {}
    start: list[Formula] = [Holds(node) for node in nodes]
    stack = [(_Branch(frozenset(), frozenset(), ()), start)]
    steps = 0
    while stack:
        steps += 1
        if steps > MAX_STEPS or len(found) > MAX_ALTERNATIVES:
            raise LimitExceededError(
                f"the schema has too many alternatives for an {of}: simplify its anyOf"
            )
        branch = _settle(form, *stack.pop(), of)
        if branch is None:
            continue
        if not branch.choices:
            found[branch.atoms] = None
            continue
        choice = min(branch.choices, key=lambda choice: len(choice.parts))
        rest = branch._replace(
            choices=tuple(other for other in branch.choices if other is not choice)
        )
        stack += [(rest, [option]) for option in reversed(choice.parts)]
    return _without_contained(list(found))


class _Branch(NamedTuple):
    """What is known to hold, the nodes taken apart for it, and the disjunctions not decided."""

    atoms: Atoms
    seen: frozenset[Node]
    choices: tuple[Any, ...]


def _settle(
    form: NormalForm, branch: _Branch, todo: Sequence[Formula], of: JsonType
) -> _Branch | None:
    """Take apart what must hold as well; ``None`` where it can't."""
    atoms = set(branch.atoms)
    nodes = set(branch.seen)
    waiting = dict.fromkeys(branch.choices)
    stack = list(todo)
    while stack:
        formula = stack.pop()
        if isinstance(formula, All):
            stack.extend(formula.parts)
        elif isinstance(formula, Any):
            if not formula.parts:
                return None
            waiting[formula] = None
        elif isinstance(formula, Holds):
            if formula.node not in nodes:
                nodes.add(formula.node)
                stack.append(form.formula(formula.node, of))
        elif not _says_nothing(formula):
            atoms.add(formula)
    simple = _simplify(form, frozenset(atoms), of)
    return None if simple is None else _Branch(simple, frozenset(nodes), tuple(waiting))


def _says_nothing(formula: Formula) -> bool:
    return isinstance(formula, (Property, Properties, Items)) and isinstance(
        formula.value, AnyValue
    )


def _simplify(form: NormalForm, atoms: Atoms, of: JsonType) -> Atoms | None:
    """Join the lengths and look for plain contradictions; ``None`` where there is one."""
    if of == "array":
        lengths = [atom for atom in atoms if isinstance(atom, Length)]
        if not lengths:
            return atoms
        low = max(length.low for length in lengths)
        high = min((x.high for x in lengths if x.high is not None), default=None)
        if high is not None and low > high:
            return None
        return atoms.difference(lengths) | {Length(low, high)}
    required = {atom.name for atom in atoms if isinstance(atom, Required)}
    values: dict[str, set[Node]] = {}
    for atom in atoms:
        if isinstance(atom, Property) and atom.name in required:
            values.setdefault(atom.name, set()).add(atom.value)
    for nodes in values.values():
        if form.is_plainly_empty(frozenset(nodes)):
            return None
    return atoms


def _without_contained(found: list[Atoms]) -> list[Atoms]:
    """An alternative with more atoms than another is contained in it."""
    kept: list[Atoms] = []
    for atoms in sorted(found, key=len):
        if not any(other <= atoms for other in kept):
            kept.append(atoms)
    return [atoms for atoms in found if atoms in kept]
