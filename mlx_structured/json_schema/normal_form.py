"""The normal form: per value position and JSON type, a set of scalars or a list of shapes.

A value position holds a set of nodes. For the scalar types that set becomes one set of scalars;
for arrays and objects it becomes alternatives, each a shape without any disjunction left.
"""

from __future__ import annotations

from collections.abc import Callable

from mlx_structured.json_schema.alternatives import alternatives
from mlx_structured.json_schema.array_shape import ArrayShape
from mlx_structured.json_schema.emptiness import Emptiness
from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Formula,
    Items,
    Length,
    Properties,
    Property,
    Required,
    Within,
    conjunction,
)
from mlx_structured.json_schema.key_order import key_order
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import (
    CONTAINERS,
    TYPES,
    AnyValue,
    Constant,
    JsonType,
    Node,
    NodeTable,
    NoValue,
    SchemaNode,
    ValueSet,
    json_type,
)
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.json_schema.scalars import ScalarSet, scalar_members, scalar_set
from mlx_structured.languages.language import Language, complement, is_empty, literals
from mlx_structured.languages.number_set import NumberSet


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
        self._key_orders: dict[ValueSet, tuple[str, ...]] = {}
        self._arrays: dict[ValueSet, tuple[ArrayShape, ...]] = {}
        self._objects: dict[ValueSet, tuple[ObjectShape, ...]] = {}
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
        assert isinstance(node, SchemaNode)
        keywords = node.keywords
        if node.dialect.ref_hides_siblings and "$ref" in keywords:
            keywords = {"$ref": keywords["$ref"]}
        return conjunction(
            keyword.formula(node, of, value)
            for keyword, value in ((KEYWORDS[name], value) for name, value in keywords.items())
            if of in keyword.types
        )

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
            members = self._scalars[key] = scalar_set(self, values, of)
        return members

    def has_scalar(self, values: ValueSet, of: JsonType) -> bool:
        """Whether a scalar of that type can be written at the position."""
        members = self.scalars(values, of)
        if isinstance(members, Language):
            return not is_empty(members)
        if isinstance(members, NumberSet):
            return not members.is_empty() and self._has_text(members)
        return bool(members)

    def key_order(self, values: ValueSet) -> tuple[str, ...]:
        """The keys that the position's schemas name, in their order."""
        order = self._key_orders.get(values)
        if order is None:
            order = self._key_orders[values] = key_order(values)
        return order

    def arrays(self, values: ValueSet) -> tuple[ArrayShape, ...]:
        """The alternatives for an array at the position, those that some array fits."""
        shapes = self._arrays.get(values)
        if shapes is None:
            shapes = self._arrays[values] = tuple(
                shape for shape in self.candidate_arrays(values) if shape.is_feasible(self)
            )
        return shapes

    def objects(self, values: ValueSet) -> tuple[ObjectShape, ...]:
        """The alternatives for an object at the position, those that some object fits."""
        shapes = self._objects.get(values)
        if shapes is None:
            shapes = self._objects[values] = tuple(
                shape for shape in self.candidate_objects(values) if shape.is_feasible(self)
            )
        return shapes

    def candidate_arrays(self, values: ValueSet) -> list[ArrayShape]:
        """The alternatives for an array, feasible or not."""
        return [ArrayShape(self.table, atoms) for atoms in alternatives(self, values, "array")]

    def candidate_objects(self, values: ValueSet) -> list[ObjectShape]:
        """The alternatives for an object, feasible or not."""
        order = self.key_order(values)
        return [
            ObjectShape(self.table, order, atoms) for atoms in alternatives(self, values, "object")
        ]

    def is_nonempty(self, values: ValueSet) -> bool:
        """Whether some finite value, writable in the style, satisfies every node."""
        return self._emptiness.is_nonempty(values)

    def is_plainly_empty(self, values: ValueSet) -> bool:
        """Whether no value fits for a reason that needs no look into containers."""
        if any(isinstance(node, NoValue) for node in values):
            return True
        for of in TYPES:
            if of in CONTAINERS:
                if all(self.formula(node, of) != FALSE for node in values):
                    return False
            elif self.has_scalar(values, of):
                return False
        return True
