"""On schemas drawn at random, the acceptor judges as another validator does."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlx_structured import (
    Acceptor,
    SchemaError,
    UnsatisfiableSchemaError,
    compile_json_schema,
)

KEYS = ["a", "b", "ab", "c"]
SCALARS = [None, True, False, 0, 1, 2, -1, 1.5, "", "a", "ab", "b"]
CONTAINERS = [[], [1], ["a", 1], {}, {"a": 1}, {"b": "a"}]
LEAVES: list[Any] = [
    True,
    False,
    {},
    {"type": "integer"},
    {"type": "string"},
    {"type": "object"},
    {"type": "array"},
    {"$ref": "#"},
    {"$ref": "#/$defs/x"},
    {"$ref": "#/$defs/y"},
]
KEYWORDS = [
    "type",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "$ref",
]
TYPES = [
    *("object", "array", "string", "integer", "number", "null", "boolean"),
    *(["object", "integer"], ["array", "string"], ["array", "object"]),
]


def random_value(rng: random.Random, depth: int) -> Any:
    """A value of few keys and few scalars, so that much of it is valid by chance."""
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return rng.choice(SCALARS + CONTAINERS)
    if kind < 0.75:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {key: random_value(rng, depth - 1) for key in rng.sample([*KEYS, "z"], rng.randrange(4))}


def random_keyword(rng: random.Random, keyword: str, depth: int) -> Any:
    """What may stand under the keyword."""
    if keyword == "type":
        return rng.choice(TYPES)
    if keyword == "enum":
        return [random_value(rng, 2) for _ in range(rng.randrange(1, 4))]
    if keyword == "const":
        return random_value(rng, 2)
    if keyword in ("anyOf", "allOf", "prefixItems"):
        return [random_schema(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    if keyword == "properties":
        names = rng.sample(KEYS, rng.randrange(4))
        return {name: random_schema(rng, depth - 1) for name in names}
    if keyword == "required":
        return rng.sample(KEYS, rng.randrange(3))
    if keyword in ("additionalProperties", "items"):
        return random_schema(rng, depth - 1)
    if keyword in ("minItems", "maxItems", "minLength", "maxLength"):
        return rng.randrange(4)
    if keyword == "pattern":
        return rng.choice(["a", "^a", "b$", "^(a|b)*$", "^$"])
    if keyword == "$ref":
        return rng.choice(["#", "#/$defs/x", "#/$defs/y"])
    return rng.choice([-1, 0, 1, 1.5, 2])


def random_schema(rng: random.Random, depth: int) -> Any:
    """A schema of the enforced keywords, up to that depth."""
    if depth == 0 or rng.random() < 0.12:
        return rng.choice(LEAVES)
    keywords = rng.sample(KEYWORDS, rng.randrange(1, 5))
    return {keyword: random_keyword(rng, keyword, depth) for keyword in keywords}


def compiled(schema: Any, style: str) -> Acceptor | None:
    """The acceptor, ``None`` where nothing is accepted."""
    try:
        return compile_json_schema(schema, style=style)
    except UnsatisfiableSchemaError:
        return None


def judge_random_schemas(seed: int, count: int) -> int:
    """Compare with the validator; how many instances were judged."""
    rng = random.Random(seed)
    judged = 0
    for _ in range(count):
        schema = {
            "allOf": [random_schema(rng, 3)],
            "$defs": {"x": random_schema(rng, 2), "y": random_schema(rng, 1)},
        }
        instances = [random_value(rng, 3) for _ in range(25)]
        try:
            acceptor, printed = compiled(schema, "any"), compiled(schema, "spaced")
        except SchemaError as error:
            assert "itself" in str(error)  # a loop on the same value, where validators hang
            continue
        validator = Draft202012Validator(schema)
        for instance in instances:
            text = json.dumps(instance)
            valid = validator.is_valid(instance)
            accepted = acceptor is not None and acceptor.accepts(text)
            assert accepted == valid, (schema, text)
            # Keys may stand in another order than declared, so only one direction holds.
            if printed is not None and printed.accepts(text):
                assert valid, (schema, text)
            judged += 1
    return judged


@pytest.mark.parametrize("seed", range(4))
def test_random_schemas_are_judged_as_by_another_validator(seed: int) -> None:
    assert judge_random_schemas(seed, 60) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_random_schemas_are_judged_as_by_another_validator(seed: int) -> None:
    assert judge_random_schemas(seed, 1_000) > 10_000
