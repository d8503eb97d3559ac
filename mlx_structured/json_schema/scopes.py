"""Where a schema stands: what its references and keywords mean.

A dynamic reference (``$dynamicRef`` of 2020-12, ``$recursiveRef`` of 2019-09) leads to the
outermost resource with the dynamic anchor, of those that were entered on the way. A scope keeps
only this resource for each name: where there are no dynamic anchors it keeps nothing, and a schema
means the same wherever it is referred to from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin

import referencing
from referencing.exceptions import InvalidAnchor, NoSuchAnchor
from referencing.jsonschema import DynamicAnchor

from mlx_structured.json_schema.dialects import Dialect

RECURSIVE = ""
"""The name that stands for ``$recursiveAnchor``: a ``$dynamicAnchor`` can't have it."""

_DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})


class Scope(NamedTuple):
    """Where a schema stands.

    Arguments:
        base_uri: what its references are relative to: the URI of its resource.
        dialect: what gives its keywords their meaning.
        dynamic: for each dynamic anchor of the resources entered so far, its name and the URI of
            the outermost of them, sorted.
    """

    base_uri: str
    dialect: Dialect
    dynamic: tuple[tuple[str, str], ...] = ()

    def base_uri_of(self, schema: Mapping[str, Any], dialect: Dialect) -> str:
        """The base URI in a subschema, which may have an identifier of its own."""
        identifier = dialect.specification.create_resource(schema).id()
        return self.base_uri if identifier is None else urljoin(self.base_uri, identifier)

    def outermost(self, name: str) -> str | None:
        """The URI of the outermost resource with a dynamic anchor."""
        return dict(self.dynamic).get(name)

    def entered(self, names: Iterable[str]) -> Scope:
        """The scope after entering its resource, which has dynamic anchors with these names."""
        known = dict(self.dynamic)
        new = {name: self.base_uri for name in names if name not in known}
        return self._replace(dynamic=tuple(sorted({**known, **new}.items()))) if new else self


def dynamic_name(keyword: str, fragment: str, target: object) -> str | None:
    """The dynamic anchor that decides where a reference leads, if there is one.

    Only a target that is such an anchor itself makes the reference dynamic (2020-12 core, section
    8.2.3.2; 2019-09 core, section 8.2.4.2.2).

    Arguments:
        keyword: the keyword of the reference.
        fragment: the fragment of its URI.
        target: the schema that it leads to at first.
    """
    if not isinstance(target, Mapping):
        return None
    if keyword == "$dynamicRef" and fragment and target.get("$dynamicAnchor") == fragment:
        return fragment
    if keyword == "$recursiveRef" and target.get("$recursiveAnchor") is True:
        return RECURSIVE
    return None


class DynamicAnchors:
    """The dynamic anchors of resources, each looked for once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Dialect], tuple[str, ...]] = {}

    def of(self, scope: Scope, registry: referencing.Registry[Any]) -> tuple[str, ...]:
        """The names of the dynamic anchors of the resource that the scope is in."""
        key = (scope.base_uri, scope.dialect)
        names = self._known.get(key)
        if names is None:
            names = self._known[key] = tuple(_dynamic_anchors(scope, registry))
        return names


def _dynamic_anchors(scope: Scope, registry: referencing.Registry[Any]) -> Iterator[str]:
    unknown = scope.dialect.unknown
    if unknown >= _DYNAMIC:
        return
    if scope.base_uri not in registry:
        registry = registry.crawl()  # which finds the resources within others
    resource = registry.get(scope.base_uri)
    if resource is None:
        return
    contents = resource.contents
    is_anchor = isinstance(contents, Mapping) and contents.get("$recursiveAnchor") is True
    if is_anchor and "$recursiveRef" not in unknown:
        yield RECURSIVE
    if "$dynamicRef" not in unknown:
        for name in dict.fromkeys(_names(contents)):
            try:
                anchor = registry.anchor(scope.base_uri, name).value
            except (InvalidAnchor, NoSuchAnchor):
                continue  # in a resource within this one, or in no schema
            if isinstance(anchor, DynamicAnchor):
                yield name


def _names(contents: object) -> Iterator[str]:
    """What may be a dynamic anchor in a document."""
    stack = [contents]
    while stack:
        each = stack.pop()
        if isinstance(each, Mapping):
            name = each.get("$dynamicAnchor")
            if isinstance(name, str):
                yield name
            stack += each.values()
        elif isinstance(each, list):
            stack += each
