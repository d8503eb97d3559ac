"""Schema nodes: subschemas interned by their content, with references resolved.

A node is one set of values. Two subschemas with the same keywords in the same order are one node,
a subschema that is only a reference is its target, and a value position holds a set of nodes that
must all be satisfied (:data:`ValueSet`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import referencing
from referencing.exceptions import Unresolvable

from mlx_structured.errors import SchemaError
from mlx_structured.json_schema.contents import Contents
from mlx_structured.json_schema.dialects import ENFORCED, NEUTRAL, Dialect, Dialects
from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.metaschema import MetaschemaCheck
from mlx_structured.json_schema.pointers import escape_pointer, split_reference, target_pointer
from mlx_structured.json_schema.scopes import DynamicAnchors, Scope, dynamic_name
from mlx_structured.limits import charge

JsonType: TypeAlias = str
TYPES: tuple[JsonType, ...] = ("null", "boolean", "number", "string", "array", "object")
CONTAINERS = frozenset({"array", "object"})
REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def json_type(value: object) -> JsonType:
    """The JSON type of a value as ``json.loads`` makes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Fraction)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


class Node:
    """One set of values. ``formulas`` memoises what it says of each type."""

    __slots__ = ("formulas", "index", "pointer", "scalars")

    def __init__(self, index: int, pointer: str) -> None:
        self.index = index
        self.pointer = pointer
        self.formulas: dict[JsonType, Formula | None] = {}
        self.scalars: dict[JsonType, object] = {}


class AnyValue(Node):
    """Satisfied by every value."""

    __slots__ = ()


class NoValue(Node):
    """Satisfied by no value."""

    __slots__ = ()


class Constant(Node):
    """Satisfied by one value."""

    __slots__ = ("value",)

    def __init__(self, index: int, pointer: str, value: object) -> None:
        super().__init__(index, pointer)
        self.value = value


class Negation(Node):
    """Satisfied by the values that don't satisfy another node."""

    __slots__ = ("inner",)

    def __init__(self, index: int, inner: Node) -> None:
        super().__init__(index, inner.pointer)
        self.inner = inner


class Either(Node):
    """Satisfied by the values that satisfy at least one of several nodes."""

    __slots__ = ("nodes",)

    def __init__(self, index: int, nodes: frozenset[Node]) -> None:
        super().__init__(index, "")
        self.nodes = nodes


class SchemaNode(Node):
    """A schema object with the place where it stands."""

    __slots__ = ("keywords", "scope", "table")

    def __init__(
        self,
        index: int,
        pointer: str,
        keywords: Mapping[str, Any],
        scope: Scope,
        table: NodeTable,
    ) -> None:
        super().__init__(index, pointer)
        self.keywords = keywords
        self.scope = scope
        self.table = table

    @property
    def dialect(self) -> Dialect:
        """The dialect that gives the keywords their meaning."""
        return self.scope.dialect

    def child(self, *path: str | int) -> Node:
        """The node of the subschema at that path below this one."""
        schema: Any = self.keywords
        pointer = self.pointer
        for token in path:
            schema = schema[token]
            pointer += "/" + escape_pointer(str(token))
        return self.table.child(self, schema, pointer)

    def reference(self, keyword: str = "$ref") -> Node:
        """The node that the reference under ``keyword`` leads to."""
        return self.table.reference(self, keyword)


ValueSet: TypeAlias = frozenset[Node]
Place: TypeAlias = "tuple[Mapping[str, Any], Scope, str]"


