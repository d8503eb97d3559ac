"""The mask of a state allows exactly the tokens whose bytes the acceptor can read there."""

from __future__ import annotations

import random

import pytest
from walks import allowed_ids

from mlx_structured import Acceptor, JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema
from mlx_structured.automaton.acceptor import advance

SCHEMAS: dict[str, object] = {
    "anything": True,
    "countries": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "continent": {"enum": ["Africa", "Asia"]}},
            "required": ["name", "continent"],
            "additionalProperties": False,
        },
    },
    "keys with quotes, backslashes and other scripts": {
        "type": "object",
        "properties": {'q"': {"const": 'a"b\\c'}, "é\\": {"const": "😀é"}, "": {"type": "null"}},
        "additionalProperties": {"type": "boolean"},
    },
    "open object with likely other keys": {
        "type": "object",
        "properties": {"ab": {"type": "integer"}, "abc": {"type": "string"}},
        "required": ["abc"],
    },
    "counted strings": {"type": "string", "minLength": 2, "maxLength": 5},
    "pattern": {"type": "string", "pattern": "^[a-c]{2,4}(-|é)?$"},
    "numbers": {"type": "number", "minimum": -12.5, "maximum": 130},
    "integers": {"type": "integer", "exclusiveMinimum": 7, "maximum": 1234},
    "alternatives that share a beginning": {
        "anyOf": [
            {"properties": {"a": {"type": "integer"}, "b": {"const": 1}}, "required": ["b"]},
            {"properties": {"a": {"type": "array"}, "c": {"const": "x"}}, "required": ["c"]},
            {"enum": ["ab", "abc", 12, 1.5, None, [1, 2], {"a": 1}]},
        ]
    },
    "recursion": {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "v": {"type": "integer"},
                    "kids": {"items": {"$ref": "#/$defs/tree"}},
                },
                "required": ["v"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/tree",
    },
    "items that differ": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    "few items that differ": {
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": ["a", "ab", 1, 12, None]},
        "minItems": 3,
    },
    "containers that differ": {
        "type": "array",
        "uniqueItems": True,
        "items": {"properties": {"a": {"type": "integer"}, "ab": {"uniqueItems": True}}},
    },
    "one of several": {
        "oneOf": [
            {"properties": {"a": {"const": 1}, "ab": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"const": 12}, "ab": {"type": "integer"}}, "required": ["a"]},
            {"type": ["string", "array"]},
            {"maxLength": 3},
        ]
    },
    "conditions": {
        "type": "object",
        "if": {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        "then": {"dependentRequired": {"ab": ["abc"]}, "maxProperties": 3},
        "else": {"not": {"required": ["ab"]}, "minProperties": 2},
    },
    "patterns of keys": {
        "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}},
        "propertyNames": {"maxLength": 3},
        "unevaluatedProperties": {"const": "x"},
        "anyOf": [{"properties": {"c": True}}, {"properties": {"d": True}, "required": ["d"]}],
    },
    "contains": {
        "type": "array",
        "contains": {"type": "integer", "multipleOf": 4},
        "minContains": 1,
        "maxContains": 2,
        "unevaluatedItems": {"type": "string"},
    },
    "prefix": {
        "prefixItems": [{"type": "integer"}, {"const": "x"}],
        "items": False,
        "type": "array",
    },
}
PIECES = [
    *'{}[]",:0123456789-.eE+ \n\t\\abcdu/nx',
    *('{"', '"}', '":', '": ', '", "', '", ', '"]', "[{", "}]", "},", "[]", "{}", "]]", '\\"'),
    *('"a', 'ab"', 'abc": ', 'a":1', '":1,"', '","ab":', '"ab":1,"ab', '":null,"', '":true,"a":'),
    *('"":null,"":', "true", "false", "null", "nu", "e-0", "12", ".5", "00", "1.", "  ", "\n  "),
    *("é", "😀", "\\u", "\\u00e9", "\\ud83d", "\\ude00", 'q\\"":', "Africa", "Asia", '"name": "'),
    *("continent", '"v": 1', "kids", "aaaa", "a" * 40),
]
SPLIT = [b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98\x80", b'\xa9"', b"a\xc3"]


def small_vocabulary() -> Vocabulary:
    """Every byte, pieces that cross the borders of lexemes, halves of characters, duplicates."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode() for piece in PIECES] + SPLIT
    tokens += [None, b'{"', b"a"]
    tokens.append(b"</s>")
    return Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])


VOCABULARY = small_vocabulary()


def by_hand(acceptor: Acceptor, text: bytes) -> list[int]:
    """The allowed ids, by reading every token's bytes."""
    reached = advance(acceptor.begin(), text)
    ids = [
        token_id
        for token_id, token in enumerate(VOCABULARY.tokens)
        if token is not None and advance(reached, token)
    ]
    return [*ids, *VOCABULARY.eos_token_ids] if acceptor.accepts(text) else ids


@pytest.mark.parametrize("style", ["spaced", "compact", "pretty", "flexible", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_mask_equals_reading_every_token(name: str, style: str) -> None:
    acceptor = compile_json_schema(SCHEMAS[name], style=style)
    rng = random.Random(name + style)
    for _ in range(6):
        driver = JsonSchemaAcceptorDriver(acceptor, VOCABULARY)
        text = b""
        for _ in range(25):
            ids = allowed_ids(driver.select_valid_tokens()).tolist()
            assert ids == by_hand(acceptor, text), text
            ids = [token_id for token_id in ids if token_id not in VOCABULARY.eos_token_ids]
            if not ids:
                break
            # Long tokens cross more borders: prefer them, but not always.
            ids.sort(key=lambda token_id: len(VOCABULARY.tokens[token_id] or b""))
            token_id = rng.choice(ids[-4:] if rng.random() < 0.5 else ids)
            driver.advance_token(token_id)
            text += VOCABULARY.tokens[token_id] or b""
