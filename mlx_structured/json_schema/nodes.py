"""Schema nodes: subschemas interned by their content, with references resolved.

A node is one set of values. Two subschemas with the same keywords in the same order are one node,
a subschema that is only a reference is its target, and a value position holds a set of nodes that
must all be satisfied (:data:`ValueSet`).
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import unquote
from weakref import WeakValueDictionary

import referencing
from referencing.exceptions import Unresolvable

from mlx_structured.errors import SchemaError
from mlx_structured.json_schema.dialects import ENFORCED, NEUTRAL, Dialect, Dialects
from mlx_structured.json_schema.distinct import canonical_value
from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.json_types import (
    EVERY_TYPE,
    NO_TYPE,
    TYPE_NAMED,
    JsonType,
    json_type,
    types_of,
)
from mlx_structured.json_schema.metaschema import MetaschemaCheck
from mlx_structured.json_schema.pointers import escape_pointer, split_reference, target_pointer
from mlx_structured.json_schema.scopes import DynamicAnchors, Scope, dynamic_name
from mlx_structured.json_schema.survey import Survey
from mlx_structured.limits import charge

_LONGEST_CONTENT = 1024
REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_ENTRANCES = frozenset({"$id", "id", "$schema"})
"""Keywords that can begin another scope."""
K = TypeVar("K")
N = TypeVar("N", bound="Node")


class Node:
    """One set of values. ``formulas`` memoises what it says of each type.

    ``types`` holds the types that its values can have, as far as that is easy to see. Where
    ``is_plain``, nothing else is asked for, but that numbers may have to be integers. A *passing*
    node speaks of values that a text has, not of the schema alone: it goes with them.
    """

    __slots__ = (
        "__weakref__",
        "formulas",
        "index",
        "is_plain",
        "passing",
        "pointer",
        "scalars",
        "types",
    )

    def __init__(
        self,
        index: int,
        pointer: str,
        types: frozenset[JsonType] = EVERY_TYPE,
        *,
        is_plain: bool = False,
        passing: bool = False,
    ) -> None:
        self.index = index
        self.pointer = pointer
        self.types = types
        self.is_plain = is_plain
        self.passing = passing
        self.formulas: dict[JsonType, Formula | None] = {}
        self.scalars: dict[JsonType, object] = {}

    def release(self) -> None:
        """Forget what was found out."""
        self.formulas.clear()
        self.scalars.clear()


class AnyValue(Node):
    """Satisfied by every value."""

    __slots__ = ()


class NoValue(Node):
    """Satisfied by no value."""

    __slots__ = ()


class NotString(Node):
    """Satisfied by every value but strings."""

    __slots__ = ()


class IntegerText(Node):
    """Satisfied by the numbers that are written without a fraction and an exponent."""

    __slots__ = ()


class Constant(Node):
    """Satisfied by one value."""

    __slots__ = ("value",)

    def __init__(self, index: int, value: object, *, passing: bool) -> None:
        super().__init__(index, "", TYPE_NAMED[json_type(value)], passing=passing)
        self.value = value


class Negation(Node):
    """Satisfied by the values that don't satisfy another node."""

    __slots__ = ("inner",)

    def __init__(self, index: int, inner: Node) -> None:
        super().__init__(index, inner.pointer, passing=inner.passing)
        self.inner = inner


class Either(Node):
    """Satisfied by the values that satisfy at least one of several nodes."""

    __slots__ = ("nodes",)

    def __init__(self, index: int, nodes: frozenset[Node]) -> None:
        types = NO_TYPE.union(*(node.types for node in nodes))
        super().__init__(index, "", types, passing=is_passing(nodes))
        self.nodes = nodes


