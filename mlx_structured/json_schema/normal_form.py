"""The normal form: per value position and JSON type, a set of scalars or a shape.

A value position holds a set of nodes. For the scalar types that set becomes one set of scalars;
for arrays and objects it becomes a shape, which says what may come as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import cast

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.array_shape import ArrayShape
from mlx_structured.json_schema.distinct import Canonical, canonical_scalar
from mlx_structured.json_schema.emptiness import Emptiness
from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Count,
    Exists,
    Formula,
    Holds,
    Items,
    Length,
    Names,
    OneOf,
    Properties,
    Property,
    Required,
    Within,
    conjunction,
    disjunction,
    leaves,
    negation,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.key_order import key_order
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import (
    CONTAINERS,
    TYPES,
    AnyValue,
    Constant,
    Either,
    JsonType,
    Negation,
    Node,
    NodeTable,
    NoValue,
    SchemaNode,
    ValueSet,
    json_type,
)
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.json_schema.residual import Scalar
from mlx_structured.json_schema.responsible import keyword_pointer, responsible_keyword
from mlx_structured.json_schema.scalars import ScalarSet, scalar_members, scalar_set
from mlx_structured.languages.language import Language, complement, is_empty, literals, words
from mlx_structured.languages.number_set import NumberSet
from mlx_structured.limits import charge

MAX_SCALARS = 1_000
"""Enums up to this size are decided value by value."""


def nodes_of(atom: Formula, table: NodeTable) -> set[Node]:
    """The nodes that an atom may ask values to satisfy."""
    if isinstance(atom, (Property, Properties, Exists, Items)):
        return {atom.value}
    if isinstance(atom, Count):
        return {atom.value, table.negation(atom.value)} if atom.most is not None else {atom.value}
    return set()


def _too_deep(values: ValueSet, of: JsonType) -> LimitExceededError:
    keyword, pointer = responsible_keyword(values, of)
    return LimitExceededError("is nested too deeply", "nesting", keyword, pointer)


class NormalForm:
    """What may stand at each value position of one schema, found lazily and memoised.

    Arguments:
        table: the nodes of the schema.
        root: the node of the whole document.
        has_text: whether a nonempty set of numbers has a member that the style can write.
    """

    def __init__(self, table: NodeTable, root: Node, has_text: Callable[[NumberSet], bool]) -> None:
        self.table = table
        self.root: ValueSet = frozenset((root,))
        self._has_text = has_text
        self._scalars: dict[tuple[ValueSet, JsonType], ScalarSet] = {}
        self._expanded: dict[tuple[Node, JsonType], Formula] = {}
        self._few_values: dict[ValueSet, frozenset[Canonical] | None] = {}
        self._few: dict[Node, frozenset[Scalar] | None] = {}
        self._plainly_empty: dict[ValueSet, bool] = {}
        self._arrays: dict[ValueSet, ArrayShape] = {}
        self._objects: dict[ValueSet, ObjectShape] = {}
        self._emptiness = Emptiness(self)

    def formula(self, node: Node, of: JsonType) -> Formula:
        """What the node says about values of one type."""
        formula = node.formulas.get(of)
        if formula is None:
            formula = node.formulas[of] = self._formula(node, of)
        return formula

    def _formula(self, node: Node, of: JsonType) -> Formula:
        if isinstance(node, AnyValue):
            return TRUE
        if isinstance(node, NoValue):
            return FALSE
        if isinstance(node, Constant):
            return self._constant_formula(node.value, of)
        if isinstance(node, Either):
            return disjunction(map(Holds, sorted(node.nodes, key=lambda each: each.index)))
        assert isinstance(node, SchemaNode)
        parts = []
        for name, value in node.keywords.items():
            keyword = KEYWORDS[name]
            if of in keyword.types:
                try:
                    parts.append(keyword.formula(node, of, value))
                except LimitExceededError as error:
                    error.locate(name, keyword_pointer(node, name))
                    raise
        return conjunction(parts)

    def _constant_formula(self, value: object, of: JsonType) -> Formula:
        if json_type(value) != of:
            return FALSE
        constant = self.table.constant
        if isinstance(value, dict):
            others = complement(literals(value))
            atoms: list[Formula] = [Properties(others, self.table.no_value)]
            for name, member in value.items():
                atoms += [Required(name), Property(name, constant(member))]
            return conjunction(atoms)
        if isinstance(value, (list, tuple)):
            return conjunction(
                [
                    Length(len(value), len(value)),
                    *(Items(i, i + 1, constant(item)) for i, item in enumerate(value)),
                ]
            )
        return Within(scalar_members(of, [value]))

    def scalars(self, values: ValueSet, of: JsonType) -> ScalarSet:
        """The scalars of one type at the position."""
        key = (values, of)
        members = self._scalars.get(key)
        if members is None:
            try:
                members = self._scalars[key] = scalar_set(self, values, of)
            except LimitExceededError as error:
                error.locate(*responsible_keyword(values, of))
                raise
        return members

    def has_scalar(self, values: ValueSet, of: JsonType) -> bool:
        """Whether a scalar of that type can be written at the position."""
        members = self.scalars(values, of)
        try:
            if isinstance(members, Language):
                return not is_empty(members)
            if isinstance(members, NumberSet):
                return not members.is_empty() and self._has_text(members)
        except LimitExceededError as error:
            error.locate(*responsible_keyword(values, of))
            raise
        return bool(members)

    def expanded(self, node: Node, of: JsonType) -> Formula:
        """What the node says about arrays or objects, down to atoms."""
        # What it is made of comes first, on a stack of its own: nesting costs no recursion.
        stack = [] if (node, of) in self._expanded else [node]
        while stack:
            each = stack[-1]
            missing = [part for part in self.parts(each, of) if (part, of) not in self._expanded]
            if missing:
                stack += missing
            else:
                stack.pop()
                self._expanded[each, of] = self._find_expanded(each, of)
        return self._expanded[node, of]

    def parts(self, node: Node, of: JsonType) -> Iterator[Node]:
        """The nodes that apply to the same value."""
        if isinstance(node, Negation):
            yield node.inner
            return
        for leaf in leaves(self.formula(node, of)):
            if isinstance(leaf, Holds):
                yield leaf.node
            elif isinstance(leaf, OneOf):
                yield from leaf.nodes

    def _find_expanded(self, node: Node, of: JsonType) -> Formula:
        if isinstance(node, Negation):
            return negation(self._expanded[node.inner, of], self.table)
        return replaced(self.formula(node, of), partial(self._expand, of=of))

    def _expand(self, leaf: Formula, of: JsonType) -> Formula:
        if isinstance(leaf, Holds):
            return self.expanded(leaf.node, of)
        if isinstance(leaf, OneOf):
            return self._one_of(leaf.nodes, of)
        if isinstance(leaf, Names):
            names = cast("Language", self.scalars(frozenset((leaf.value,)), "string"))
            return Properties(complement(names), self.table.no_value)
        return leaf

    def _one_of(self, nodes: tuple[Node, ...], of: JsonType) -> Formula:
        """One branch holds, and none of those that can hold together with it."""
        formulas = [self.expanded(node, of) for node in nodes]
        opposites: dict[int, Formula] = {}
        charge(len(nodes) ** 2 // 32)

        def opposite(index: int) -> Formula:
            if index not in opposites:
                opposites[index] = negation(formulas[index], self.table)
            return opposites[index]

        return disjunction(
            conjunction(
                [
                    formula,
                    *(
                        opposite(j)
                        for j, other in enumerate(formulas)
                        if j != i and not self._is_plainly_apart(formula, other)
                    ),
                ]
            )
            for i, formula in enumerate(formulas)
        )

    def _is_plainly_apart(self, one: Formula, other: Formula) -> bool:
        """Whether both need a value under the same key that no value is."""
        if one is FALSE or other is FALSE:
            return True
        required: list[set[str]] = []
        values: dict[str, set[Node]] = {}
        for formula in (one, other):
            parts = parts_of(formula)
            required.append({part.name for part in parts if isinstance(part, Required)})
            for part in parts:
                if isinstance(part, Property):
                    values.setdefault(part.name, set()).add(part.value)
        return any(
            self._has_no_scalar(frozenset(values.get(name, ())))
            for name in required[0] & required[1]
        )

    def _has_no_scalar(self, values: ValueSet) -> bool:
        """Whether a scalar is asked for that there isn't."""
        return any(self._is_scalar_enum(node) for node in values) and not any(
            self.has_scalar(values, of) for of in TYPES if of not in CONTAINERS
        )

    @staticmethod
    def _is_scalar_enum(node: Node) -> bool:
        if isinstance(node, NoValue):
            return True
        if not isinstance(node, SchemaNode):
            return False
        if "const" in node.keywords:
            return json_type(node.keywords["const"]) not in CONTAINERS
        members = node.keywords.get("enum")
        return members is not None and all(json_type(m) not in CONTAINERS for m in members)

    def _position(self, values: ValueSet, of: JsonType) -> Formula:
        nodes = sorted(values, key=lambda node: node.index)
        return conjunction(self.expanded(node, of) for node in nodes)

    def array(self, values: ValueSet) -> ArrayShape | None:
        """The arrays at the position, if some array fits."""
        try:
            shape = self._arrays.get(values)
            if shape is None:
                shape = self._arrays[values] = ArrayShape(self, self._position(values, "array"))
            return shape if shape.is_feasible() else None
        except LimitExceededError as error:
            error.locate(*responsible_keyword(values, "array"))
            raise
        except RecursionError as error:
            raise _too_deep(values, "array") from error

    def object(self, values: ValueSet) -> ObjectShape | None:
        """The objects at the position, if some object fits."""
        try:
            shape = self._objects.get(values)
            if shape is None:
                formula = self._position(values, "object")
                shape = self._objects[values] = ObjectShape(self, key_order(values), formula)
            return shape if shape.is_feasible() else None
        except LimitExceededError as error:
            error.locate(*responsible_keyword(values, "object"))
            raise
        except RecursionError as error:
            raise _too_deep(values, "object") from error

    def is_scalar(self, node: Node) -> bool:
        """Whether only scalars satisfy the node, or only scalars don't."""
        inner = node.inner if isinstance(node, Negation) else node
        return all(self.expanded(inner, of) is FALSE for of in CONTAINERS)

    def few_values(self, values: ValueSet) -> frozenset[Canonical] | None:
        """The values at a position, if they are few scalars; containers count as many."""
        if values in self._few_values:
            return self._few_values[values]
        found = self._find_few_values(values)
        if not self.is_searching:
            self._few_values[values] = found
        return found

    def _find_few_values(self, values: ValueSet) -> frozenset[Canonical] | None:
        if self.array(values) is not None or self.object(values) is not None:
            return None
        found = self._scalars_if_few(values)
        return None if found is None else frozenset(canonical_scalar(x.value) for x in found)

    def few_scalars(self, node: Node) -> frozenset[Scalar] | None:
        """The scalars that satisfy the node, if nothing else does and they are few."""
        if node not in self._few:
            self._few[node] = self._find_few_scalars(node)
        return self._few[node]

    def _find_few_scalars(self, node: Node) -> frozenset[Scalar] | None:
        if isinstance(node, (AnyValue, NoValue)) or not self.is_scalar(node):
            return None
        return self._scalars_if_few(frozenset((node,)))

    def _scalars_if_few(self, position: ValueSet) -> frozenset[Scalar] | None:
        found: list[Scalar] = []
        for of in TYPES:
            if of in CONTAINERS:
                continue
            members = self.scalars(position, of)
            if isinstance(members, Language):
                values: Iterable[object] | None = words(members, MAX_SCALARS)
            elif isinstance(members, NumberSet):
                values = members.values(MAX_SCALARS)
            else:
                values = members
            if values is None:
                return None
            found += [Scalar(of, cast("str", value)) for value in values]
        return frozenset(found)

    @property
    def is_searching(self) -> bool:
        """Whether the emptiness of some position is being decided, so that "no" isn't final."""
        return self._emptiness.is_searching

    def is_nonempty(self, values: ValueSet) -> bool:
        """Whether some finite value, writable in the style, satisfies every node."""
        return self._emptiness.is_nonempty(values)

    def is_plainly_empty(self, values: ValueSet) -> bool:
        """Whether no value fits for a reason that needs no look into containers."""
        found = self._plainly_empty.get(values)
        if found is None:
            found = self._plainly_empty[values] = self._find_plainly_empty(values)
        return found

    def _is_plainly_false(self, node: Node, of: JsonType) -> bool:
        if isinstance(node, Negation):
            return self.expanded(node.inner, of) is TRUE
        return self.expanded(node, of) is FALSE

    def expand_all(self) -> None:
        """Take every node that can come into play down to atoms.

        Raises:
            UnsupportedSchemaError: where the opposite of a keyword may be asked for that has none.
        """
        seen = set(self.root)
        stack = list(self.root)
        while stack:
            node = stack.pop()
            for of in CONTAINERS:
                for leaf in leaves(self.expanded(node, of)):
                    new = nodes_of(leaf, self.table) - seen
                    seen |= new
                    stack += new

    def _find_plainly_empty(self, values: ValueSet) -> bool:
        if any(isinstance(node, NoValue) for node in values):
            return True
        for of in TYPES:
            if of in CONTAINERS:
                if not any(self._is_plainly_false(node, of) for node in values):
                    return False
            elif self.has_scalar(values, of):
                return False
        return True
