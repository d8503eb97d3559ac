"""``unevaluatedProperties`` and ``unevaluatedItems``: what no other subschema looked at.

That a key is evaluated doesn't depend on the value under it, only on which subschemas hold. So for
each class of keys that the schema tells apart there is one clause: every value there satisfies the
keyword's schema, or one of the subschemas that evaluate such keys holds. The clauses stand side by
side, where enumerating which subschemas hold would take 2^n alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import combinations
from typing import Any, TypeAlias

from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Formula,
    Holds,
    Items,
    Properties,
    Property,
    Required,
    conjunction,
    disjunction,
)
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.key_classes import key_classes
from mlx_structured.json_schema.nodes import Node, SchemaNode
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.language import (
    Language,
    complement,
    intersection,
    is_empty,
    is_subset,
    literals,
    union,
)
from mlx_structured.limits import charge


def unevaluated_properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``unevaluatedProperties`` (2020-12 core, section 11.3)."""
    child = node.child("unevaluatedProperties")
    names, patterns = _keys(node)
    clauses = [
        disjunction([Property(name, child), _evaluates(node, literals([name]), {})])
        for name in names
    ]
    # What a pattern matches that holds in any case is evaluated: only other keys are told apart.
    sure = _sure_patterns(node)
    others = complement(union(map(search_language, sure)))
    for each in key_classes(names, map(search_language, sorted(patterns - sure))):
        keys = intersection([each, others])
        if not is_empty(keys):
            clauses.append(disjunction([Properties(keys, child), _evaluates(node, keys, {})]))
    return conjunction(clauses)


def unevaluated_properties_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("unevaluatedProperties"),)


def applied(node: Node) -> Iterator[tuple[Formula, SchemaNode]]:
    """The subschemas of the same value, each with the condition under which it holds."""
    if not isinstance(node, SchemaNode):
        return
    keywords = node.keywords
    found: list[tuple[Formula, Node]] = []
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in keywords:
            found.append((TRUE, node.reference(keyword)))
    found += [(TRUE, node.child("allOf", i)) for i in range(len(keywords.get("allOf", ())))]
    for keyword in ("anyOf", "oneOf"):
        branches = [node.child(keyword, i) for i in range(len(keywords.get(keyword, ())))]
        found += [(Holds(branch), branch) for branch in branches]
    if "if" in keywords:
        condition = node.child("if")
        found.append((Holds(condition), condition))
        if "then" in keywords:
            found.append((Holds(condition), node.child("then")))
        if "else" in keywords:
            found.append((Holds(node.table.negation(condition)), node.child("else")))
    for name in keywords.get("dependentSchemas", ()):
        found.append((Required(name), node.child("dependentSchemas", name)))
    for condition_formula, child in found:
        if isinstance(child, SchemaNode):
            yield condition_formula, child


def _reached(node: SchemaNode) -> Iterator[SchemaNode]:
    """The node and all that apply to the same value."""
    seen = {node}
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        new = [child for _, child in applied(each) if child not in seen]
        seen.update(new)
        stack += new


def _keys(node: SchemaNode) -> tuple[list[str], Set[str]]:
    names: dict[str, None] = {}
    patterns: dict[str, None] = {}
    for each in _reached(node):
        names |= dict.fromkeys(each.keywords.get("properties", ()))
        patterns |= dict.fromkeys(each.keywords.get("patternProperties", ()))
    return list(names), patterns.keys()


def _sure_patterns(node: SchemaNode) -> Set[str]:
    """The patterns of keys of the node and of all that hold whenever it does."""
    patterns: dict[str, None] = {}
    seen = {node}
    stack = [node]
    while stack:
        each = stack.pop()
        patterns |= dict.fromkeys(each.keywords.get("patternProperties", ()))
        new = [child for when, child in applied(each) if when is TRUE and child not in seen]
        seen.update(new)
        stack += new
    return patterns.keys()


def _evaluates(node: SchemaNode, keys: Language, known: dict[SchemaNode, Formula]) -> Formula:
    """When the node evaluates such keys, given that it holds.

    The first node asked for is the one whose own ``unevaluatedProperties`` doesn't count.
    """
    found = known.get(node)
    if found is None:
        outermost = not known
        known[node] = FALSE
        found = known[node] = _find_evaluates(node, keys, known, outermost=outermost)
    return found


def _find_evaluates(
    node: SchemaNode, keys: Language, known: dict[SchemaNode, Formula], *, outermost: bool
) -> Formula:
    keywords = node.keywords
    if "additionalProperties" in keywords:
        return TRUE
    if "unevaluatedProperties" in keywords and not outermost:
        return TRUE
    named = [
        literals(keywords.get("properties", ())),
        *map(search_language, keywords.get("patternProperties", ())),
    ]
    if is_subset(keys, union(named)):
        return TRUE
    return disjunction(
        conjunction([condition, _evaluates(child, keys, known)])
        for condition, child in applied(node)
    )


def unevaluated_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``unevaluatedItems`` (2020-12 core, section 11.2)."""
    child = node.child("unevaluatedItems")
    edges = sorted({0, *(len(_prefix(each)) for each in _reached(node))})
    clauses = []
    for low, high in zip(edges, (*edges[1:], None), strict=True):
        everything, members = _evaluates_items(node, low, {})
        ways = [everything]
        for size in range(len(members) + 1):
            for chosen in combinations(members, size):
                charge(1 + size, 1_000)
                allowed = node.table.either([child, *(each for _, each in chosen)])
                conditions = [condition for condition, _ in chosen]
                ways.append(conjunction([*conditions, Items(low, high, allowed)]))
        clauses.append(disjunction(ways))
    return conjunction(clauses)


def unevaluated_items_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("unevaluatedItems"),)


def _prefix(node: SchemaNode) -> list[Any]:
    """The keyword's list of schemas for the first items."""
    prefix = node.keywords.get("prefixItems", node.keywords.get("items"))
    return prefix if isinstance(prefix, list) else []


ItemsEvaluated: TypeAlias = tuple[Formula, list[tuple[Formula, Node]]]


def _evaluates_items(
    node: SchemaNode, index: int, known: dict[SchemaNode, ItemsEvaluated]
) -> ItemsEvaluated:
    """When the node evaluates the item, and when those that satisfy its ``contains``.

    The first node asked for is the one whose own ``unevaluatedItems`` doesn't count.
    """
    found = known.get(node)
    if found is None:
        outermost = not known
        known[node] = (FALSE, [])
        found = known[node] = _find_evaluates_items(node, index, known, outermost=outermost)
    return found


def _find_evaluates_items(
    node: SchemaNode, index: int, known: dict[SchemaNode, ItemsEvaluated], *, outermost: bool
) -> ItemsEvaluated:
    keywords = node.keywords
    prefix = _prefix(node)
    rest = "additionalItems" if isinstance(keywords.get("items"), list) else "items"
    if index < len(prefix) or rest in keywords:
        return TRUE, []
    if "unevaluatedItems" in keywords and not outermost:
        return TRUE, []
    everything: list[Formula] = []
    members: list[tuple[Formula, Node]] = []
    if "contains" in keywords and node.dialect.contains_evaluates:
        members.append((TRUE, node.child("contains")))
    for condition, child in applied(node):
        all_of_it, some = _evaluates_items(child, index, known)
        everything.append(conjunction([condition, all_of_it]))
        members += [(conjunction([condition, each]), member) for each, member in some]
    whole = disjunction(everything)
    return whole, [] if whole is TRUE else [m for m in members if m[0] is not FALSE]
