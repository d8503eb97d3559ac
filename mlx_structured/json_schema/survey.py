"""What a look at all subschemas of a document tells, before any of them is taken apart.

Most schemas are one document whose references are pointers into it. For these it's certain without
nodes that they can be enforced, so that only those parts become nodes that are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from mlx_structured.errors import PatternError
from mlx_structured.json_schema.dialects import DRAFT4, Dialect
from mlx_structured.languages.ecma_pattern import parse

LONGEST_CHAIN = 64
"""Of longer chains of references it takes a look at every part to tell."""

_DYNAMIC = frozenset({"$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"})
_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE_MAPS = ("dependentSchemas", "dependencies")


class Survey:
    """The subschemas of a document that is certainly valid.

    Arguments:
        root: the document.
        schemas: all its subschemas, and itself.
        dialect: the draft that it is written in.
    """

    def __init__(self, root: Any, schemas: Sequence[Any], dialect: Dialect) -> None:
        self._root = root
        self._dialect = dialect
        self._schemas = [each for each in schemas if type(each) is dict]
        self._words: frozenset[str] = frozenset().union(*self._schemas)
        identifier = "id" if dialect is DRAFT4 else "$id"
        self._is_one_resource = not any(
            "$schema" in each or identifier in each
            for each in (self._schemas if self._words & {"$schema", identifier} else ())
            if each is not root
        )
        self.targets: Mapping[str, Any] = {}
        """Where the references lead, once :meth:`is_plainly_supported` was found true."""

    def is_plainly_supported(self) -> bool:
        """Whether each keyword of every subschema can be enforced, and no reference goes astray.

        If it isn't certain the answer is no.
        """
        words = self._words
        if not self._is_one_resource or words & _DYNAMIC or words & self._dialect.unknown:
            return False
        if not all(map(_is_readable, self._patterns())):
            return False
        return "$ref" not in words or self._has_plain_references()

    def _patterns(self) -> Iterator[str]:
        if "pattern" in self._words:
            yield from (each["pattern"] for each in self._schemas if "pattern" in each)
        if "patternProperties" in self._words:
            for each in self._schemas:
                yield from each.get("patternProperties", ())

    def _has_plain_references(self) -> bool:
        known = set(map(id, self._schemas))
        targets: dict[str, Any] = {}
        for each in self._schemas:
            if "$ref" not in each:
                continue
            reference = each["$ref"]
            if type(reference) is not str:
                return False
            target = _follow(self._root, reference)
            if target is None or id(target) not in known:
                return False
            targets[reference] = target
        if self._has_long_chain(targets):
            return False
        self.targets = targets
        return True

    def _has_long_chain(self, targets: Mapping[str, Any]) -> bool:
        """Whether many subschemas apply each other to the same value through references.

        Where one applies itself there is no end of them.
        """
        done: set[int] = set()
        for start in targets.values():
            if id(start) in done:
                continue
            path: dict[int, Iterator[Any]] = {id(start): _in_place(start, targets)}
            while path:
                place = next(reversed(path))
                child = next(path[place], None)
                if child is None:
                    del path[place]
                    done.add(place)
                elif id(child) in path or len(path) >= LONGEST_CHAIN:
                    return True
                elif id(child) not in done:
                    path[id(child)] = _in_place(child, targets)
        return False


def _in_place(schema: Any, targets: Mapping[str, Any]) -> Iterator[Any]:
    """The subschemas that are applied to the same value."""
    if type(schema) is not dict:
        return
    if "$ref" in schema:
        yield targets[schema["$ref"]]
    for keyword in _IN_PLACE_LISTS:
        yield from schema.get(keyword, ())
    for keyword in _IN_PLACE_ONE:
        if keyword in schema:
            yield schema[keyword]
    for keyword in _IN_PLACE_MAPS:
        yield from schema.get(keyword, {}).values()


def _follow(root: Any, reference: str) -> dict[str, Any] | None:
    """The object that a pointer into the document leads to (RFC 6901), if it is one."""
    if not reference.startswith("#"):
        return None
    place = root
    path = unquote(reference[1:])
    if path and not path.startswith("/"):
        return None
    for token in path.split("/")[1:]:
        if type(place) is dict:
            place = place.get(token.replace("~1", "/").replace("~0", "~"))
        elif type(place) is list and token.isascii() and token.isdigit() and len(token) < 10:
            place = place[int(token)] if int(token) < len(place) else None
        else:
            return None
    return place if type(place) is dict else None


@lru_cache(maxsize=1024)
def _is_readable(pattern: str) -> bool:
    try:
        parse(pattern)
    except PatternError:
        return False
    return True
