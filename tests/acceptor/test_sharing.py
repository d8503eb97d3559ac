"""What drivers, vocabularies and threads share: masks, memory, and when it goes."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from byte_vocabulary import (
    EOS,
    OBJECT,
    TOKENS,
    allowed,
    make_vocabulary,
    readable,
)

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    Vocabulary,
    compile_json_schema,
)
from mlx_structured import driver as driver_module
from mlx_structured.automaton.array_network import ArrayNetwork
from mlx_structured.automaton.guide import GuideState
from mlx_structured.automaton.link import Configuration, Link
from mlx_structured.automaton.object_network import ObjectNetwork
from mlx_structured.automaton.utf8 import Utf8Tail
from mlx_structured.json_schema.nodes import Node, SchemaNode
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.languages.machine import Machine
from mlx_structured.limits import CACHES


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return make_vocabulary()


# Memory


@pytest.mark.parametrize("total", [0, 100_000, 1_000_000])
def test_caches_that_forget_give_the_same_masks(
    total: int, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CACHES, "total", total)
    acceptor = compile_json_schema(OBJECT)
    text = b'{"a": 12, "b": "x", "c": [1, {"a": "b"}], "d": {"e": "f"}}'
    drivers = [JsonSchemaAcceptorDriver(acceptor, vocabulary) for _ in range(2)]
    for position in range(len(text) + 1):
        for driver in drivers:
            assert allowed(driver) == readable(acceptor, text[:position]), text[:position]
            if position < len(text):
                driver.advance_token(text[position])
    late = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    assert allowed(late) == readable(acceptor, b"")


def used_driver(acceptor: Acceptor, vocabulary: Vocabulary) -> JsonSchemaAcceptorDriver:
    """A driver that has asked for masks and read a document."""
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for byte in b'{"a": 1, "b": "x", "c": {"d": [1]}}':
        driver.select_valid_tokens()
        driver.advance_token(byte)
    return driver


def test_an_acceptor_goes_when_it_is_dropped_with_all_its_states(vocabulary: Vocabulary) -> None:
    used_driver(compile_json_schema(OBJECT, style="any"), vocabulary)
    walk = driver_module._walks[vocabulary]
    gc.collect()
    lexemes = len(walk._reached)
    schema = {**OBJECT, "additionalProperties": {"minProperties": 0, "anyOf": [{"type": "object"}]}}
    schema["properties"] = {**schema["properties"], "b": {"pattern": "^[w-z]{1,7}$"}}
    acceptor = compile_json_schema(schema, style="any")
    driver = used_driver(acceptor, vocabulary)
    gone = [weakref.ref(acceptor), weakref.ref(driver._guide)]
    assert len(walk._reached) > lexemes
    del acceptor, driver
    gc.collect()
    assert [each() for each in gone] == [None] * len(gone)
    assert len(walk._reached) == lexemes


def test_nothing_of_a_schema_stays_when_its_acceptor_goes(vocabulary: Vocabulary) -> None:
    def alive() -> list[int]:
        gc.collect()
        objects = gc.get_objects()
        return [sum(isinstance(each, kind) for each in objects) for kind in (SchemaNode, Utf8Tail)]

    def use() -> None:
        inner = {"type": "object", "properties": {"b": {"type": "string", "pattern": "^[^qz]*$"}}}
        schema = {"properties": {"a": inner, "c": {"minItems": 1, "items": inner}}}
        driver = JsonSchemaAcceptorDriver(compile_json_schema(schema), vocabulary)
        for byte in '{"a": {"b": "é'.encode():
            driver.select_valid_tokens()
            driver.advance_token(byte)

    use()  # what all schemas share is made once
    before = alive()
    for _ in range(3):
        use()
    assert alive() == before


def test_the_nodes_of_a_schema_go_with_its_acceptor(vocabulary: Vocabulary) -> None:
    def nodes() -> int:
        gc.collect()
        return sum(isinstance(each, Node) for each in gc.get_objects())

    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"anyOf": [{"minLength": 1}, {"items": {}}]}},
        "required": ["a", "b"],
    }
    before = nodes()
    acceptor = compile_json_schema(schema)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for byte in b'{"a": 1, "b": [1, "x"]}':
        driver.select_valid_tokens()
        driver.advance_token(byte)
    assert nodes() > before
    del acceptor, driver
    assert nodes() == before


def test_an_acceptor_goes_at_once_without_a_garbage_collection(vocabulary: Vocabulary) -> None:
    def alive() -> dict[str, int]:
        kinds = (Node, Link, Configuration, GuideState, ObjectShape, ObjectNetwork, ArrayNetwork)
        objects = gc.get_objects()
        return {kind.__name__: sum(isinstance(o, kind) for o in objects) for kind in kinds}

    def use() -> None:
        tree = {"properties": {"a": {"type": "array", "items": {"$ref": "#"}}, "b": {"minimum": 2}}}
        schema = {**tree, "type": "object", "if": {"required": ["a"]}, "then": {"maxProperties": 3}}
        acceptor = compile_json_schema(schema)
        for text in (b'{"a": [{"a": [{}, {}]}, {"b": 3}], "x": 1}', b'{"b": 12.5}'):
            driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
            for byte in text:
                driver.select_valid_tokens()
                driver.advance_token(byte)

    use()  # what all schemas share is made once
    gc.collect()
    gc.disable()
    try:
        before = alive()
        use()
        assert alive() == before
    finally:
        gc.enable()


def test_a_sequence_goes_on_after_its_acceptor_has_forgotten(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema(OBJECT)
    driver, other = (JsonSchemaAcceptorDriver(acceptor, vocabulary) for _ in range(2))
    text = b'{"a": 12, "b": "x", "c": [1, {"a": "b"}], "d": {"e": "f"}}'
    for position, byte in enumerate(text):
        assert allowed(driver) == readable(acceptor, text[:position]), text[:position]
        driver.advance_token(byte)
        acceptor.origin.forget()
        if position % 10 == 0:
            gc.collect()
        other.advance_token(byte)
    assert driver.in_accepted_state()
    assert other.in_accepted_state()


def test_a_vocabulary_goes_when_it_is_dropped_while_the_acceptor_stays() -> None:
    acceptor = compile_json_schema(OBJECT)
    vocabulary = Vocabulary([*TOKENS, b"only here"], eos_token_ids=[EOS])
    driver = used_driver(acceptor, vocabulary)
    gone = [weakref.ref(vocabulary), weakref.ref(driver._guide)]
    del vocabulary, driver
    gc.collect()
    assert [each() for each in gone] == [None] * len(gone)
    assert acceptor.accepts('{"a": 1}')


# Threads


@pytest.fixture
def switching_often() -> Iterator[None]:
    """Lets threads interrupt each other after every few instructions."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(function: Callable[[], Any]) -> list[Any]:
    """What the function returns in each of four threads that start together."""
    barrier = threading.Barrier(4)

    def start(_: int) -> Any:
        barrier.wait()
        return function()

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(start, range(4)))


TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 40},
                "kind": {"enum": ["leaf", "branch"]},
                "size": {"type": "number", "minimum": 0.5},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["name", "kids"],
            "additionalProperties": {"type": ["integer", "null"]},
        }
    },
    "$ref": "#/$defs/tree",
}
TREE_TEXT = (
    '{"name": "éa", "kind": "leaf", "size": 1.5, "kids": [{"name": "b", "kids": []}], '
    '"x": 1, "y": null}'
)


def masks_on_the_way(acceptor: Acceptor, vocabulary: Vocabulary) -> list[bytes]:
    """The mask before each byte of a tree, and after the last."""
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    masks = [driver.select_valid_tokens().tobytes()]
    for byte in TREE_TEXT.encode():
        driver.advance_token(byte)
        masks.append(driver.select_valid_tokens().tobytes())
    return masks


@pytest.mark.usefixtures("switching_often")
@pytest.mark.parametrize("attempt", range(6))
def test_threads_that_step_the_same_graph_see_the_same_masks(attempt: int) -> None:
    style = ("spaced", "any")[attempt % 2]
    acceptor = compile_json_schema(TREE, style=style)
    # A vocabulary of its own, so that nothing is known of its tokens yet.
    tokens = [*TOKENS, f"thread {attempt}".encode()]
    vocabulary = Vocabulary(tokens, eos_token_ids=[EOS])
    found = in_threads(lambda: masks_on_the_way(acceptor, vocabulary))
    # Another one with the same masks, so that nothing found out by the threads is used.
    unused = Vocabulary([*tokens, None], eos_token_ids=[EOS])
    alone = masks_on_the_way(compile_json_schema(TREE, style=style), unused)
    assert found == [alone] * 4


@pytest.mark.usefixtures("switching_often")
def test_threads_may_compile_at_the_same_time() -> None:
    schemas: list[tuple[Any, str, bool]] = [
        ({"type": "string", "pattern": "^(a|b)*abb$", "maxLength": 9}, '"ababb"', True),
        ({"type": "string", "pattern": "^(a|b)*abb$", "minLength": 9}, '"ababb"', False),
        ({"type": "number", "minimum": 0.25, "maximum": 0.75}, "0.5", True),
        ({"allOf": [{"pattern": "x"}, {"pattern": "y"}], "type": "string"}, '"yx"', True),
        (OBJECT, '{"b": "a"}', False),
    ]
    judged = in_threads(
        lambda: [compile_json_schema(schema).accepts(text) for schema, text, _ in schemas]
    )
    assert judged == [[accepted for _, _, accepted in schemas]] * 4


@pytest.mark.usefixtures("switching_often")
def test_threads_may_use_one_acceptor_without_any_vocabulary() -> None:
    inner = {f"k{i}": {"type": "array", "items": {"$ref": "#/$defs/x"}} for i in range(30)}
    acceptor = compile_json_schema(
        {"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"properties": inner}}},
        style="compact",
    )
    members = ",".join(f'"k{i}":[{{"k{29 - i}":[]}}]' for i in range(30))
    assert in_threads(lambda: acceptor.accepts(f"[{{{members}}}]")) == [True] * 4


# Formats with a state for nearly each text


TEXTS: dict[str, Callable[[int], str]] = {
    "idn-hostname": lambda number: "".join(chr(0x430 + int(digit)) for digit in str(number)),
    "regex": lambda number: f"(?<{TEXTS['idn-hostname'](number)}>",
}


@pytest.mark.parametrize("more", [{}, {"maxLength": 90}, {"not": {"enum": ["a"]}}])
@pytest.mark.parametrize("name", TEXTS)
def test_what_was_read_of_a_format_does_not_stay(
    name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # So much that about 26 states of formats are kept.
    monkeypatch.setattr(CACHES, "total", 2**20)
    acceptor = compile_json_schema({"type": "string", "format": name, **more})
    counts = []
    for first in (11_111, 21_111, 31_111):
        for number in range(first, first + 40):
            acceptor.accepts_prefix(f'"{TEXTS[name](number)}')
        gc.collect()
        counts.append(sum(isinstance(each, Machine) for each in gc.get_objects()))
    assert max(counts) - min(counts) <= 30, counts
