"""What is decided at a first look at a document, against the look at every part of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY
from shared_files import maskbench

from mlx_structured import (
    LimitExceededError,
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    compile_json_schema,
)
from mlx_structured.automaton.example_document import example_document
from mlx_structured.json_schema.dialects import DRAFT202012
from mlx_structured.json_schema.nodes import NodeTable
from mlx_structured.json_schema.support import check_support
from mlx_structured.json_schema.survey import Survey


def node_table() -> NodeTable:
    """An empty table."""
    return NodeTable(REGISTRY, DRAFT202012)


def is_plainly_supported(schema: Any) -> bool:
    """Whether a first look settles that the schema can be enforced."""
    table = node_table()
    try:
        table.root(copy.deepcopy(schema))
    except (SchemaError, UnsupportedSchemaError):
        return False
    return table.is_plainly_supported


def check_all_parts(monkeypatch: pytest.MonkeyPatch, schema: Any) -> None:
    """The checks that a first look stands for, of every part."""
    with monkeypatch.context() as patch:
        patch.setattr(Survey, "is_plainly_supported", lambda self: False)
        table = node_table()
        root = table.root(copy.deepcopy(schema))
        assert not table.is_plainly_supported
        check_support(root)


INTRUDERS: tuple[Any, ...] = (
    *({"$ref": "#"}, {"$ref": "#/nowhere"}, {"$ref": "#/properties"}, {"$ref": "other"}),
    *({"$ref": "#/%64efinitions/a"}, {"$ref": "#a"}, {"$ref": "#/"}, {"$ref": "#/properties/0"}),
    *({"allOf": [{"$ref": "#"}]}, {"not": {"$ref": "#"}}, {"if": {"$ref": "#"}}),
    *({"dependentSchemas": {"a": {"$ref": "#"}}}, {"dependencies": {"a": {"$ref": "#"}}}),
    *({"pattern": "("}, {"pattern": r"(a)\1"}, {"patternProperties": {"(?<a>.)\\k<a>": {}}}),
    *({"format": "regex"}, {"format": "date"}, {"$dynamicRef": "#"}, {"$recursiveRef": "#"}),
    *({"$id": "http://x/"}, {"id": "http://x/"}, {"$schema": "http://x/"}, {"$anchor": "a"}),
    *({"uniqueItems": True}, {"not": {"uniqueItems": True}}, {"oneOf": [{"uniqueItems": True}]}),
    *({"contains": {"uniqueItems": True}, "maxContains": 1}, {"prefixItems": [{}]}, {"const": 1}),
    *({"items": [{}], "additionalItems": False}, {"additionalItems": False}, {"if": {}}),
)
"""Subschemas that can't be enforced, or only somewhere, or where it takes a look to tell."""


@cache
def real_schemas() -> list[Any]:
    """Every so many of the schemas of MaskBench."""
    return [case["schema"] for case in islice(maskbench(), 0, None, 50)]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container within a value, with a key or an index of it."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_what_is_plainly_supported_passes_every_check(data: Any) -> None:
    schema = copy.deepcopy(data.draw(st.sampled_from(real_schemas())))
    holder, key = data.draw(st.sampled_from(list(places(schema)) or [({}, "a")]))
    holder[key] = data.draw(st.sampled_from(INTRUDERS))
    if is_plainly_supported(schema):
        with pytest.MonkeyPatch.context() as patch:
            check_all_parts(patch, schema)


def test_nearly_all_real_schemas_are_plainly_supported() -> None:
    found = list(map(is_plainly_supported, real_schemas()))
    assert found.count(False) <= len(found) // 10


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"anyOf": [{"not": {"$ref": "#/properties/a"}}]}}},
        {"properties": {"a": {"dependentSchemas": {"b": {"$ref": "#/properties/a"}}}}},
    ],
)
def test_a_subschema_that_applies_itself_to_the_same_value_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="itself"):
        compile_json_schema(schema)


def test_a_long_chain_is_enforced_for_a_later_key() -> None:
    chain = {f"d{i}": {"minimum": i, "allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(400)}
    schema = {
        "properties": {"a": True, "late": {"$ref": "#/$defs/d0"}},
        "$defs": {**chain, "d400": {"type": "integer"}},
    }
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts('{"a": 1, "late": 399}')
    assert not acceptor.accepts('{"a": 1, "late": 398}')


def test_what_no_value_may_reach_is_still_checked() -> None:
    inner = {"properties": {"deep": {"items": {"pattern": r"(a)\1"}}}}
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_json_schema({"properties": {"a": inner}, "required": ["b"]})
    assert caught.value.pointer == "/properties/a/properties/deep/items/pattern"


def test_pointers_in_references_may_be_escaped() -> None:
    schema = {
        "$defs": {"a/b~c d": {"type": "integer"}, "list": {"anyOf": [{}, {"type": "null"}]}},
        "properties": {
            "a": {"$ref": "#/$defs/a~1b~0c%20d"},
            "b": {"$ref": "#/%24defs/list/anyOf/1"},
        },
    }
    assert is_plainly_supported(schema)
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts('{"a": 1, "b": null}')
    assert not acceptor.accepts('{"a": "1"}')
    assert not acceptor.accepts('{"b": 1}')


def small_schemas() -> st.SearchStrategy[Any]:
    """Schemas whose values are mostly plain to see, though not all have one."""
    names = st.sampled_from(["a", "b", "\ud800"])
    types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
    leaves: st.SearchStrategy[Any] = st.one_of(
        st.booleans(), types.map(lambda each: {"type": each}), st.just({})
    )

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        some = st.lists(inner, min_size=1, max_size=3)
        bounds = st.integers(0, 2)
        return st.fixed_dictionaries(
            {},
            optional={
                "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
                "properties": st.dictionaries(names, inner, max_size=2),
                "required": st.lists(names, unique=True, max_size=2),
                "additionalProperties": inner,
                "items": inner,
                "minItems": bounds,
                "maxItems": bounds,
                "minLength": bounds,
                "maxLength": bounds,
                "minProperties": bounds,
                "minimum": bounds,
                "exclusiveMaximum": bounds,
                "enum": st.lists(st.sampled_from([None, True, 0, "a", "\ud800", [], {}])),
                "const": st.sampled_from([None, False, 1, "a", "\ud800", [1], {"a": 1}]),
                "anyOf": some,
                "oneOf": some,
                "allOf": some,
            },
        )

    return st.recursive(leaves, around, max_leaves=6)


@settings(max_examples=500, deadline=None)
@given(schema=small_schemas(), style=st.sampled_from(["spaced", "any"]))
def test_what_compiles_has_a_document(schema: Any, style: str) -> None:
    try:
        acceptor = compile_json_schema(schema, style=style)
    except (UnsatisfiableSchemaError, LimitExceededError):
        return
    text = example_document(acceptor)
    assert text is not None
    assert Draft202012Validator(schema).is_valid(json.loads(text)), text
