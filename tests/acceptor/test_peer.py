"""Ours beside llm-structured-output's acceptor, on schemas that both handle.

The peer takes objects as closed, keys in any order, up to 40 blanks between tokens, and every
spelling of a number or a string. So what ours accepts the peer must accept, and what no validator
accepts both must refuse.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from walks import allowed_ids, walk

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

peer = pytest.importorskip("llm_structured_output.json_schema_acceptor")

COUNTRIES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "continent": {"enum": ["Africa", "Asia", "Europe"]},
        },
        "required": ["name", "continent"],
        "additionalProperties": False,
    },
}
SCHEMAS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "countries": (
        COUNTRIES,
        [[], [{"name": "Nigeria", "continent": "Africa"}], [{"name": "", "continent": "Asia"}] * 3],
        [
            None,
            {},
            [{}],
            [{"name": "x"}],
            [{"name": "x", "continent": "Mars"}],
            [["name"]],
            [{"name": 1, "continent": "Asia"}],
            [{"name": "x", "continent": "Asia", "more": 1}],
        ],
    ),
    "strings": (
        {"type": "string", "minLength": 2, "maxLength": 4},
        ["ab", "abcd", "é😀", 'a"\\', "\n\t"],
        ["", "a", "abcde", 1, None, ["ab"]],
    ),
    "integers": (
        {"type": "integer", "minimum": -5, "exclusiveMaximum": 20},
        [-5, 0, 7, 19],
        [-6, 20, 100, -10, "1", None, 1.5],
    ),
    "numbers": (
        # The peer judges every prefix of a number, so 0.5 would need a minimum of 0.
        {"type": "number", "minimum": 0, "maximum": 20},
        [0, 0.5, 1, 1.25, 20, 19.99],
        [21, 20.5, -1, -0.5, "1"],
    ),
    "booleans and null": ({"type": ["boolean", "null"]}, [True, False, None], [0, "true", "", []]),
    "counts": (
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
        [[True], [True, False], [True, False, True]],
        [[], [True] * 4, [1], True],
    ),
    "optional keys": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "ab": {"type": "null"},
                "b": {"type": "string"},
            },
            "required": ["ab"],
            "additionalProperties": False,
        },
        [{"ab": None}, {"a": 1, "ab": None}, {"a": 1, "ab": None, "b": "x"}, {"ab": None, "b": ""}],
        [{}, {"a": 1}, {"ab": 1}, {"ab": None, "c": 1}, [], {"a": "x", "ab": None}],
    ),
    "alternatives": (
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        [1, [], ["a", "b"]],
        ["a", [1], None, 1.5, ["a", 1]],
    ),
    "references": (
        {
            "type": "object",
            "properties": {
                "name": {"$ref": "#/$defs/name"},
                "friends": {"type": "array", "items": {"$ref": "#/$defs/name"}},
            },
            "required": ["name"],
            "additionalProperties": False,
            "$defs": {"name": {"type": "string", "maxLength": 3}},
        },
        [{"name": "x"}, {"name": "abc", "friends": []}, {"name": "", "friends": ["a", "abc"]}],
        [{}, {"name": "abcd"}, {"name": "x", "friends": ["abcd"]}, {"friends": []}],
    ),
    "nested objects": (
        {
            "type": "object",
            "properties": {
                "point": {
                    "type": "object",
                    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                    "required": ["x", "y"],
                    "additionalProperties": False,
                },
                "kind": {"const": "point"},
            },
            "required": ["point", "kind"],
            "additionalProperties": False,
        },
        [{"point": {"x": 1, "y": -2.5}, "kind": "point"}],
        [{}, {"point": {"x": 1}, "kind": "point"}, {"point": {"x": 1, "y": 2}, "kind": "line"}],
    ),
}

PIECES = [
    *map(chr, range(0x20, 0x7F)),
    "\n",
    '{"',
    '"}',
    '":',
    '": ',
    '", "',
    '"]',
    "[{",
    "}]",
    "},",
    "[]",
    "true",
    "false",
    "null",
    "12",
    "1.5",
    "name",
    '"name":',
    "continent",
    "Africa",
    "Asia",
    "ab",
    '"ab":null',
    "point",
    '{"point":{"x":',
    "friends",
    "kind",
    ",1",
    '":1',
    "\n  ",
    "abcd",
    "é",
]
EOS = len(PIECES)
VOCABULARY = Vocabulary([*(piece.encode() for piece in PIECES), None], eos_token_ids=[EOS])


def peer_accepts(schema: Any, text: str) -> bool:
    """Whether the peer reads the whole text."""
    driver = peer.JsonSchemaAcceptorDriver({}, None, -1, schema)
    try:
        for character in text:
            driver.advance_char(character)
    except peer.JsonSchemaAcceptorDriver.CharacterRejected:
        return False
    return bool(driver.in_accepted_state())


def written(value: Any) -> list[str]:
    """Texts of a value: compact, and with blanks."""
    return [
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, ensure_ascii=False, indent=2),
    ]


@pytest.mark.parametrize("name", SCHEMAS)
def test_both_judge_documents_alike(name: str) -> None:
    schema, valid, invalid = SCHEMAS[name]
    flexible = compile_json_schema(schema, style="flexible")
    compact = compile_json_schema(schema, style="compact")
    for instances, accepted in ((valid, True), (invalid, False)):
        for instance in instances:
            for text in written(instance):
                assert flexible.accepts(text) is accepted, text
                assert peer_accepts(schema, text) is accepted, text
            assert compact.accepts(written(instance)[0]) is accepted, instance


# Without "flexible": the peer refuses blanks in an empty array.
@pytest.mark.parametrize("style", ["compact", "spaced", "pretty"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_peer_accepts_what_our_masks_let_through(name: str, style: str) -> None:
    schema = SCHEMAS[name][0]
    acceptor = compile_json_schema(schema, style=style)
    rng = random.Random(name + style)
    for _ in range(10):
        text = walk(acceptor, VOCABULARY, rng)
        if text is not None:
            assert peer_accepts(schema, text.decode()), text


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_peer_reads_every_token_that_our_masks_allow(name: str) -> None:
    schema, valid, _ = SCHEMAS[name]
    acceptor = compile_json_schema(schema, style="compact")
    for value in valid:
        text = written(value)[0]
        ours = JsonSchemaAcceptorDriver(acceptor, VOCABULARY)
        theirs = peer.JsonSchemaAcceptorDriver(dict(enumerate(PIECES)), None, EOS, schema)
        while text:
            before = theirs.cursors
            allowed = allowed_ids(ours.select_valid_tokens()).tolist()
            for token_id in allowed:
                theirs.advance_token(token_id)
                theirs.cursors = before
            readable = [i for i in allowed if i != EOS and text.startswith(PIECES[i])]
            if not readable:
                break  # a character that this small vocabulary has no token for
            token_id = max(readable, key=lambda i: len(PIECES[i]))
            ours.advance_token(token_id)
            theirs.advance_token(token_id)
            text = text[len(PIECES[token_id]) :]
        if not text:
            assert ours.in_accepted_state()
            assert theirs.in_accepted_state()