class SchemaNode(Node):
    """A schema object with the place where it stands."""

    __slots__ = ("_children", "keywords", "plain_types", "scope", "table")

    def __init__(
        self,
        index: int,
        pointer: str,
        keywords: Mapping[str, Any],
        scope: Scope,
        table: NodeTable,
    ) -> None:
        is_plain = len(keywords) == 1 and "type" in keywords
        super().__init__(index, pointer, types_of(keywords), is_plain=is_plain)
        self.keywords = keywords
        self.scope = scope
        self.table = table
        self.plain_types: frozenset[JsonType] | None = None
        """What :func:`~.plain_values.plain_types` has found."""
        self._children: dict[tuple[str | int, ...], Node] = {}

    def release(self) -> None:
        """Forget what was found out."""
        super().release()
        self._children.clear()

    @property
    def dialect(self) -> Dialect:
        """The dialect that gives the keywords their meaning."""
        return self.scope.dialect

    def child(self, *path: str | int) -> Node:
        """The node of the subschema at that path below this one."""
        found = self._children.get(path)
        if found is None:
            schema: Any = self.keywords
            pointer = self.pointer
            for token in path:
                schema = schema[token]
                pointer += "/" + escape_pointer(str(token))
            found = self._children[path] = self.table.child(self, schema, pointer)
        return found

    def reference(self, keyword: str = "$ref") -> Node:
        """The node that the reference under ``keyword`` leads to."""
        return self.table.reference(self, keyword)


ValueSet: TypeAlias = frozenset[Node]
Place: TypeAlias = "tuple[Mapping[str, Any], Scope, str]"


def _content(value: Any) -> bytes:
    """Equal for equal JSON values only: types count, and the order of keys."""
    try:
        # Without references (version 0) it depends on nothing else; json takes 10 times as long.
        content = marshal.dumps(value, 0)
    except ValueError as error:
        raise RecursionError("a value is nested too deeply") from error
    return content if len(content) <= _LONGEST_CONTENT else sha256(content).digest()


def is_passing(values: ValueSet) -> bool:
    """Whether one of the nodes speaks of values that a text has."""
    return any(node.passing for node in values)


