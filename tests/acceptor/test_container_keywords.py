"""What keywords say about arrays, objects and combinations, in tables made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judging import Case, judge

from mlx_structured import compile_json_schema

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT6 = "http://json-schema.org/draft-06/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"

ONE_OF_EACH = [None, True, False, 0, 1, -1, 1.5, "", "x", [], [1], {}, {"a": 1}]


def without(*excluded: Any) -> list[Any]:
    """One value of each kind but these; 1 isn't true here."""
    return [
        value
        for value in ONE_OF_EACH
        if not any(type(value) is type(each) and value == each for each in excluded)
    ]


ARRAYS = [
    Case("items", {"items": {"type": "integer"}}, [[], [1], [1, 2], "a", {}], [["a"], [1, None]]),
    Case("items false", {"items": False}, [[], 1], [[1], [[]]]),
    Case("items true", {"items": True}, [[], [1, "a"]]),
    Case("minItems", {"minItems": 2}, [[1, 2], [1, 2, 3], "a"], [[], [1]]),
    Case("maxItems", {"maxItems": 2}, [[], [1, 2], "abc"], [[1, 2, 3]]),
    Case("maxItems 0", {"maxItems": 0}, [[]], [[1]]),
    Case("counts", {"minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
    Case("counts as floats", {"minItems": 1.0, "maxItems": 2.0}, [[1], [1, 2]], [[], [1, 2, 3]]),
    Case(
        "prefixItems",
        {"prefixItems": [{"type": "integer"}, {"const": "x"}]},
        [[], [1], [1, "x"], [1, "x", None]],
        [["x"], [1, "y"], [None, "x"]],
    ),
    Case(
        "prefixItems and items",
        {"prefixItems": [{"type": "integer"}], "items": {"type": "null"}},
        [[], [1], [1, None, None]],
        [[None], [1, 2]],
    ),
    Case(
        "a closed tuple",
        {"prefixItems": [{"type": "integer"}, True], "items": False, "minItems": 2},
        [[1, None]],
        [[], [1], [1, 2, 3]],
    ),
    Case("prefixItems false", {"prefixItems": [True, False]}, [[], [1]], [[1, 2]]),
    Case(
        "minItems beyond the prefix",
        {"prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 3},
        [[1, 2, 2], [1, 2, 2, 2]],
        [[1, 2], [2, 2, 2]],
    ),
    Case(
        "an item that no value fits ends the array",
        {"items": {"type": "string", "const": 1}},
        [[]],
        [[1], ["1"]],
    ),
    Case(
        "prefixes side by side",
        {
            "allOf": [
                {"prefixItems": [{"minimum": 1}]},
                {"prefixItems": [{"maximum": 2}, {"type": "null"}]},
            ]
        },
        [[], [1], [2, None]],
        [[0], [3], [1, 1]],
    ),
    Case(
        "arrays of arrays",
        {"items": {"items": {"type": "null"}, "minItems": 1, "type": "array"}},
        [[], [[None]], [[None], [None, None]]],
        [[[]], [None], [[1]]],
    ),
]

CLOSED = {
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "additionalProperties": False,
}
OBJECTS = [
    Case(
        "properties",
        {"properties": {"a": {"type": "integer"}}},
        [{}, {"a": 1}, {"b": "x"}, {"a": 1, "b": 2}, [1]],
        [{"a": "x"}, {"a": None}],
    ),
    Case("properties false", {"properties": {"a": False}}, [{}, {"b": 1}], [{"a": 1}, {"a": None}]),
    Case("required", {"required": ["a"]}, [{"a": None}, {"a": 1, "b": 2}, "a", []], [{}, {"b": 1}]),
    Case("nothing required", {"required": []}, [{}, {"a": 1}]),
    Case(
        "required and declared",
        {"properties": {"a": True, "b": True}, "required": ["b"]},
        [{"b": 1}, {"a": 1, "b": 2}, {"b": 1, "c": 2}],
        [{}, {"a": 1}, {"c": 1}],
    ),
    Case(
        "additionalProperties false",
        CLOSED,
        [{}, {"a": 1}, {"b": "x"}, {"a": 1, "b": ""}],
        [{"c": 1}, {"a": "x"}, {"": 1}],
    ),
    Case("additionalProperties false alone", {"additionalProperties": False}, [{}, []], [{"a": 1}]),
    Case(
        "additionalProperties schema",
        {"properties": {"a": True}, "additionalProperties": {"type": "null"}},
        [{"a": 1}, {"a": 1, "b": None, "c": None}],
        [{"b": 1}, {"a": None, "ab": 1}],
    ),
    Case(
        "additionalProperties true",
        {"properties": {"a": {"const": 1}}, "additionalProperties": True},
        [{"a": 1, "b": 2}],
        [{"a": 2}],
    ),
    Case(
        "required but not declared, among additional ones",
        {"required": ["x"], "additionalProperties": {"type": "integer"}},
        [{"x": 1}, {"x": 1, "y": 2}],
        [{"x": "1"}, {"y": 1}],
    ),
    Case(
        "keys with quotes, backslashes and other scripts",
        {
            "properties": {
                'q"': {"const": 1},
                "b\\": {"const": 2},
                "é😀": {"const": 3},
                "": {"const": 4},
                "\n": {"const": 5},
            },
            "additionalProperties": False,
        },
        [{'q"': 1, "b\\": 2, "é😀": 3, "": 4, "\n": 5}, {"": 4}],
        [{"q": 1}, {'q"': 2}, {"é": 3}],
    ),
    Case(
        "names that begin alike",
        {
            "properties": {"a": {"const": 1}, "ab": {"const": 2}, "abc": {"const": 3}},
            "additionalProperties": {"const": 4},
        },
        [{"a": 1, "ab": 2, "abc": 3}, {"ab": 2, "abcd": 4}, {"b": 4, "": 4}],
        [{"ab": 1}, {"abcd": 3}, {"abc": 4}],
    ),
    Case(
        "objects in objects",
        {"properties": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}}},
        [{}, {"a": {"b": 1}}, {"a": 3}],
        [{"a": {}}, {"a": {"b": 2}}],
    ),
    Case(
        "object keywords leave other types alone",
        {"properties": {"a": False}, "required": ["b"], "additionalProperties": False},
        ["a", 1, None, []],
        [{}, {"b": 1}, {"a": 1}],
    ),
    Case(
        "a key spelled like a list index",
        {"properties": {"0": {"const": 1}}},
        [{"0": 1}],
        [{"0": 2}],
    ),
]

COMBINED = [
    Case(
        "allOf",
        {"allOf": [{"minimum": 2}, {"maximum": 4}, {"type": "integer"}]},
        [2, 3, 4],
        [1, 5, "a", 2.5],
    ),
    Case(
        "allOf of two closed objects",
        {
            "allOf": [
                {"properties": {"a": True, "b": True}, "additionalProperties": False},
                {"properties": {"b": True, "c": True}, "additionalProperties": False},
            ]
        },
        [{}, {"b": 1}],
        [{"a": 1}, {"c": 1}, {"a": 1, "b": 1}],
    ),
    Case(
        "allOf of two closed objects that require different keys",
        {
            "type": "object",
            "allOf": [
                {"properties": {"a": True}, "additionalProperties": False},
                {"required": ["b"]},
            ],
        },
        [],
        [{}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
    ),
    Case(
        "additionalProperties looks at its own properties only",
        {
            "properties": {"a": True},
            "allOf": [{"properties": {"b": True}, "additionalProperties": False}],
        },
        [{}, {"b": 1}],
        [{"a": 1}, {"a": 1, "b": 1}],
    ),
    Case(
        "allOf of the same key",
        {"allOf": [{"properties": {"a": {"minimum": 2}}}, {"properties": {"a": {"maximum": 3}}}]},
        [{"a": 2}, {"a": 3}, {"a": "x"}],
        [{"a": 1}, {"a": 4}],
    ),
    Case(
        "one side additional, one side named",
        {
            "allOf": [
                {"properties": {"a": {"type": "integer"}}},
                {"additionalProperties": {"minimum": 5}},
            ]
        },
        [{"a": 5}, {"a": 6, "b": 5.5}, {"b": "x"}],
        [{"a": 4}, {"b": 4}, {"a": "x"}],
    ),
    Case(
        "anyOf of types", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["a", 1.5]
    ),
    Case(
        "anyOf that overlaps",
        {"anyOf": [{"type": "string", "maxLength": 3}, {"pattern": "^abcd"}]},
        ["a", "abc", "abcd", "abcde", 1],
        ["abce", "xxxx"],
    ),
    Case(
        "anyOf with a sibling",
        {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]},
        [0, 1, 5],
        [2, 4, "a"],
    ),
    Case(
        "anyOf of objects that share keys",
        {
            "type": "object",
            "anyOf": [
                {"properties": {"t": {"const": "x"}, "v": {"type": "integer"}}, "required": ["t"]},
                {
                    "properties": {"t": {"const": "y"}, "v": {"type": "string"}},
                    "required": ["t", "v"],
                },
            ],
        },
        [{"t": "x"}, {"t": "x", "v": 1}, {"t": "y", "v": "s"}],
        [{"t": "x", "v": "s"}, {"t": "y", "v": 1}, {"t": "y"}, {}],
    ),
    Case(
        "anyOf of objects told apart late",
        {
            "anyOf": [
                {
                    "properties": {"a": {"items": {"type": "integer"}}, "z": {"const": 1}},
                    "required": ["a", "z"],
                },
                {
                    "properties": {"a": {"items": {"type": "string"}}, "z": {"const": 2}},
                    "required": ["a", "z"],
                },
            ],
            "type": "object",
        },
        [{"a": [], "z": 1}, {"a": [], "z": 2}, {"a": [1], "z": 1}, {"a": ["s"], "z": 2}],
        [{"a": [1], "z": 2}, {"a": ["s"], "z": 1}, {"a": [1, "s"], "z": 1}, {"a": []}],
    ),
    Case(
        "anyOf with a closed and an open object",
        {
            "anyOf": [
                {"properties": {"a": {"const": 1}}, "additionalProperties": False},
                {"required": ["b"]},
            ]
        },
        [{}, {"a": 1}, {"a": 2, "b": 0}, {"b": 1, "c": 2}, 3],
        [{"a": 2}, {"c": 1}],
    ),
    Case(
        "anyOf of arrays",
        {"type": "array", "anyOf": [{"items": {"type": "integer"}}, {"maxItems": 1}]},
        [[], ["a"], [1, 2, 3]],
        [["a", 1], [1, "a"]],
    ),
    Case(
        "anyOf in allOf",
        {
            "allOf": [
                {"anyOf": [{"const": 1}, {"const": 2}]},
                {"anyOf": [{"const": 2}, {"const": 3}]},
            ]
        },
        [2],
        [1, 3],
    ),
    Case(
        "anyOf in anyOf",
        {"anyOf": [{"anyOf": [{"const": 1}, {"const": 2}]}, {"const": [3]}]},
        [1, 2, [3]],
        [3, [1]],
    ),
    Case("anyOf with true", {"anyOf": [{"type": "null"}, True]}, ONE_OF_EACH),
    Case("anyOf with false", {"anyOf": [{"type": "null"}, False]}, [None], without(None)),
    Case(
        "anyOf in a property and required outside",
        {
            "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}},
            "required": ["a"],
            "anyOf": [{"required": ["b"]}, {"required": ["c"]}],
        },
        [{"a": None, "b": 1}, {"a": 2, "c": 1}, {"a": 1, "b": 1, "c": 1}],
        [{"a": None}, {"b": 1}, {"a": "x", "b": 1}],
    ),
    Case(
        "anyOf of constants among objects",
        {"anyOf": [{"const": {"a": 1}}, {"properties": {"a": {"const": 2}}, "required": ["a"]}]},
        [{"a": 1}, {"a": 2}, {"a": 2, "b": 1}, 3],
        [{"a": 1, "b": 1}, {}, {"a": 3}],
    ),
]


DRAFTS = [
    Case(
        "draft 4: exclusiveMinimum is a flag",
        {"$schema": DRAFT4, "minimum": 3, "exclusiveMinimum": True},
        [3.1, 4],
        [3, 2],
    ),
    Case(
        "draft 4: a flag that is off",
        {"$schema": DRAFT4, "maximum": 3, "exclusiveMaximum": False},
        [3, 2],
        [3.1],
    ),
    Case(
        "draft 4: a flag without its bound says nothing",
        {"$schema": DRAFT4, "properties": {"a": {"minimum": 1}}},
        [{"a": 1}],
        [{"a": 0}],
    ),
    Case(
        "draft 4: additionalProperties false",
        {"$schema": DRAFT4, "properties": {"a": {}}, "additionalProperties": False},
        [{"a": 1}],
        [{"b": 1}],
    ),
    Case(
        "draft 6: exclusiveMinimum is a number",
        {"$schema": DRAFT6, "exclusiveMinimum": 3},
        [4],
        [3],
    ),
    Case("draft 6: const", {"$schema": DRAFT6, "const": [1]}, [[1]], [1]),
    Case(
        "draft 7: items as a list is a prefix",
        {"$schema": DRAFT7, "items": [{"type": "integer"}, {"const": "x"}]},
        [[], [1], [1, "x"], [1, "x", None]],
        [["x"], [1, "y"]],
    ),
    Case(
        "2019-09: items as a list is a prefix",
        {"$schema": DRAFT201909, "items": [{"type": "integer"}]},
        [[1, "x"]],
        [["x"]],
    ),
    Case(
        "draft 4: items as a list is a prefix",
        {"$schema": DRAFT4, "items": [{"type": "integer"}]},
        [[1, "x"]],
        [["x"]],
    ),
    Case(
        "draft 7: $ref hides its siblings",
        {
            "$schema": DRAFT7,
            "definitions": {"n": {"type": "integer"}},
            "properties": {"a": {"$ref": "#/definitions/n", "minimum": 5}},
        },
        [{"a": 1}, {"a": 5}],
        [{"a": "x"}],
    ),
    Case(
        "2020-12: $ref and its siblings both count",
        {
            "$defs": {"n": {"type": "integer"}},
            "properties": {"a": {"$ref": "#/$defs/n", "minimum": 5}},
        },
        [{"a": 5}],
        [{"a": 1}, {"a": "x"}, {"a": 5.5}],
    ),
    Case(
        "2019-09: $ref and its siblings both count",
        {
            "$schema": DRAFT201909,
            "$defs": {"n": {"type": "integer"}},
            "properties": {"a": {"$ref": "#/$defs/n", "minimum": 5}},
        },
        [{"a": 5}],
        [{"a": 1}],
    ),
    Case(
        "draft 7: a keyword hidden beside $ref may even be unknown to us",
        {
            "$schema": DRAFT7,
            "definitions": {"n": {"type": "integer"}},
            "items": {"$ref": "#/definitions/n", "not": {}, "multipleOf": 2},
        },
        [[1], [2]],
        [["x"]],
    ),
]


TABLES = {
    "arrays": ARRAYS,
    "objects": OBJECTS,
    "combined": COMBINED,
    "drafts": DRAFTS,
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{table}-{case.name}")
        for table, cases in TABLES.items()
        for case in cases
    ],
)
def test_keyword(case: Case) -> None:
    judge(case)