class NodeTable:
    """The nodes of one schema.

    Arguments:
        registry: the documents that references may lead to.
        dialect: the dialect of documents that don't name one.
        formats: whether ``format`` is a keyword.
        metaschema: what was checked already.
    """

    def __init__(
        self,
        registry: referencing.Registry[Any],
        dialect: Dialect,
        *,
        formats: bool = True,
        metaschema: MetaschemaCheck | None = None,
    ) -> None:
        self._made_of = (registry, dialect)
        self._formats = formats
        self._dialects = Dialects(dialect)
        self._registry = registry
        self._unions: dict[frozenset[Node], Either] = {}
        self._dynamic_anchors = DynamicAnchors()
        self._by_identity: dict[tuple[int, Scope], Node] = {}
        self._by_content: dict[tuple[int, Scope], Node] = {}
        self._contents = Contents()
        self._negations: dict[Node, Negation] = {}
        self._constants: dict[str, Constant] = {}
        self._kept: list[object] = []
        self.asks_for_unique_items = False
        self._metaschema = metaschema or MetaschemaCheck()
        self._root_uri = ""
        self.any_value = AnyValue(0, "")
        self.no_value = NoValue(1, "")
        self._size = 1

    def root(self, schema: Any) -> Node:
        """The node of a whole document. Raises ``SchemaError`` if it isn't valid."""
        if isinstance(schema, bool):
            return self.any_value if schema else self.no_value
        dialect = self._dialects.of(schema, self._registry)
        self._metaschema.check(schema, dialect, "")
        resource = dialect.specification.create_resource(schema)
        uri = self._root_uri = resource.id() or ""
        self._registry = self._registry.with_resource(uri, resource)
        if uri:
            self._registry = self._registry.with_resource("", resource)
        return self._node(schema, self._entered(Scope(uri, dialect)), "")

    def anew(self) -> NodeTable:
        """An empty table for the same schema, which needn't be checked again."""
        return NodeTable(*self._made_of, formats=self._formats, metaschema=self._metaschema)

    def child(self, parent: SchemaNode, schema: Any, pointer: str) -> Node:
        """The node of a subschema of ``parent``, which may have an identifier or a dialect."""
        if isinstance(schema, bool):
            return self.any_value if schema else self.no_value
        if not isinstance(schema, dict):
            raise SchemaError(f"a schema is an object or a boolean, not {schema!r}", pointer)
        around = parent.scope
        dialect = self._dialects.of(schema, self._registry, around.dialect, pointer)
        scope = Scope(around.base_uri_of(schema, dialect), dialect, around.dynamic)
        if scope.base_uri != around.base_uri:
            scope = self._entered(scope)
        return self._node(schema, scope, pointer)

    def negation(self, node: Node) -> Node:
        """The node of the values that don't satisfy ``node``."""
        if isinstance(node, Negation):
            return node.inner
        if node is self.any_value or node is self.no_value:
            return self.no_value if node is self.any_value else self.any_value
        found = self._negations.get(node)
        if found is None:
            found = self._negations[node] = Negation(self._count(), node)
        return found

    def either(self, nodes: Iterable[Node]) -> Node:
        """The node of the values that satisfy at least one of the nodes."""
        parts = frozenset(nodes) - {self.no_value}
        if self.any_value in parts:
            return self.any_value
        if len(parts) < 2:
            return next(iter(parts), self.no_value)
        found = self._unions.get(parts)
        if found is None:
            found = self._unions[parts] = Either(self._count(), parts)
        return found

    def constant(self, value: object) -> Constant:
        """The node of one value, as ``json.loads`` makes it, or of a number as a ``Fraction``."""
        key = json.dumps(value, default=lambda fraction: {"\0": str(fraction)})
        node = self._constants.get(key)
        if node is None:
            node = self._constants[key] = Constant(self._count(), "", value)
        return node

    def reference(self, node: SchemaNode, keyword: str) -> Node:
        """The node that the reference under ``keyword`` of ``node`` leads to."""
        target = self._target(node, keyword)
        return target if isinstance(target, Node) else self._node(*target)

    def _target(self, node: SchemaNode, keyword: str) -> Node | Place:
        """Where a reference leads: a schema with its scope and pointer, or the node of a bool."""
        reference = node.keywords[keyword]
        pointer = f"{node.pointer}/{keyword}"
        around = node.scope
        if keyword == "$recursiveRef" and reference != "#":
            raise SchemaError(f"only '#' has a meaning here, not {reference!r}", pointer)
        try:
            uri, fragment = split_reference(reference, around.base_uri)
            schema, base_uri = self._lookup(uri, fragment)
            name = dynamic_name(keyword, fragment, schema)
            outermost = None if name is None else around.outermost(name)
            if outermost is not None:
                uri = outermost
                schema, base_uri = self._lookup(uri, fragment)
        except (Unresolvable, ValueError, TypeError) as error:
            raise SchemaError(
                f"reference {reference!r} leads nowhere; "
                "pass the document that it names in the registry",
                pointer,
            ) from error
        target = target_pointer(uri, fragment, self._root_uri, pointer)
        if isinstance(schema, bool):
            return self.any_value if schema else self.no_value
        if not isinstance(schema, dict):
            raise SchemaError(f"reference {reference!r} leads to no schema", pointer)
        document = self._registry.get(base_uri)
        dialect = around.dialect
        if document is not None:
            dialect = self._dialects.of(document.contents, self._registry, dialect, base_uri)
        dialect = self._dialects.of(schema, self._registry, dialect, target)
        self._metaschema.check(schema, dialect, target)
        scope = Scope(base_uri, dialect, around.dynamic)
        return schema, self._entered(scope), target

    def _lookup(self, uri: str, fragment: str) -> tuple[Any, str]:
        """A place in a document, and the base URI there."""
        # A resolver without history: by its own, every anchor that can be dynamic would be.
        resolved = self._registry.resolver(uri).lookup("#" + fragment)
        self._registry = resolved.resolver._registry
        base_uri = resolved.resolver._base_uri
        is_anchor = fragment and not fragment.startswith("/")
        if is_anchor and base_uri not in self._registry:
            base_uri = uri  # the anchor's resource has its identifier joined to itself
        return resolved.contents, base_uri

    def _entered(self, scope: Scope) -> Scope:
        """The scope with the dynamic anchors of the resource that it is in."""
        return scope.entered(self._dynamic_anchors.of(scope, self._registry))

    def _node(self, schema: Mapping[str, Any], scope: Scope, pointer: str) -> Node:
        """The node of a schema. One that is only a reference is followed to its target."""
        place: Place | Node = (schema, scope, pointer)
        followed: dict[tuple[int, Scope], Mapping[str, Any]] = {}
        contents: list[tuple[int, Scope]] = []
        while not isinstance(place, Node):
            schema, scope, pointer = place
            identity = (id(schema), scope)
            known = self._by_identity.get(identity)
            if known is not None:
                place = known
            elif identity in followed:
                raise SchemaError("the reference leads back to itself", pointer)
            else:
                followed[identity] = schema
                place = self._intern(schema, scope, pointer, contents)
        self._by_identity.update(dict.fromkeys(followed, place))
        self._by_content.update(dict.fromkeys(contents, place))
        self._kept += followed.values()
        return place

    def _intern(
        self,
        schema: Mapping[str, Any],
        scope: Scope,
        pointer: str,
        contents: list[tuple[int, Scope]],
    ) -> Node | Place:
        """The node of a schema, or where it refers to. New content is added to ``contents``."""
        dialect = scope.dialect
        keywords = {
            keyword: value
            for keyword, value in schema.items()
            if keyword in ENFORCED and value != NEUTRAL.get(keyword, ...)
            if keyword not in dialect.silent and (keyword != "format" or self._formats)
        }
        if dialect.ref_hides_siblings and "$ref" in keywords:
            keywords = {"$ref": keywords["$ref"]}
        if not keywords:
            return self.any_value
        content = (self._contents.of(keywords), scope)
        node = self._by_content.get(content)
        if node is not None:
            return node
        self.asks_for_unique_items |= "uniqueItems" in keywords
        made = SchemaNode(self._count(), pointer, keywords, scope, self)
        contents.append(content)
        first = next(iter(keywords))
        if len(keywords) == 1 and first in REFERENCES - dialect.unknown:
            return self._target(made, first)
        return made

    def _count(self) -> int:
        charge(1, 1_500)
        self._size += 1
        return self._size
