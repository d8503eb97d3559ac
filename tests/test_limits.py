"""Work is bounded, the error says by what and where, and what was in use stays usable."""

from __future__ import annotations

import gc
import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    Limits,
    SchemaError,
    UnsatisfiableSchemaError,
    Vocabulary,
    compile_json_schema,
    limits,
)
from mlx_structured.compiler import find_unsupported
from mlx_structured.json_schema import emptiness
from mlx_structured.limits import CACHES, Budget, CacheSizes, Portion, charge

EXPLODING_PATTERN: dict[str, Any] = {
    "type": "string",
    "allOf": [{"pattern": "^.*a.{20}$"}, {"not": {"pattern": "^.*[ab].{20}$"}}],
}
"""No text, which takes an automaton of 2 ** 20 states to find out."""


def within(seconds: float, schema: Any, text: str) -> LimitExceededError:
    """The error of compiling a schema, or else of reading a text, which must come in time."""
    begin = time.perf_counter()
    with pytest.raises(LimitExceededError) as raised:
        compile_json_schema(schema, limits=Limits(seconds=seconds)).accepts(text)
    # Twice: once for compiling, once for the text; and the machine may be busy.
    assert time.perf_counter() - begin < 2 * seconds + 2
    return raised.value


# The settings


@pytest.mark.parametrize("name", ["seconds", "states", "memory"])
@pytest.mark.parametrize("value", ["1", None, True, [1]])
def test_a_limit_of_a_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["seconds", "states", "memory"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_must_be_positive(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name}.*positive"):
        Limits(**{name: value})


def test_half_a_state_and_no_number_of_seconds_are_refused() -> None:
    with pytest.raises(TypeError, match="states"):
        Limits(states=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds"):
        Limits(seconds=math.nan)


@pytest.mark.parametrize("function", [compile_json_schema, find_unsupported])
def test_limits_are_no_number(function: Any) -> None:
    with pytest.raises(TypeError, match="Limits"):
        function({}, limits=10)


def test_caches_take_a_size_in_bytes() -> None:
    assert CACHES.total == 256 * 2**20
    parts = (CACHES.acceptors, CACHES.walks, CACHES.masks, CACHES.packed_masks, CACHES.languages)
    assert sum(parts) == CACHES.total
    with pytest.raises(ValueError, match="negative"):
        CacheSizes(-1)
    with pytest.raises(TypeError, match="int"):
        CACHES.total = 0.5  # type: ignore[assignment]


# The budget


def test_without_a_budget_nothing_is_counted() -> None:
    charge(10**12, 10**15)


def test_a_budget_gives_out_exactly_its_states() -> None:
    with Budget(Limits(states=1_000)):
        for _ in range(1_000):
            charge()
        with pytest.raises(LimitExceededError) as raised:
            charge()
    assert raised.value.limit == "states"


def test_a_budget_gives_out_its_bytes_at_once() -> None:
    with Budget(Limits(memory=1_000)):
        charge(1, 1_000)
        with pytest.raises(LimitExceededError) as raised:
            charge(1, 1)
    assert raised.value.limit == "memory"


def test_work_within_work_counts_for_the_outer_budget() -> None:
    with Budget(Limits(states=10)):
        with Budget(Limits()):
            charge(10)
        with pytest.raises(LimitExceededError):
            charge()
    charge(10**9)


def test_a_budget_is_of_one_thread() -> None:
    failed: list[Exception] = []

    def work() -> None:
        try:
            charge(10**9)
        except LimitExceededError as error:
            failed.append(error)

    with Budget(Limits(states=1)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed


def test_a_portion_that_is_spent_leaves_the_rest_of_the_budget() -> None:
    with Budget(Limits(states=100)) as budget:
        for _ in range(2):
            with Portion(10) as portion:
                charge(11)
                pytest.fail("a portion gave out more than its share")
            assert portion.is_spent
        with Portion(10) as portion:
            charge(10)
        assert not portion.is_spent
        assert budget.states == 32
        charge(68)
        with pytest.raises(LimitExceededError), Portion(10):
            charge()
    with Portion(1) as portion:
        charge(2)
    assert portion.is_spent


# Each limit, with its place

OVERLAPPING = {
    "properties": {
        "at": {
            "type": "object",
            "patternProperties": {
                f"{letter}.{{9}}$": {"type": "integer"} for letter in "abcdefghijkl"
            },
            "additionalProperties": False,
        }
    }
}


def test_seconds_end_an_intersection_of_patterns() -> None:
    schema = {"properties": {"a/b": EXPLODING_PATTERN}}
    error = within(0.5, schema, '{"a/b": "a"}')
    assert error.limit == "seconds"
    assert error.keyword == "pattern"
    assert error.pointer.startswith("/properties/a~1b/allOf/")
    assert error.pointer.endswith("/pattern")
    message = str(error)
    assert "'pattern'" in message
    assert error.pointer in message
    assert "0.5 seconds" in message
    assert "Limits(seconds=...)" in message


def test_states_end_it_at_the_same_place_on_each_machine() -> None:
    for _ in range(2):
        with pytest.raises(LimitExceededError) as raised:
            compile_json_schema(
                {"type": "object", "properties": {"a": EXPLODING_PATTERN}, "required": ["a"]},
                limits=Limits(states=5_000, seconds=math.inf),
            )
        assert raised.value.limit == "states"
        assert raised.value.pointer == "/properties/a/allOf/0/pattern"
        assert "5,000 states" in str(raised.value)


def test_memory_ends_it() -> None:
    with pytest.raises(LimitExceededError) as raised:
        compile_json_schema(EXPLODING_PATTERN, limits=Limits(memory=5_000_000, seconds=math.inf))
    assert raised.value.limit == "memory"
    assert raised.value.keyword == "pattern"


def test_overlapping_patterns_of_keys_end_in_the_middle_of_a_text() -> None:
    error = within(0.5, OVERLAPPING, '{"at": {"abcdefghijkl": 1}}')
    assert (error.keyword, error.pointer) == (
        "patternProperties",
        "/properties/at/patternProperties",
    )


def test_find_unsupported_is_bounded_as_well() -> None:
    schema = {"items": [{"pattern": f"x{{{i}}}"} for i in range(100)]}
    with pytest.raises(LimitExceededError) as raised:
        find_unsupported(
            {"prefixItems": schema["items"]}, limits=Limits(states=50, seconds=math.inf)
        )
    assert raised.value.limit == "states"


# Schemas from outside that ask for everything


HOSTILE: dict[str, tuple[Any, str, set[str]]] = {
    "an intersection of patterns": (EXPLODING_PATTERN, '"a"', {"pattern"}),
    "overlapping patterns of keys": (
        OVERLAPPING,
        '{"at": {"abcdefghijkl": 1}}',
        {"patternProperties"},
    ),
    "overlapping patterns of keys that are counted": (
        {**OVERLAPPING["properties"]["at"], "minProperties": 3},
        '{"abcdefghijkl": 1}',
        {"patternProperties"},
    ),
    "an enum of objects": (
        {"enum": [{"a": i, "b": [i, {"c": i}]} for i in range(8_000)]},
        '{"a": 7, "b": [7, {"c": 7}]}',
        {"enum"},
    ),
    "an enum of arrays": ({"enum": [[i, str(i)] for i in range(8_000)]}, '[7, "7"]', {"enum"}),
    "one multiple of many": (
        {"oneOf": [{"multipleOf": m} for m in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)]},
        "2",
        {"multipleOf", "oneOf"},
    ),
    "many contains under unevaluatedItems": (
        {
            "allOf": [{"contains": {"const": i}} for i in range(18)],
            "unevaluatedItems": {"type": "string"},
        },
        "[1, 2]",
        {"unevaluatedItems", "contains"},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_ends_in_time_with_its_keyword(name: str) -> None:
    schema, text, keywords = HOSTILE[name]
    error = within(0.3, schema, text)
    assert error.limit == "seconds"
    assert error.keyword in keywords
    assert error.pointer.endswith(f"/{error.keyword}")


def test_a_step_of_a_driver_is_bounded_and_the_driver_stays(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema(OVERLAPPING, limits=Limits(seconds=0.3))
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for byte in b'{"at":':
        driver.advance_token(byte)
    begin = time.perf_counter()
    with pytest.raises(LimitExceededError) as raised:
        for byte in b' {"':
            driver.select_valid_tokens()
            driver.advance_token(byte)
    assert time.perf_counter() - begin < 3
    assert raised.value.keyword == "patternProperties"
    count = driver.token_count
    with pytest.raises(LimitExceededError):
        for byte in b' {"'[count - 6 :]:
            driver.select_valid_tokens()
            driver.advance_token(byte)
    assert driver.token_count == count


def test_a_schema_of_a_megabyte_compiles() -> None:
    schema = {
        "properties": {
            f"property {i}": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": i % 9},
                    "count": {"type": "integer", "maximum": i},
                    "kind": {"enum": ["a", f"{i}"]},
                    "text": {"type": "string", "description": "x" * 300},
                },
                "required": ["name"],
            }
            for i in range(2_000)
        }
    }
    text = json.dumps(schema)
    assert len(text) > 1_000_000
    acceptor = compile_json_schema(text)
    assert acceptor.accepts('{"property 7": {"name": "abcdefg", "count": 7}}')
    assert not acceptor.accepts('{"property 7": {"name": "abcdefg", "count": 8}}')


# Depth

DEEP = 400


def one_deeper(way: str, schema: dict[str, Any], level: int) -> dict[str, Any]:
    """A schema around another one, that says something about the same text or one around it."""
    return {
        "properties": {"properties": {"a": schema}, "required": ["a"], "type": "object"},
        "items": {"items": schema, "minItems": 1, "type": "array"},
        "contains": {"contains": schema, "type": "array"},
        "additionalProperties": {
            "additionalProperties": schema,
            "minProperties": 1,
            "type": "object",
        },
        "allOf": {"allOf": [schema, {"maximum": level + 1}]},
        "anyOf": {"anyOf": [schema, {"const": f"{level}"}]},
        "oneOf": {"oneOf": [schema, {"const": f"{level}"}]},
        "not": {"not": schema},
        "if": {"if": schema, "then": True, "else": {"const": f"{level}"}},
    }[way]


@pytest.mark.parametrize(
    ("way", "opening", "closing"),
    [
        ("properties", '{"a": ', "}"),
        ("items", "[", "]"),
        ("contains", "[", "]"),
        ("additionalProperties", '{"b": ', "}"),
        ("allOf", "", ""),
        ("anyOf", "", ""),
        ("oneOf", "", ""),
        ("not", "", ""),
        ("if", "", ""),
    ],
)
def test_deep_schemas_are_enforced_to_the_bottom(way: str, opening: str, closing: str) -> None:
    schema: dict[str, Any] = {"type": "integer", "maximum": 1}
    for level in range(DEEP):
        schema = one_deeper(way, schema, level)
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(opening * DEEP + "1" + closing * DEEP)
    assert not acceptor.accepts(opening * DEEP + "2" + closing * DEEP)


def test_long_chains_of_references_are_followed() -> None:
    links = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(2_000)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d2000": {"const": 1}}}
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts("1")
    assert not acceptor.accepts("2")


def test_a_deep_part_that_is_invalid_is_found_with_its_pointer() -> None:
    schema: dict[str, Any] = {"type": "wrong"}
    for _ in range(100):
        schema = {"items": schema}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == "/items" * 100 + "/type"


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_putting_off_what_lies_deep_changes_no_answer(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emptiness, "LEVELS", levels)
    schema, texts = INTERRUPTED["recursion"]
    acceptor = compile_json_schema(schema)
    assert [acceptor.accepts(text) for text in texts] == [True, True, True, False, False]
    endless = {"$ref": "#/$defs/a", "$defs": {}}
    for name, following in ("ab", "bc", "cd", "da"):
        inner = {"required": ["x"], "properties": {"x": {"$ref": f"#/$defs/{following}"}}}
        endless["$defs"][name] = {"type": "object", **inner}
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema(endless)
    endless["$defs"]["c"] = {"anyOf": [endless["$defs"]["c"], {"type": "null"}]}
    assert compile_json_schema(endless).accepts('{"x": {"x": null}}')


# Nothing half-made is left behind

INTERRUPTED: dict[str, tuple[Any, list[str]]] = {
    "objects": (
        {
            "type": "object",
            "properties": {"a": {"type": ["integer", "null"]}, "b": {"$ref": "#/$defs/t"}},
            "patternProperties": {"^x": {"type": "boolean"}, "y$": {"enum": [True, 1]}},
            "required": ["a"],
            "minProperties": 2,
            "if": {"properties": {"a": {"const": 1}}},
            "then": {"required": ["b"]},
            "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}},
        },
        ['{"a": 1, "b": {"t": {}}}', '{"a": 2, "xy": true}', '{"a": 1, "xy": true}', '{"a": 3}'],
    ),
    "arrays": (
        {
            "type": "array",
            "items": {"anyOf": [{"enum": [1, 2, "x"]}, {"type": "array", "maxItems": 1}]},
            "uniqueItems": True,
            "contains": {"const": 1},
            "minItems": 2,
        },
        ["[1, 2]", '[2, "x"]', "[1, []]", "[1, 1]", "[[2], 1]"],
    ),
    "recursion": (
        {
            "anyOf": [{"type": "null"}, {"$ref": "#/$defs/list"}, {"$ref": "#/$defs/endless"}],
            "$defs": {
                "list": {
                    "type": "object",
                    "properties": {"next": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/list"}]}},
                    "required": ["next"],
                    "additionalProperties": False,
                },
                "endless": {
                    "type": "object",
                    "properties": {"e": {"$ref": "#/$defs/endless"}},
                    "required": ["e"],
                },
            },
        },
        ["null", '{"next": null}', '{"next": {"next": null}}', '{"e": {}}', '{"next": 1}'],
    ),
    "strings": (
        {
            "type": "string",
            "pattern": "^[a-c]{2,}(?!.*d)",
            "format": "hostname",
            "not": {"enum": ["abc", "ab"]},
            "maxLength": 5,
        },
        ['"abca"', '"abc"', '"abcd"', '"abcaaa"', '"ca"'],
    ),
    "numbers": (
        {"type": "number", "multipleOf": 0.25, "minimum": -1, "not": {"multipleOf": 3}},
        ["0.25", "0.3", "3", "4", "-0.5", "-1.25"],
    ),
    "unevaluated": (
        {
            "oneOf": [
                {"properties": {"k": {"const": 1}, "p": True}, "required": ["k"]},
                {"properties": {"k": {"const": 2}, "q": True}, "required": ["k"]},
            ],
            "unevaluatedProperties": {"type": "integer"},
        },
        ['{"k": 1, "p": "x"}', '{"k": 2, "p": "x"}', '{"k": 2, "p": 1}', '{"k": 3}'],
    ),
}
"""Name -> schema, and texts of which some are documents."""


def interruptions(step: int, last: int) -> Iterator[int]:
    """So many states before the interruption: each of the first ones, then every ``step``-th."""
    yield from range(1, 12)
    yield from range(12, last, step)


def masks(acceptor: Acceptor, vocabulary: Vocabulary, text: str) -> list[bytes]:
    """The masks on the way through a text, as far as it goes."""
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    found = []
    for byte in text.encode():
        bitmap = driver.select_valid_tokens()
        found.append(bitmap.tobytes())
        if not bitmap[byte >> 5] >> (byte & 31) & 1:
            break
        driver.advance_token(byte)
    return found


@pytest.fixture
def vocabulary() -> Vocabulary:
    """The bytes, and some longer tokens."""
    longer = [b'{"', b'": ', b'", "', b"}]", b"null", b"[1", b", ", b"ab", b"abc", b'"}']
    return Vocabulary([bytes([i]) for i in range(256)] + longer + [None], eos_token_ids=[266])


def total_states(schema: Any, texts: list[str], vocabulary: Vocabulary) -> int:
    """How many states the whole of the work explores."""
    with Budget(Limits(seconds=math.inf)) as budget:
        acceptor = compile_json_schema(schema, style="any")
        for text in texts:
            acceptor.accepts(text)
            masks(acceptor, vocabulary, text)
    return budget.states


@pytest.mark.parametrize("kind", ["limit", "keyboard"])
@pytest.mark.parametrize("name", INTERRUPTED)
def test_interrupted_work_goes_on_as_if_nothing_had_been(
    name: str, kind: str, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, texts = INTERRUPTED[name]
    undisturbed = compile_json_schema(schema, style="any")
    verdicts = [undisturbed.accepts(text) for text in texts]
    expected = [masks(undisturbed, vocabulary, text) for text in texts]
    assert any(verdicts)
    assert not all(verdicts)
    del undisturbed
    gc.collect()  # languages that are known already cost nothing
    last = total_states(schema, texts, vocabulary)
    gc.collect()
    error: type[BaseException] = LimitExceededError
    if kind == "keyboard":
        error = KeyboardInterrupt

        def interrupt(budget: Budget) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(limits.Budget, "_look", interrupt)
    interrupted = 0
    for states in interruptions(max(last // 40, 1), last):
        few = Limits(states=states)
        acceptor = None
        try:
            acceptor = compile_json_schema(schema, style="any", limits=few)
        except error:
            interrupted += 1
            continue
        for text in texts:
            try:
                acceptor.accepts(text)
                masks(acceptor, vocabulary, text)
            except error:
                interrupted += 1
        with monkeypatch.context() as undone:
            if kind == "keyboard":
                undone.setattr(limits.Budget, "_look", lambda budget: None)
            acceptor.limits = Limits()
            assert [acceptor.accepts(text) for text in texts] == verdicts, states
            assert [masks(acceptor, vocabulary, text) for text in texts] == expected, states
    assert interrupted > 10