@pytest.mark.parametrize("style", ["any", "spaced"])
def test_many_items_are_counted(style: str) -> None:
    acceptor = compile_json_schema(
        {"items": {"type": "integer"}, "type": "array", "minItems": 1000, "maxItems": 1001},
        style=style,
    )
    for count, accepted in ((999, False), (1000, True), (1001, True), (1002, False)):
        assert acceptor.accepts(json.dumps([7] * count)) is accepted
    assert not acceptor.accepts_prefix(json.dumps([7] * 1001)[:-1] + ",")


def test_counts_beyond_all_memory_cost_nothing_before_they_are_reached() -> None:
    acceptor = compile_json_schema(
        {
            "properties": {
                "a": {"type": "array", "minItems": 10**12},
                "s": {"type": "string", "minLength": 10**9, "maxLength": 10**12},
                "b": {"type": "array", "maxItems": 10**18},
            }
        }
    )
    assert acceptor.accepts_prefix('{"a": [1, 2')
    assert not acceptor.accepts_prefix('{"a": [1, 2]')
    assert acceptor.accepts_prefix('{"s": "abc')
    assert not acceptor.accepts_prefix('{"s": "abc"')
    assert acceptor.accepts('{"b": [1, 2, 3]}')


def test_deep_nesting_is_no_problem() -> None:
    depth = 1_500
    for style in ("compact", "any"):
        acceptor = compile_json_schema(True, style=style)
        assert acceptor.accepts("[" * depth + "]" * depth)
        assert acceptor.accepts('{"a":' * depth + "1" + "}" * depth)
        assert not acceptor.accepts("[" * depth + "]" * (depth + 1))


