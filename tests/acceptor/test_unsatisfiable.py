"""Schemas that no value satisfies, each with a neighbour that some value satisfies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judging import assert_says_what_to_do

from mlx_structured import UnsatisfiableSchemaError, compile_json_schema

NEIGHBOURS: dict[str, tuple[Any, Any, str]] = {
    "false": (False, True, "1"),
    "allOf with false": ({"allOf": [True, False]}, {"allOf": [True, True]}, "1"),
    "anyOf of false": ({"anyOf": [False, False]}, {"anyOf": [False, {"type": "null"}]}, "null"),
    "types that exclude each other": (
        {"type": "string", "allOf": [{"type": "integer"}]},
        {"type": "number", "allOf": [{"type": "integer"}]},
        "1",
    ),
    "const of another type": ({"type": "string", "const": 1}, {"type": "integer", "const": 1}, "1"),
    "enum of another type": (
        {"type": "string", "enum": [1, None, {}]},
        {"type": "string", "enum": [1, None, "x"]},
        '"x"',
    ),
    "two constants": ({"const": 1, "enum": [2, "1"]}, {"const": 1, "enum": [2, 1]}, "1"),
    "two constant objects": (
        {"const": {"a": 1}, "enum": [{"a": 2}, {"a": 1, "b": 1}]},
        {"const": {"a": 1}, "enum": [{"a": 2}, {"a": 1}]},
        '{"a": 1}',
    ),
    "a required key that is false": (
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "object", "properties": {"a": False}, "required": ["b"]},
        '{"b": 1}',
    ),
    "a required key that is closed out": (
        {"type": "object", "additionalProperties": False, "required": ["a"]},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"a": True},
            "required": ["a"],
        },
        '{"a": 1}',
    ),
    "a required key whose value contradicts itself": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer", "enum": [1.5]}},
            "required": ["a"],
        },
        {
            "type": "object",
            "properties": {"a": {"type": "number", "enum": [1.5]}},
            "required": ["a"],
        },
        '{"a": 1.5}',
    ),
    "no branch of the type": (
        {"type": "string", "anyOf": [{"type": "null"}, {"type": "integer"}]},
        {"type": "string", "anyOf": [{"type": "null"}, {"minLength": 1}]},
        '"a"',
    ),
    "one branch too many": (
        {"type": "string", "oneOf": [{"type": "string"}, {"type": ["null", "string"]}]},
        {"type": ["null", "string"], "oneOf": [{"type": "string"}, {"type": ["null", "string"]}]},
        "null",
    ),
    "the same branch twice": (
        {"oneOf": [{"type": "string"}, {"type": "string"}]},
        {"oneOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]},
        "null",
    ),
    "minProperties over maxProperties": (
        {"type": "object", "minProperties": 2, "maxProperties": 1},
        {"type": "object", "minProperties": 2, "maxProperties": 2},
        '{"a": 1, "b": 1}',
    ),
    "more keys than there may be, and fewer": (
        {"type": "object", "minProperties": 1, "not": {"maxProperties": 2}, "maxProperties": 2},
        {"type": "object", "minProperties": 1, "not": {"maxProperties": 1}, "maxProperties": 2},
        '{"a": 1, "b": 1}',
    ),
    "minItems over maxItems": (
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"type": "array", "minItems": 2, "maxItems": 2},
        "[1, 1]",
    ),
    "too few possible items": (
        {"type": "array", "prefixItems": [True, False], "minItems": 2},
        {"type": "array", "prefixItems": [True, False], "minItems": 1},
        "[1]",
    ),
    "items false below minItems": (
        {"type": "array", "items": False, "minItems": 1},
        {"type": "array", "items": False, "minItems": 0},
        "[]",
    ),
    "minLength over maxLength": (
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "string", "minLength": 2, "maxLength": 2},
        '"ab"',
    ),
    "a pattern that is too long": (
        {"type": "string", "pattern": "^abc", "maxLength": 2},
        {"type": "string", "pattern": "^abc", "maxLength": 3},
        '"abc"',
    ),
    "patterns that exclude each other": (
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}]},
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b"}]},
        '"ab"',
    ),
    "minimum over maximum": (
        {"type": "number", "minimum": 2, "maximum": 1},
        {"type": "number", "minimum": 1, "maximum": 1},
        "1",
    ),
    "an empty interval": (
        {"type": "number", "minimum": 1, "exclusiveMaximum": 1},
        {"type": "number", "minimum": 1, "exclusiveMaximum": 1.5},
        "1",
    ),
    "no integer between": (
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2.5},
        "2",
    ),
    "no integer between fractions": (
        {"type": "integer", "minimum": 0.1, "maximum": 0.9},
        {"type": "integer", "minimum": 0.1, "maximum": 1.1},
        "1",
    ),
    "a tree without leaves": (
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        '{"a": {"a": {}}}',
    ),
    "an array that always holds itself": (
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "minItems": 1},
        "[[null]]",
    ),
    "mutual recursion without an end": (
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {
                    "type": "object",
                    "properties": {"b": {"$ref": "#/$defs/b"}},
                    "required": ["b"],
                },
                "b": {"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}], "minItems": 1},
            },
        },
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {
                    "type": "object",
                    "properties": {"b": {"$ref": "#/$defs/b"}},
                    "required": ["b"],
                },
                "b": {"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}], "minItems": 0},
            },
        },
        '{"b": []}',
    ),
    "a required key that is no text": (
        {"type": "object", "required": ["\ud800"]},
        {"type": "object", "properties": {"\ud800": True}},
        "{}",
    ),
    "a constant that is no text": ({"const": "a\udc00"}, {"enum": ["a\udc00", "a"]}, '"a"'),
    "all alternatives are dead": (
        {
            "type": "object",
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "additionalProperties": False,
            "properties": {"b": True},
        },
        '{"b": 1}',
    ),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("style", ["spaced", "any"])
def test_a_schema_that_no_value_satisfies_is_refused(name: str, style: str) -> None:
    unsatisfiable = NEIGHBOURS[name][0]
    with pytest.raises(UnsatisfiableSchemaError) as raised:
        compile_json_schema(unsatisfiable, style=style)
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("style", ["spaced", "any"])
def test_its_satisfiable_neighbour_compiles(name: str, style: str) -> None:
    _, neighbour, text = NEIGHBOURS[name]
    acceptor = compile_json_schema(neighbour, style=style)
    assert acceptor.accepts(text)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_unsatisfiable_property_is_never_begun(name: str) -> None:
    unsatisfiable = put_definitions_at_the_root(NEIGHBOURS[name][0])
    for style in ("compact", "any"):
        acceptor = compile_json_schema(unsatisfiable, style=style)
        assert acceptor.accepts('{"y":1}')
        assert not acceptor.accepts_prefix('{"x"')
        assert not acceptor.accepts_prefix("[1")


def put_definitions_at_the_root(schema: Any) -> Any:
    """An object that may have ``x`` under the schema, and ``y``."""
    text = json.dumps(schema).replace('"#', '"#/$defs/inner')
    return {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/inner"}, "y": True},
        "$defs": {"inner": json.loads(text)},
    }


def test_a_value_that_the_style_cannot_write_is_unsatisfiable() -> None:
    schema = {"type": "integer", "minimum": 10**50}
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema(schema)
    assert compile_json_schema(schema, style="any").accepts("1e50")
