"""The normal form: per value position and JSON type, a set of scalars or a shape.

A value position holds a set of nodes. For the scalar types that set becomes one set of scalars;
for arrays and objects it becomes a shape, which says what may come as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import cast

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.array_shape import ArrayShape
from mlx_structured.json_schema.emptiness import Emptiness
from mlx_structured.json_schema.few_values import Few, FewValues
from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
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
from mlx_structured.json_schema.json_types import CONTAINERS, TYPES, JsonType, json_type
from mlx_structured.json_schema.key_order import key_order
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.memo import Memo
from mlx_structured.json_schema.nodes import (
    AnyValue,
    Constant,
    Either,
    IntegerText,
    Negation,
    Node,
    NodeTable,
    NotString,
    NoValue,
    SchemaNode,
    ValueSet,
    is_passing,
)
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.json_schema.residual import Scalar
from mlx_structured.json_schema.responsible import keyword_pointer, responsible_keyword
from mlx_structured.json_schema.scalars import ScalarSet, scalar_members, scalar_set
from mlx_structured.languages.language import Language, complement, is_empty, literals, words
from mlx_structured.languages.spelled_numbers import INTEGER_TEXTS, Numbers, SpelledNumbers
from mlx_structured.limits import charge

MAX_SCALARS = 1_000
"""So many scalars are decided value by value, and those that an enum names."""


def _is_passing_of_type(key: tuple[ValueSet, JsonType]) -> bool:
    return is_passing(key[0])


def _have_no_scalar_in_common(
    one: dict[str, frozenset[Scalar]], other: dict[str, frozenset[Scalar]]
) -> bool:
    """Whether some key must have a value that is named for both, but not the same one."""
    return any(few.isdisjoint(other[name]) for name, few in one.items() if name in other)


def _too_deep(values: ValueSet, of: JsonType) -> LimitExceededError:
    keyword, pointer = responsible_keyword(values, of)
    return LimitExceededError("is nested too deeply", "nesting", keyword, pointer)


class NormalForm:
    """What may stand at each value position of one schema, found lazily and memoised.

    Arguments:
        table: the nodes of the schema.
        root: the node of the whole document.
        has_text: whether a nonempty set of numbers has a member that the style can write.
        listed: the members of a set of numbers that the style can write, ``None`` for more than
            so many.
    """

    def __init__(
        self,
        table: NodeTable,
        root: Node,
        has_text: Callable[[Numbers], bool],
        listed: Callable[[Numbers, int], list[Fraction] | None],
    ) -> None:
        self.table = table
        self.root: ValueSet = frozenset((root,))
        self._has_text = has_text
        self._listed = listed
        self._scalars: Memo[tuple[ValueSet, JsonType], ScalarSet] = Memo(_is_passing_of_type)
        self._expanded: Memo[tuple[Node, JsonType], Formula] = Memo(lambda key: key[0].passing)
        self._few: Memo[Node, frozenset[Scalar] | None] = Memo(lambda node: node.passing)
        self._plainly_empty: Memo[ValueSet, bool] = Memo(is_passing)
        self._arrays: Memo[ValueSet, ArrayShape] = Memo(is_passing)
        self._objects: Memo[ValueSet, ObjectShape] = Memo(is_passing)
        self._few_values = FewValues(self)
        self._emptiness = Emptiness(self)

    def release(self) -> None:
        """Take apart what refers to itself, so that it goes without a garbage collection."""
        self.table.release()
        vars(self).clear()

    def formula(self, node: Node, of: JsonType) -> Formula:
        """What the node says about values of one type."""
        formula = node.formulas.get(of)
        if formula is None:
            formula = self._formula(node, of) if of in node.types else FALSE
            node.formulas[of] = formula
        return formula

    def _formula(self, node: Node, of: JsonType) -> Formula:
        if isinstance(node, AnyValue):
            return TRUE
        if isinstance(node, NoValue):
            return FALSE
        if isinstance(node, NotString):
            return FALSE if of == "string" else TRUE
        if isinstance(node, IntegerText):
            return Within(INTEGER_TEXTS)
        if isinstance(node, Constant):
            return self._constant_formula(node, of)
        if isinstance(node, Either):
            return self._either_formula(node, of)
        assert isinstance(node, SchemaNode)
        said = []
        for name, value in node.keywords.items():
            keyword = KEYWORDS[name]
            if of in keyword.types:
                try:
                    formula = keyword.formula(node, of, value)
                except LimitExceededError as error:
                    error.locate(name, keyword_pointer(node, name))
                    raise
                if formula is not TRUE:
                    said.append(formula)
        return said[0] if len(said) == 1 else conjunction(said)

    def _either_formula(self, node: Either, of: JsonType) -> Formula:
        nodes = sorted(node.nodes, key=lambda each: each.index)
        if of in CONTAINERS:
            return disjunction(map(Holds, nodes))
        # Thousands of constants are one set, not as many unions.
        constants = [
            each.value
            for each in nodes
            if isinstance(each, Constant) and json_type(each.value) == of
        ]
        parts = [Holds(each) for each in nodes if not isinstance(each, Constant)]
        return disjunction([Within(scalar_members(of, constants)), *parts] if constants else parts)

    def _constant_formula(self, node: Constant, of: JsonType) -> Formula:
        value = node.value
        if json_type(value) != of:
            return FALSE
        constant = partial(self.table.constant, passing=node.passing)
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
        if any(of not in node.types for node in values):
            return False
        members = self.scalars(values, of)
        try:
            if isinstance(members, Language):
                return not is_empty(members)
            if isinstance(members, Numbers):
                return not members.is_empty() and self._has_text(members)
        except LimitExceededError as error:
            error.locate(*responsible_keyword(values, of))
            raise
        return bool(members)

    def expanded(self, node: Node, of: JsonType) -> Formula:
        """What the node says about arrays or objects, down to atoms."""
        known = self._expanded.get((node, of))
        if known is not None:
            return known
        # What it is made of comes first, on a stack of its own: nesting costs no recursion.
        found: dict[Node, Formula] = {}
        stack = [node]
        while stack:
            each = stack[-1]
            missing = []
            for part in self._parts(each, of):
                if part not in found:
                    known = self._expanded.get((part, of))
                    if known is None:
                        missing.append(part)
                    else:
                        found[part] = known
            if missing:
                stack += missing
            else:
                stack.pop()
                found[each] = self._expanded[each, of] = self._find_expanded(each, of, found)
        return found[node]

    def _parts(self, node: Node, of: JsonType) -> Iterator[Node]:
        """The nodes that apply to the same value."""
        if isinstance(node, Negation):
            yield node.inner
            return
        for leaf in leaves(self.formula(node, of)):
            if isinstance(leaf, Holds):
                yield leaf.node
            elif isinstance(leaf, OneOf):
                yield from leaf.nodes

    def _find_expanded(self, node: Node, of: JsonType, parts: Mapping[Node, Formula]) -> Formula:
        if isinstance(node, Negation):
            return negation(parts[node.inner], self.table)
        return replaced(self.formula(node, of), partial(self._expand, parts=parts))

    def _expand(self, leaf: Formula, parts: Mapping[Node, Formula]) -> Formula:
        if isinstance(leaf, Holds):
            return parts[leaf.node]
        if isinstance(leaf, OneOf):
            return self._one_of([parts[node] for node in leaf.nodes])
        if isinstance(leaf, Names):
            names = cast("Language", self.scalars(frozenset((leaf.value,)), "string"))
            return Properties(complement(names), self.table.no_value)
        return leaf

    def _one_of(self, formulas: Sequence[Formula]) -> Formula:
        """One branch holds, and none of those that can hold together with it."""
        named = [self._named_scalars(formula) for formula in formulas]
        opposites: dict[int, Formula] = {}
        charge(len(formulas) ** 2 // 32)

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
                        if j != i
                        and not _have_no_scalar_in_common(named[i], named[j])
                        and not self._is_plainly_apart(formula, other)
                    ),
                ]
            )
            for i, formula in enumerate(formulas)
        )

    def _named_scalars(self, formula: Formula) -> dict[str, frozenset[Scalar]]:
        """The few scalars that may stand under required keys."""
        parts = parts_of(formula)
        required = {part.name for part in parts if isinstance(part, Required)}
        found: dict[str, frozenset[Scalar]] = {}
        for part in parts:
            if isinstance(part, Property) and part.name in required:
                # A value that may be a container can lead back here.
                few = None if part.value.types & CONTAINERS else self.few_scalars(part.value)
                if few is not None:
                    found[part.name] = found.get(part.name, few) & few
        return found

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
        if len(values) == 1:
            (node,) = values
            return self.expanded(node, of)
        nodes = sorted(values, key=lambda node: node.index)
        return conjunction(self.expanded(node, of) for node in nodes)

    def array(self, values: ValueSet) -> ArrayShape | None:
        """The arrays at the position, if some array fits."""
        if any("array" not in node.types for node in values):
            return None
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
        if any("object" not in node.types for node in values):
            return None
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
        if not inner.types & CONTAINERS:
            return True
        return all(self.expanded(inner, of) is FALSE for of in CONTAINERS)

    def few_values(self, values: ValueSet, limit: int, pointer: str) -> Few:
        """The values at a position, or ``None`` for more; see :meth:`FewValues.of`."""
        return self._few_values.of(values, limit, pointer)

    def listed_scalars(
        self, values: ValueSet, of: JsonType, limit: int
    ) -> Iterable[str | Fraction | bool | None] | None:
        """The scalars of one type that can be written at a position, or ``None`` for too many."""
        members = self.scalars(values, of)
        if isinstance(members, Language):
            return words(members, limit)
        if isinstance(members, Numbers):
            return self._listed(members, limit)
        return members

    def few_scalars(self, node: Node) -> frozenset[Scalar] | None:
        """The scalars that satisfy the node, if nothing else does and they are few.

        Where :meth:`spellings` has something to say, a number may have to be written in one way.
        """
        if node in self._few:
            return self._few.get(node)
        found = self._few[node] = self._find_few_scalars(node)
        return found

    def spellings(self, node: Node) -> SpelledNumbers | None:
        """The numbers that satisfy a node of few scalars, if it matters how they are written."""
        members = self.scalars(frozenset((node,)), "number")
        return members if isinstance(members, SpelledNumbers) else None

    def _find_few_scalars(self, node: Node) -> frozenset[Scalar] | None:
        if isinstance(node, (AnyValue, NoValue)) or not self.is_scalar(node):
            return None
        named = node.keywords.get("enum", ()) if isinstance(node, SchemaNode) else ()
        return self._scalars_if_few(frozenset((node,)), max(MAX_SCALARS, len(named)))

    def _scalars_if_few(
        self, position: ValueSet, most: int = MAX_SCALARS
    ) -> frozenset[Scalar] | None:
        found: list[Scalar] = []
        for of in TYPES:
            if of in CONTAINERS:
                continue
            members = self.scalars(position, of)
            if isinstance(members, Language):
                values: Iterable[object] | None = words(members, most)
            elif isinstance(members, Numbers):
                values = members.values(most)
            else:
                values = members
            if values is None:
                return None
            found += [Scalar(of, cast("str", value)) for value in values]
        return frozenset(found)

    @property
    def is_searching(self) -> bool:
        """Whether some position is being looked into, so that "no" isn't final."""
        return self._emptiness.is_searching or self._few_values.is_searching

    @property
    def doubts(self) -> int:
        """How many answers were "no" only because their position is being looked into."""
        return self._emptiness.doubts

    def doubt(self) -> None:
        """Take "no" for unfinished, as an answer that isn't final took part in it."""
        self._emptiness.doubt()

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