class _Interned(Generic[K, N]):
    """Nodes by what they are made of; passing ones only while they are used."""

    def __init__(self) -> None:
        self._lasting: dict[K, N] = {}
        # Most schemas have no passing nodes.
        self._passing: WeakValueDictionary[K, N] | None = None

    def get(self, key: K) -> N | None:
        found = self._lasting.get(key)
        return self._passing.get(key) if found is None and self._passing is not None else found

    def values(self) -> Iterator[N]:
        return chain(self._lasting.values(), self._passing.values() if self._passing else ())

    def add(self, key: K, node: N) -> N:
        if not node.passing:
            self._lasting[key] = node
        else:
            if self._passing is None:
                self._passing = WeakValueDictionary()
            self._passing[key] = node
        return node


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
        self._unions: _Interned[frozenset[Node], Either] = _Interned()
        self._dynamic_anchors = DynamicAnchors()
        self._by_identity: dict[tuple[int, Scope], Node] = {}
        self._by_content: dict[tuple[bytes, Scope], Node] = {}
        self._negations: _Interned[Node, Negation] = _Interned()
        self._constants: _Interned[tuple[str, bool], Constant] = _Interned()
        self._kept: list[object] = []
        self.is_plainly_supported = True
        """Whether it was certain from the start that the whole schema can be enforced."""
        self._targets: Mapping[str, Any] = {}
        self._metaschema = metaschema or MetaschemaCheck()
        self._root_uri = ""
        self.plain_depth = 0
        """How deep the search for values that satisfy a node for certain has come."""
        self.any_value = AnyValue(0, "", is_plain=True)
        self.no_value = NoValue(1, "", NO_TYPE)
        self.not_string = NotString(2, "", EVERY_TYPE - {"string"})
        self.integer_text = IntegerText(3, "", TYPE_NAMED["number"])
        self._size = 3

    def root(self, schema: Any) -> Node:
        """The node of a whole document. Raises ``SchemaError`` if it isn't valid."""
        if isinstance(schema, bool):
            return self.any_value if schema else self.no_value
        dialect = self._dialects.of(schema, self._registry)
        schemas = self._metaschema.check(schema, dialect, "")
        survey = None if schemas is None else Survey(schema, schemas, dialect)
        if survey is not None and survey.is_plainly_supported():
            self._targets = survey.targets
            return self._node(schema, Scope("", dialect), "")
        self.is_plainly_supported = False
        resource = dialect.specification.create_resource(schema)
        uri = self._root_uri = resource.id() or ""
        self._registry = self._registry.with_resource(uri, resource)
        if uri:
            self._registry = self._registry.with_resource("", resource)
        return self._node(schema, self._entered(Scope(uri, dialect)), "")

    def renewal(self) -> Callable[[], NodeTable]:
        """What makes an empty table for the same schema, which needn't be checked again."""
        return partial(
            NodeTable, *self._made_of, formats=self._formats, metaschema=self._metaschema
        )

    def child(self, parent: SchemaNode, schema: Any, pointer: str) -> Node:
        """The node of a subschema of ``parent``, which may have an identifier or a dialect."""
        if isinstance(schema, bool):
            return self.any_value if schema else self.no_value
        if not isinstance(schema, dict):
            raise SchemaError(f"a schema is an object or a boolean, not {schema!r}", pointer)
        around = parent.scope
        if _ENTRANCES.isdisjoint(schema):
            return self._node(schema, around, pointer)
        dialect = self._dialects.of(schema, self._registry, around.dialect, pointer)
        try:
            base_uri = around.base_uri_of(schema, dialect)
        except ValueError as error:
            raise SchemaError(f"its identifier is no URI: {error}", pointer) from error
        scope = Scope(base_uri, dialect, around.dynamic)
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
            found = self._negations.add(node, Negation(self._count(), node))
        return found

    def either(self, nodes: Iterable[Node]) -> Node:
        """The node of the values that satisfy at least one of the nodes."""
        parts = frozenset(nodes) - {self.no_value}
        if self.any_value in parts:
            return self.any_value
        if len(parts) < 2:
            return next(iter(parts), self.no_value)
        return self._union(parts)

    def undeclared(self, node: Node) -> Node:
        """The node of the same values, which declares no keys of theirs."""
        return self._union(frozenset((node,)))

    def _union(self, parts: frozenset[Node]) -> Either:
        found = self._unions.get(parts)
        if found is None:
            found = self._unions.add(parts, Either(self._count(), parts))
        return found

    def constant(self, value: object, *, passing: bool = False) -> Constant:
        """The node of one value, as ``json.loads`` makes it, maybe with ``Fraction`` numbers.

        Arguments:
            value: the value.
            passing: whether it comes from a text.
        """
        if passing or isinstance(value, Fraction):
            key = (canonical_value(value), passing)
        else:
            key = (json.dumps(value), passing)
        node = self._constants.get(key)
        if node is None:
            node = self._constants.add(key, Constant(self._count(), value, passing=passing))
        return node

    def reference(self, node: SchemaNode, keyword: str) -> Node:
        """The node that the reference under ``keyword`` of ``node`` leads to."""
        target = self._target(node, keyword)
        return target if isinstance(target, Node) else self._node(*target)

    def _target(self, node: SchemaNode, keyword: str) -> Node | Place:
        """Where a reference leads: a schema with its scope and pointer, or the node of a bool."""
        reference = node.keywords[keyword]
        around = node.scope
        if self._targets and reference in self._targets:
            return self._node(self._targets[reference], around, unquote(reference[1:]))
        pointer = f"{node.pointer}/{keyword}"
        if not isinstance(reference, str):  # draft 4's metaschema doesn't know the keyword
            raise SchemaError(f"a reference is a string, not {reference!r}", pointer)
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
        contents: list[tuple[bytes, Scope]] = []
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
        contents: list[tuple[bytes, Scope]],
    ) -> Node | Place:
        """The node of a schema, or where it refers to. New content is added to ``contents``."""
        dialect = scope.dialect
        keywords = {keyword: value for keyword, value in schema.items() if keyword in ENFORCED}
        for keyword in NEUTRAL.keys() & keywords.keys():
            if keywords[keyword] == NEUTRAL[keyword]:
                del keywords[keyword]
        if not self._formats:
            keywords.pop("format", None)
        if dialect.silent:
            for keyword in dialect.silent.intersection(keywords):
                del keywords[keyword]
        if dialect.ref_hides_siblings and "$ref" in keywords:
            keywords = {"$ref": keywords["$ref"]}
        if not keywords:
            return self.any_value
        content = (_content(keywords), scope)
        node = self._by_content.get(content)
        if node is not None:
            return node
        made = SchemaNode(self._count(), pointer, keywords, scope, self)
        contents.append(content)
        first = next(iter(keywords))
        if len(keywords) == 1 and first in REFERENCES - dialect.unknown:
            return self._target(made, first)
        return made

    def release(self) -> None:
        """Take apart what refers to itself, so that it goes without a garbage collection."""
        for nodes in (self._by_content, self._negations, self._unions, self._constants):
            for node in nodes.values():
                node.release()
        vars(self).clear()

    def _count(self) -> int:
        charge(1, 1_500)
        self._size += 1
        return self._size