def test_hundreds_of_properties() -> None:
    names = [f"key {i}" for i in range(300)]
    schema = {
        "properties": {name: {"const": i} for i, name in enumerate(names)},
        "required": names[1::2],
        "additionalProperties": False,
    }
    full = {name: i for i, name in enumerate(names)}
    odd = dict(list(full.items())[1::2])
    for style in ("any", "spaced"):
        acceptor = compile_json_schema(schema, style=style)
        assert acceptor.accepts(json.dumps(full))
        assert acceptor.accepts(json.dumps(odd))
        assert not acceptor.accepts(json.dumps({**odd, "key 299": 0}))
        assert not acceptor.accepts(json.dumps(dict(list(odd.items())[:-1])))


def test_an_array_whose_items_differ_beside_one_whose_items_need_not() -> None:
    branches = [
        {"properties": {"v": {"type": "array", "uniqueItems": unique}, "k": {"const": kind}}}
        for unique, kind in ((True, "a"), (False, "b"))
    ]
    schema = {"anyOf": [{"type": "object", "required": ["v", "k"], **each} for each in branches]}
    # The outcome must not hang on the addresses of objects: compile it several times.
    for _ in range(20):
        acceptor = compile_json_schema(schema)
        assert not acceptor.accepts('{"v": ["x", "x"], "k": "a"}')
        assert acceptor.accepts('{"v": ["x", "x"], "k": "b"}')
        assert acceptor.accepts('{"v": ["x", "y"], "k": "a"}')


def test_unevaluated_properties_over_shared_references_take_no_exponential_time() -> None:
    definitions = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(30)
    }
    definitions["d30"] = {"properties": {"a": True}}
    acceptor = compile_json_schema(
        {"$ref": "#/$defs/d0", "$defs": definitions, "unevaluatedProperties": False}
    )
    assert acceptor.accepts('{"a": 1}')
    assert not acceptor.accepts('{"b": 1}')


def test_additional_items_beside_no_list_of_items_says_nothing_in_any_draft() -> None:
    schema = {"items": {"type": "string"}, "additionalItems": False}
    acceptor = compile_json_schema({"type": "array", **schema})
    assert acceptor.accepts('["a", "b"]')
    assert not acceptor.accepts("[1]")
