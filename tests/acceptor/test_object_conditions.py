"""Many conditions on the keys of one object are judged as by another validator, in every order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlx_structured import Acceptor, UnsatisfiableSchemaError, compile_json_schema
from mlx_structured.automaton.acceptor import accepts_end, advance

KEYS = ["k", "u", "ab", "b"]
VALUES: list[Any] = ["", "a", "b", "ab", "ba", 1, 2, None, {"k": "a"}]
PATTERNS = ["a", "b", "^a", "b$", "ab", "^.?$", "^b"]
KEY_PATTERNS = ["a", "b", "^a", "b$", "k", "^.$", "u"]
BYTES = [bytes([byte]) for byte in b'}",:kuab12{[]nl \\']


def random_value_schema(rng: random.Random) -> Any:
    """Of a value under a key."""
    kind = rng.random()
    if kind < 0.4:
        return {"pattern": rng.choice(PATTERNS)}
    if kind < 0.5:
        return {"type": "string", "pattern": rng.choice(PATTERNS)}
    if kind < 0.65:
        return {"const": rng.choice(VALUES)}
    if kind < 0.75:
        return {"enum": rng.sample(VALUES, 3)}
    if kind < 0.8:
        return {"properties": {"k": random_value_schema(rng)}, "required": ["k"]}
    return rng.choice(
        [True, False, {"type": "string"}, {"not": {"type": "string"}}, {"minimum": 2}]
    )


def random_branch(rng: random.Random) -> Any:
    """Of an object, or of anything else."""
    names = rng.sample(KEYS, rng.randrange(1, 3))
    schema: dict[str, Any] = {"properties": {name: random_value_schema(rng) for name in names}}
    if rng.random() < 0.6:
        schema["required"] = rng.sample(names, rng.randrange(1, len(names) + 1))
    if rng.random() < 0.15:
        schema["patternProperties"] = {rng.choice(KEY_PATTERNS): random_value_schema(rng)}
    return schema


def random_schema(rng: random.Random) -> Any:
    """Of an object, with enough conditions that they are followed together."""
    schema: dict[str, Any] = {"type": "object"}
    size = rng.randrange(2, 7)
    if rng.random() < 0.6:
        schema[rng.choice(["anyOf", "oneOf"])] = [random_branch(rng) for _ in range(size)]
    if rng.random() < 0.5:
        schema["allOf"] = [
            {"if": random_branch(rng), "then": random_branch(rng), "else": random_branch(rng)}
            if rng.random() < 0.3
            else {"if": random_branch(rng), "then": random_branch(rng)}
            for _ in range(size)
        ]
    if rng.random() < 0.4:
        patterns = rng.sample(KEY_PATTERNS, rng.randrange(1, 7))
        schema["patternProperties"] = {each: random_value_schema(rng) for each in patterns}
    if rng.random() < 0.2:
        schema["additionalProperties"] = random_value_schema(rng)
    if rng.random() < 0.2:
        schema["propertyNames"] = {"pattern": rng.choice(KEY_PATTERNS)}
    if rng.random() < 0.2:
        schema["required"] = [rng.choice(KEYS)]
    if rng.random() < 0.3:
        schema[rng.choice(["minProperties", "maxProperties"])] = rng.randrange(1, 4)
    if rng.random() < 0.3:
        schema["dependentRequired"] = {rng.choice(KEYS): [rng.choice(KEYS)] for _ in range(2)}
    if rng.random() < 0.15:
        schema["enum"] = [dict(each) for each in rng.sample(SMALL_OBJECTS, 12)]
    return schema


def small_objects() -> Iterator[dict[str, Any]]:
    """All objects of at most two keys."""
    yield {}
    for key, value in product(KEYS, VALUES):
        yield {key: value}
    for (one, value), (other, more) in product(product(KEYS, VALUES), repeat=2):
        if one < other:
            yield {one: value, other: more}


SMALL_OBJECTS = list(small_objects())


def orders(value: dict[str, Any]) -> Iterator[str]:
    """The text of an object with its keys in each order."""
    for members in permutations(value.items()):
        yield json.dumps(dict(members))


def walk(acceptor: Acceptor, rng: random.Random) -> str | None:
    """A document drawn from what may come next, if it ends in time; a dead end is an error."""
    text, reached = b"", acceptor.begin()
    for _ in range(70):
        if accepts_end(reached):
            return text.decode()
        bytes_first = sorted(BYTES, key=lambda _: rng.random())
        if rng.random() < 0.6:
            bytes_first.sort(key=lambda byte: byte not in b'"}')
        every = [bytes([byte]) for byte in range(256)]
        for byte in [*bytes_first, *every]:
            after = advance(reached, byte)
            if after:
                text, reached = text + byte, after
                break
        else:
            raise AssertionError(f"nothing may come after {text!r}")
    return None


def judge(seed: int, count: int) -> int:
    """Compare with the validator; how many valid objects there were."""
    rng = random.Random(seed)
    valid_ones = 0
    for _ in range(count):
        schema = random_schema(rng)
        validator = Draft202012Validator(schema)
        objects = rng.sample(SMALL_OBJECTS, 40)
        objects += [{**rng.choice(objects), **rng.choice(objects)} for _ in range(20)]
        valid = [validator.is_valid(each) for each in objects]
        try:
            free = compile_json_schema(schema, style="any")
            declared = compile_json_schema(schema)
        except UnsatisfiableSchemaError:
            assert not any(valid), schema
            continue
        for each, expected in zip(objects, valid, strict=True):
            texts = list(orders(each))
            assert {free.accepts(text) for text in texts} == {expected}, (schema, each)
            assert any(map(declared.accepts, texts)) == expected, (schema, each)
        for acceptor in (free, declared):
            text = walk(acceptor, rng)
            assert text is None or validator.is_valid(json.loads(text)), (schema, text)
        valid_ones += sum(valid)
    return valid_ones


@pytest.mark.parametrize("seed", range(4))
def test_objects_under_many_conditions_are_judged_as_by_another_validator(seed: int) -> None:
    assert judge(seed, 7) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_objects_under_conditions_are_judged_as_by_another_validator(seed: int) -> None:
    assert judge(seed, 300) > 1_000


def test_a_required_name_that_no_pattern_admits_is_no_dead_end() -> None:
    schema = {
        "type": "object",
        "properties": {"a1": {"type": "integer"}, "x": False},
        "required": ["a1"],
        "anyOf": [{"patternProperties": {"^a": {"type": "string"}}}, {"required": ["x"]}],
    }
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema(schema)


@pytest.mark.parametrize("style", ["spaced", "any"])
def test_a_member_of_a_large_enum_of_objects_is_told_from_its_neighbours(style: str) -> None:
    members = [{"id": i, "name": f"name{i % 50}"} for i in range(3_000)]
    acceptor = compile_json_schema({"enum": members}, style=style)
    assert acceptor.accepts('{"id": 1234, "name": "name34"}')
    assert not acceptor.accepts('{"id": 1234, "name": "name35"}')
    assert not acceptor.accepts('{"id": 3000, "name": "name0"}')
    assert not acceptor.accepts('{"id": 1234}')


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_patterns_before_their_discriminator_are_followed_side_by_side(keyword: str) -> None:
    branches = [
        {
            "properties": {
                "url": {"type": "string", "pattern": letter},
                "kind": {"const": f"has {letter}"},
            },
            "required": ["url", "kind"],
        }
        for letter in "abcdefghijklmnop"
    ]
    acceptor = compile_json_schema({keyword: branches})
    assert acceptor.accepts('{"url": "xap", "kind": "has p"}')
    assert acceptor.accepts('{"url": "xap", "kind": "has a"}')
    assert not acceptor.accepts('{"url": "xap", "kind": "has b"}')
    assert not acceptor.accepts_prefix('{"url": "xyz"')


@pytest.mark.parametrize("style", ["spaced", "any"])
def test_each_of_twelve_overlapping_patterns_of_keys_constrains_its_keys(style: str) -> None:
    patterns = {letter: {"minimum": i} for i, letter in enumerate("abcdefghijkl")}
    acceptor = compile_json_schema({"patternProperties": patterns}, style=style)
    assert acceptor.accepts('{"bad": 3, "kick": 10, "zz": -1}')
    assert not acceptor.accepts('{"bad": 2}')
    assert not acceptor.accepts('{"zz": -1, "kick": 9}')
    assert not acceptor.accepts('{"bad": 3, "bad": 3}')


def test_a_thousand_keys_are_all_refused_a_second_time() -> None:
    reached = compile_json_schema({"type": "object"}).begin()
    text = ", ".join(f'"key {i}": {i}' for i in range(1_000))
    reached = advance(reached, b"{" + text.encode())
    assert accepts_end(advance(reached, b"}"))
    assert accepts_end(advance(reached, b', "key 1000": 0}'))
    for i in (0, 500, 999):
        assert not advance(reached, f', "key {i}"'.encode())


def test_objects_of_strings_told_apart_are_listed_for_items_that_must_differ() -> None:
    branches = [
        {
            "properties": {"k": {"enum": [kind]}, "n": {"const": number}},
            "required": ["k", "n"],
            "additionalProperties": False,
        }
        for kind, number in zip("abcde", range(5), strict=True)
    ]
    items = {"type": "object", "anyOf": branches}
    schema = {"type": "array", "uniqueItems": True, "items": items}
    five = [{"k": kind, "n": number} for kind, number in zip("abcde", range(5), strict=True)]
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(json.dumps(five))
    assert not acceptor.accepts_prefix(json.dumps(five)[:-1] + ",")
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema({**schema, "minItems": 6})
