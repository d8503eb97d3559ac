"""What still has to hold of an object or array, while it is written part by part.

A formula is read like a regular expression by derivatives: after a key (or an item) each atom that
speaks of it becomes a condition on the value there (:class:`~formula.Here`) and what is left to
hold of the rest. The conditions are then decided one by one, so that a disjunction splits only
where it must, on the values of that one key: ``if``/``then``, ``dependentRequired`` and branches
with a discriminator never multiply with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from mlx_structured.json_schema.distinct import Canonical, canonical_value
from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    All,
    Any,
    Formula,
    Here,
    conjunction,
    disjunction,
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.nodes import Constant, Negation, Node, ValueSet, is_passing
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm
    from mlx_structured.languages.spelled_numbers import SpelledNumbers


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
        conditions = conditions_of(rest)
        if conditions:
            stack += _split(form, rest, held, conditions)
        else:
            found[Branch(held, rest)] = None
    return _joined(form, found)


def conditions_of(formula: Formula) -> dict[Node, None]:
    """The conditions on the value that is read now, in their order."""
    return dict.fromkeys(leaf.value for leaf in leaves(formula) if isinstance(leaf, Here))


def _split(
    form: NormalForm, rest: Formula, held: ValueSet, conditions: Mapping[Node, None]
) -> list[tuple[Formula, ValueSet]]:
    """Alternatives, each with less to decide."""
    for node in conditions:
        if form.is_scalar(node):
            return _decided_both_ways(form, rest, held, node, apart=True)
    constants: dict[Canonical, list[Node]] = {}
    for node in conditions:
        inner = node.inner if isinstance(node, Negation) else node
        if isinstance(inner, Constant):
            constants.setdefault(canonical_value(inner.value), []).append(node)
    if len(constants) > 1:
        return _told_apart(form, rest, held, list(constants.values()))
    parts = parts_of(rest)
    spoken = Counter(
        node.inner if isinstance(node, Negation) else node
        for part in parts
        for node in conditions_of(part)
    )
    shared, times = spoken.most_common(1)[0]
    if times > 1:
        opposite = form.table.negation(shared)
        node = shared if shared in conditions else opposite
        apart = form.table.negation(node) in conditions
        return _decided_both_ways(form, rest, held, node, apart=apart)
    clause = next(part for part in parts if isinstance(part, Any) and conditions_of(part))
    others = [part for part in parts if part is not clause]
    return [(conjunction([option, *others]), held) for option in _options(clause)]


def _told_apart(
    form: NormalForm, rest: Formula, held: ValueSet, constants: list[list[Node]]
) -> list[tuple[Formula, ValueSet]]:
    """Decide the conditions on several values at once, each of which is only equal to itself.

    Arguments:
        constants: for each value the nodes of it, and of its opposite.
    """
    table = form.table
    deciding = _Deciding({node: isinstance(node, Negation) for each in constants for node in each})
    usual = deciding.usual(rest)
    cells: dict[Formula, list[Node]] = {}
    for nodes in constants:
        charge(1 + len(nodes) // 32, 100 + 8 * len(nodes))
        outcome = deciding.result(rest, frozenset(nodes))
        # What the value must not be declares none of its keys.
        asked = [node for node in nodes if not isinstance(node, Negation)]
        value = asked[0] if asked else table.undeclared(table.negation(nodes[0]))
        if outcome is not usual and outcome != usual:
            cells.setdefault(outcome, []).append(value)
    named = table.either(value for values in cells.values() for value in values)
    ways = [(usual, held | {table.negation(named)})] if usual is not FALSE else []
    return ways + [
        (outcome, held | {table.either(values)})
        for outcome, values in cells.items()
        if outcome is not FALSE
    ]


def _decided_both_ways(
    form: NormalForm, rest: Formula, held: ValueSet, node: Node, *, apart: bool
) -> list[tuple[Formula, ValueSet]]:
    """With the condition, and as if it didn't hold; ``apart``: only where it doesn't."""
    ways = [(_decided(rest, node, holds=True), held | {node})]
    without = _decided(rest, node, holds=False)
    if without is not FALSE:
        ways.insert(0, (without, held | {form.table.negation(node)} if apart else held))
    return ways


def _options(clause: Any) -> Iterator[Formula]:
    """The parts of a disjunction, those on the same conditions together.

    They may hold side by side: a value that fits several is read in several ways at once.
    """
    grouped: dict[frozenset[Formula], list[Formula]] = {}
    for option in clause.parts:
        parts = parts_of(option)
        here: frozenset[Formula] = frozenset(part for part in parts if isinstance(part, Here))
        rest = conjunction(part for part in parts if part not in here)
        if conditions_of(rest):
            yield option
        else:
            grouped.setdefault(here, []).append(rest)
    for here, rests in grouped.items():
        yield conjunction([*here, disjunction(rests)])


def _cells(form: NormalForm, rest: Formula, held: ValueSet) -> Iterator[tuple[Formula, ValueSet]]:
    """Decide all conditions that single out some scalars, at once: by the values they name."""
    usual: dict[Node, bool] = {}
    singling: dict[Scalar, list[Node]] = {}
    spelled: dict[Node, SpelledNumbers] = {}
    for node in conditions_of(rest):
        inner = node.inner if isinstance(node, Negation) else node
        few = form.few_scalars(inner)
        if few is not None:
            usual[node] = isinstance(node, Negation)
            spellings = form.spellings(inner)
            if spellings is not None:
                spelled[node] = spellings
            for scalar in few:
                singling.setdefault(scalar, []).append(node)
    if len(usual) < 2:
        yield rest, held
        return
    deciding = _Deciding(usual)
    table = form.table
    cells: dict[tuple[Formula, ValueSet], list[Scalar]] = {}
    for scalar, nodes in sorted(singling.items(), key=lambda each: repr(each[0])):
        charge(1 + len(nodes) // 32, 100 + 8 * len(nodes))
        for written, turned in _spellings(form, scalar, nodes, spelled):
            outcome = deciding.result(rest, frozenset(turned))
            if outcome is not FALSE:
                cells.setdefault((outcome, written), []).append(scalar)
    constant = partial(table.constant, passing=is_passing(frozenset(usual)))
    for (outcome, written), scalars in cells.items():
        yield outcome, held | {table.either(constant(each.value) for each in scalars)} | written
    outcome = deciding.usual(rest)
    if outcome is not FALSE:
        named = table.either(constant(each.value) for each in singling)
        yield outcome, held | {table.negation(named)}


def _spellings(
    form: NormalForm, scalar: Scalar, nodes: list[Node], spelled: Mapping[Node, SpelledNumbers]
) -> list[tuple[ValueSet, list[Node]]]:
    """The ways to write a scalar that the nodes tell apart, with those that single it out so."""
    value = scalar.value
    if not isinstance(value, Fraction) or spelled.keys().isdisjoint(nodes):
        return [(frozenset(), nodes)]
    integer_text = form.table.integer_text
    return [
        (
            frozenset((form.table.negation(integer_text),)),
            [each for each in nodes if each not in spelled or spelled[each].others.contains(value)],
        ),
        (
            frozenset((integer_text,)),
            [each for each in nodes if each not in spelled or spelled[each].whole.contains(value)],
        ),
    ]


class _Deciding:
    """A formula for many values, each of which turns few of the usual verdicts around.

    What a value doesn't turn around is worked out once, so that thousands of values cost no more
    than what each of them changes.

    Arguments:
        verdicts: which conditions hold of a value that none of them singles out.
    """

    def __init__(self, verdicts: Mapping[Node, bool]) -> None:
        self._verdicts = verdicts
        self._usual: dict[Formula, Formula] = {}
        self._effective: dict[Formula, dict[Formula, Formula]] = {}
        self._touched: dict[Formula, dict[Node, list[Formula]]] = {}

    def usual(self, formula: Formula) -> Formula:
        """What is left when all verdicts are the usual ones."""
        found = self._usual.get(formula)
        if found is None:
            if isinstance(formula, All):
                found = conjunction(map(self.usual, formula.parts))
            elif isinstance(formula, Any):
                found = disjunction(map(self.usual, formula.parts))
            else:
                found = self._leaf(formula, frozenset())
            self._usual[formula] = found
        return found

    def result(self, formula: Formula, turned: frozenset[Node]) -> Formula:
        """What is left when the verdicts on some nodes are the opposite of the usual ones."""
        if not isinstance(formula, (All, Any)):
            return self._leaf(formula, turned)
        touching = self._touching(formula)
        touched = {part: None for node in turned for part in touching.get(node, ())}
        if not touched:
            return self.usual(formula)
        results = [self.result(part, turned) for part in touched]
        deciding = FALSE if isinstance(formula, All) else TRUE
        effective = self._effective[formula]
        if deciding not in results:
            results += [left for part, left in effective.items() if part not in touched]
        return (conjunction if isinstance(formula, All) else disjunction)(results)

    def _leaf(self, leaf: Formula, turned: frozenset[Node]) -> Formula:
        if not isinstance(leaf, Here) or leaf.value not in self._verdicts:
            return leaf
        return TRUE if self._verdicts[leaf.value] != (leaf.value in turned) else FALSE

    def _touching(self, formula: All | Any) -> dict[Node, list[Formula]]:
        """Which parts speak of each node; notes the parts that make a difference usually."""
        found = self._touched.get(formula)
        if found is None:
            found = self._touched[formula] = {}
            neutral = TRUE if isinstance(formula, All) else FALSE
            left = {part: self.usual(part) for part in formula.parts}
            self._effective[formula] = {
                part: usual for part, usual in left.items() if usual is not neutral
            }
            for part in formula.parts:
                for node in self._nodes(part):
                    found.setdefault(node, []).append(part)
        return found

    def _nodes(self, formula: Formula) -> Iterable[Node]:
        if isinstance(formula, (All, Any)):
            return self._touching(formula)
        is_decided = isinstance(formula, Here) and formula.value in self._verdicts
        return [cast("Here", formula).value] if is_decided else []


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
    if form.table.negation(node) in held or form.is_plainly_empty(held | {node}):
        return False
    return True if form.is_plainly_empty(held | {form.table.negation(node)}) else None


def _decided(formula: Formula, node: Node, *, holds: bool) -> Formula:
    def change(leaf: Formula) -> Formula:
        if isinstance(leaf, Here) and leaf.value is node:
            return TRUE if holds else FALSE
        return leaf

    return replaced(formula, change)


def _joined(form: NormalForm, found: Iterable[Branch]) -> list[Branch]:
    """Without the branches that another one covers."""
    kept: dict[Formula, list[ValueSet]] = {}
    for held, rest in found:
        values = (held - {form.table.any_value}) or frozenset({form.table.any_value})
        same = kept.setdefault(rest, [])
        if not any(other <= values for other in same):
            same.append(values)
    return [Branch(values, rest) for rest, same in kept.items() for values in same]
