"""Schemas as JSON texts and as Python has them: what can not be read exactly is refused."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from judging import assert_says_what_to_do

from mlx_structured import (
    LimitExceededError,
    SchemaError,
    StructuredError,
    compile_json_schema,
)


@pytest.mark.parametrize(
    "schema",
    [
        {"const": float("nan")},
        {"maximum": float("inf")},
        {"enum": {1, 2}},
        {"const": b"bytes"},
        {"x-note": object()},
        '{"maximum": 1e400}',
        '{"const": NaN}',
        '{"enum": [-Infinity]}',
    ],
)
def test_what_json_cannot_write_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="not JSON") as raised:
        compile_json_schema(schema)
    assert_says_what_to_do(raised.value)


def test_a_schema_that_contains_itself_as_a_python_object_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    with pytest.raises(SchemaError, match="not JSON"):
        compile_json_schema(schema)


def test_changing_the_schema_afterwards_changes_nothing() -> None:
    inner: dict[str, Any] = {"enum": [1], "properties": {"a": {"type": "null"}}}
    acceptor = compile_json_schema({"items": inner, "$defs": {"inner": inner}})
    inner["enum"].append(2)
    inner["properties"]["a"]["type"] = "string"
    assert acceptor.accepts("[1]")
    assert not acceptor.accepts("[2]")


@pytest.mark.parametrize("text", ["", "{", "{'type': 'null'}", '{"a": 1,}', "not json"])
def test_a_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="not JSON") as raised:
        compile_json_schema(text)
    assert raised.value.pointer == ""
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("text", ["3", '"string"', "[]", "null", "[{}]"])
def test_json_that_is_no_schema_is_refused(text: str) -> None:
    for schema in (text, json.loads(text)):
        if isinstance(schema, str) and schema is not text:
            continue
        with pytest.raises(SchemaError, match="an object or a boolean") as raised:
            compile_json_schema(schema)
        assert_says_what_to_do(raised.value)


def test_json_text_means_what_the_parsed_schema_means() -> None:
    assert compile_json_schema('{"type": "integer"}').accepts("1")
    assert not compile_json_schema('{"type": "integer"}').accepts('"x"')
    assert compile_json_schema("true").accepts('"x"')
    assert compile_json_schema(MappingProxyType({"type": "integer"})).accepts("1")


@pytest.mark.parametrize(
    "text",
    [
        '{"minimum": 0.30000000000000000001}',
        '{"minimum": 1e-400}',
        '{"const": 0.1000000000000000055}',
    ],
)
def test_a_number_that_a_double_would_round_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="more digits than a double keeps"):
        compile_json_schema(text)


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"const": 10**5000}, "/const", "more than 4300 digits"),
        ({"items": {"enum": [1, {"a/b": -(10**5000)}]}}, "/items/enum/1/a~1b", "4300 digits"),
        ('{"x": 5, "maximum": 1' + "0" * 5000 + "}", "/maximum", "more than 4300 digits"),
        ({"allOf": [{"const": float("nan")}]}, "/allOf/0/const", "out of range"),
        ('{"properties": {"a": {"minimum": -1e999}}}', "/properties/a/minimum", "-1e999"),
        (
            '{"minimum": 1, "enum": [0.30000000000000000001]}',
            "/enum/0",
            "more digits than a double",
        ),
        ({"properties": {"a": {"const": {1, 2}}}}, "/properties/a/const", "of type set"),
    ],
    ids=range(7),
)
def test_what_can_not_be_read_exactly_is_refused_with_the_place(
    schema: Any, pointer: str, said: str
) -> None:
    with pytest.raises(SchemaError, match=said) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == pointer
    assert_says_what_to_do(raised.value)
    if isinstance(schema, dict):
        with pytest.raises(SchemaError, match=said) as raised:
            compile_json_schema({"$ref": "http://x/"}, registry={"http://x/": schema})
        assert raised.value.pointer == f"http://x/#{pointer}"


@pytest.mark.parametrize("digits", [20, 1_000])
def test_a_long_number_is_no_obstacle(digits: int) -> None:
    assert compile_json_schema({"const": 10**digits}, style="any").accepts("1" + "0" * digits)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a\ud800b": {"pattern": "(a)\\1"}}},
        {"properties": {"a\ud800b": {"type": 3}}},
        '{"properties": {"a\\ud800b": {"$ref": "#/nowhere"}}}',
        {"type": "object", "required": ["x"], "properties": {"a\ud800b": {"const": 10**5000}}},
    ],
)
def test_a_message_with_a_lone_surrogate_can_be_printed(schema: Any) -> None:
    with pytest.raises(StructuredError) as raised:
        compile_json_schema(schema)
    message = str(raised.value).encode("utf-8").decode()
    assert "/properties/a\\ud800b/" in message
    assert "a\ud800b" in raised.value.pointer


def test_the_message_of_a_limit_with_a_lone_surrogate_can_be_printed() -> None:
    error = LimitExceededError("takes too much", "states", "pattern", "/properties/\udfff/pattern")
    assert "at /properties/\\udfff/pattern " in str(error)


@pytest.mark.parametrize("document", [{"const": float("nan")}, {"const": {1, 2}}, {"enum": [b"a"]}])
def test_a_document_of_the_registry_that_is_not_json_is_refused(document: object) -> None:
    with pytest.raises(SchemaError, match="not JSON"):
        compile_json_schema({"$ref": "http://x/"}, registry={"http://x/": document})


def test_text_with_a_lone_surrogate_is_no_document() -> None:
    assert not compile_json_schema(True).accepts('"\ud800"')
