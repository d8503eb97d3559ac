"""Masks within numbers, where tokens have several digits: states that stand for many are exact."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from walks import allowed_ids

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

DIGITS = [f"{number:0{size}}" for size in (1, 2, 3) for number in range(10**size)]
OTHERS = [
    "-",
    ".",
    "e",
    "e+",
    "e-",
    "e+1",
    "e-3",
    "e-30",
    "-1",
    "0.",
    ".0",
    ".5",
    "5e",
    "1.",
    "1e-",
]
LONG = ["e+300", "e-308", "e-32", "1234", "0.125", "1e-30"]

DRAFT4 = "http://json-schema.org/draft-04/schema#"
SCHEMAS: list[dict[str, Any]] = [
    {"type": "number"},
    {"type": "integer"},
    {"minimum": 0},
    {"exclusiveMinimum": 0},
    {"minimum": 0, "not": {"enum": [0]}},
    {"maximum": 0},
    {"exclusiveMaximum": 0},
    {"minimum": 0, "maximum": 1},
    {"exclusiveMinimum": 0, "maximum": 100},
    {"minimum": 256},
    {"minimum": 3600, "maximum": 604800},
    {"minimum": -5.25, "maximum": 5.25},
    {"minimum": 1e-7},
    {"maximum": 1e17},
    {"minimum": 0.001, "maximum": 1e16},
    {"multipleOf": 0.1},
    {"multipleOf": 0.01, "minimum": 1},
    {"multipleOf": 0.25, "maximum": 1000},
    {"type": "integer", "minimum": 1024, "multipleOf": 8},
    {"not": {"multipleOf": 3}},
    {"$schema": DRAFT4, "type": "number", "not": {"type": "integer"}},
    {"$schema": DRAFT4, "type": "number", "not": {"type": "integer", "minimum": 300}},
    {"$schema": DRAFT4, "anyOf": [{"type": "integer"}, {"type": "number", "maximum": 900.5}]},
    {"$schema": DRAFT4, "minimum": 0, "anyOf": [{"type": "integer"}, {"minimum": 20}]},
]


@pytest.mark.parametrize("bound", ["1e+308", "1.7e+308"])
def test_multiples_beyond_nearly_all_doubles_begin_as_few_numbers_do(bound: str) -> None:
    schema = {"type": "number", "minimum": float(bound), "multipleOf": 0.1}
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(bound)
    assert acceptor.accepts_prefix("1.7")
    assert not acceptor.accepts_prefix("7.0")


@pytest.mark.parametrize("tokens", [DIGITS + OTHERS, DIGITS + OTHERS + LONG], ids=["short", "long"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_each_token_is_offered_exactly_where_it_can_be_read(
    schema: dict[str, Any], tokens: list[str]
) -> None:
    vocabulary = Vocabulary(
        [*(each.encode() for each in tokens), None], eos_token_ids=[len(tokens)]
    )
    end = len(tokens)
    rng = random.Random(json.dumps(schema))
    acceptor = compile_json_schema({"type": "number", **schema})
    for _ in range(4):
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        text = ""
        while len(text) < 25:
            offered = set(allowed_ids(driver.select_valid_tokens()).tolist())
            looked_at = {*rng.sample(range(end), 60), *range(len(DIGITS), end), *range(10)}
            read = {each for each in looked_at if acceptor.accepts_prefix(text + tokens[each])}
            assert offered & looked_at == read, text
            assert (end in offered) == acceptor.accepts(text), text
            if not read:
                break
            token = rng.choice(sorted(read))
            text += tokens[token]
            driver.advance_token(token)
