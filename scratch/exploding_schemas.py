"""Schemas that explode when their alternatives are multiplied out: compile and first documents.

    python scratch/exploding_schemas.py [--only TEXT] [--seconds S] [--masks]

Each row compiles one family and reads a document of it byte by byte, in both orders of keys, in
milliseconds of CPU; ``states`` is the most configurations that ran side by side. With ``--masks``
the document is read token by token instead, with a mask at each, over the tokenizer in
``tokenizers/deepseek`` below ``$MLX_STRUCTURED_SHARED`` (by default ``../shared``).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

from transformers import AutoTokenizer

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    StructuredError,
    Vocabulary,
    compile_json_schema,
)
from mlx_structured.automaton.acceptor import accepts_end, advance

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)


class TimeIsUpError(Exception):
    """A row took longer than it may."""


def families() -> dict[str, tuple[Any, Any]]:
    """Name -> (schema, a valid document with its keys in the declared order)."""
    return {**enums(), **conditions(), **discriminators(), **patterns(), **sizes()}


def enums() -> dict[str, tuple[Any, Any]]:
    """Many values named one by one."""
    objects = [{"id": i, "name": f"name{i % 50}", "on": i % 2 == 0} for i in range(3_000)]
    named = [{"name": f"name{i}", "id": i % 50} for i in range(3_000)]
    same = [{"kind": "point", "x": i, "y": i // 2} for i in range(1_000)]
    constants = [{"const": {"id": i, "of": [i, "x"]}} for i in range(300)]
    return {
        "enum of 3000 objects told apart by a number": ({"enum": objects}, objects[2_345]),
        "enum of 3000 objects told apart by a string": ({"enum": named}, named[2_345]),
        "enum of 1000 objects told apart by the second key": ({"enum": same}, same[789]),
        "enum of 3000 strings and numbers": (
            {"enum": [f"text{i}" if i % 2 else i for i in range(3_000)]},
            "text2345",
        ),
        "enum of 300 arrays": ({"enum": [[i, [i % 7], f"{i}"] for i in range(300)]}, [5, [5], "5"]),
        "oneOf of 300 constants": ({"oneOf": constants}, constants[123]["const"]),
        "property in an enum of 3000, 10 conditions on it": (
            {
                "properties": {"a": {"enum": [f"v{i}" for i in range(3_000)]}},
                "required": ["a"],
                "allOf": [
                    {
                        "if": {
                            "properties": {"a": {"enum": [f"v{j}" for j in range(i, 3_000, 9)]}}
                        },
                        "then": {"required": [f"b{i}"]},
                    }
                    for i in range(9)
                ],
            },
            {"a": "v1234", "b1": 1},
        ),
    }


def conditions() -> dict[str, tuple[Any, Any]]:
    """What holds under a condition."""
    kinds = [f"kind{i}" for i in range(60)]
    return {
        "30 dependentRequired": (
            {"dependentRequired": {f"a{i}": [f"b{i}"] for i in range(30)}},
            {f"{letter}{i}": i for i in range(0, 30, 2) for letter in "ab"},
        ),
        "40 dependentSchemas": (
            {
                "properties": {f"a{i}": {"type": "integer"} for i in range(40)},
                "dependentSchemas": {
                    f"a{i}": {"properties": {f"a{i + 1}": {"minimum": i}}} for i in range(39)
                },
            },
            {f"a{i}": i for i in range(40)},
        ),
        "60 if kind = ...": (
            {
                "properties": {"kind": {"enum": kinds}},
                "required": ["kind"],
                "allOf": [
                    {
                        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                        "then": {"required": [f"of_{kind}"]},
                    }
                    for kind in kinds
                ],
            },
            {"kind": "kind31", "of_kind31": 1},
        ),
        "60 if kind = ..., kind last": (
            {
                "properties": {
                    **{f"of_{kind}": {"type": "integer"} for kind in kinds},
                    "kind": {"enum": kinds},
                },
                "required": ["kind"],
                "allOf": [
                    {
                        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                        "then": {"required": [f"of_{kind}"]},
                    }
                    for kind in kinds
                ],
            },
            {"of_kind31": 1, "kind": "kind31"},
        ),
        "30 if on two keys": (
            {
                "properties": {"a": {"enum": list("abcdef")}, "b": {"enum": list("uvwxy")}},
                "allOf": [
                    {
                        "if": {
                            "properties": {"a": {"const": a}, "b": {"const": b}},
                            "required": ["a", "b"],
                        },
                        "then": {"required": [f"{a}{b}"]},
                    }
                    for a in "abcdef"
                    for b in "uvwxy"
                ],
            },
            {"a": "c", "b": "w", "cw": 0},
        ),
        "14 anyOf branches under unevaluatedProperties": (
            {
                "anyOf": [{"properties": {f"p{i}": {"type": "integer"}}} for i in range(14)],
                "unevaluatedProperties": False,
            },
            {f"p{i}": i for i in range(14)},
        ),
        "12 anyOf inside arrays": (
            {
                "items": {
                    "anyOf": [
                        {"properties": {"k": {"const": i}, f"p{i}": {"type": "integer"}}}
                        for i in range(12)
                    ]
                }
            },
            [{"k": i % 12, f"p{i % 12}": i} for i in range(24)],
        ),
        "20 anyOf of two required": (
            {
                "properties": {f"a{i}": True for i in range(40)},
                "allOf": [
                    {"anyOf": [{"required": [f"a{i}"]}, {"required": [f"a{i + 20}"]}]}
                    for i in range(20)
                ],
            },
            {f"a{i}": i for i in range(40) if i % 2 == i // 20},
        ),
    }


def discriminators() -> dict[str, tuple[Any, Any]]:
    """Branches told apart by the value of a key."""
    kinds = [f"kind{i}" for i in range(60)]

    def branch(kind: str, **properties: Any) -> dict[str, Any]:
        return {
            "properties": {**properties, "kind": {"const": kind}},
            "required": ["kind", *properties],
        }

    def nested(depth: int, name: str) -> dict[str, Any]:
        if depth == 0:
            return {"type": "integer"}
        return {
            "oneOf": [branch(f"{name}{i}", value=nested(depth - 1, f"{name}{i}")) for i in range(6)]
        }

    return {
        "60 oneOf branches with a discriminator": (
            {
                "oneOf": [
                    {
                        "properties": {"kind": {"const": kind}, f"of_{kind}": {"type": "integer"}},
                        "required": ["kind", f"of_{kind}"],
                    }
                    for kind in kinds
                ]
            },
            {"kind": "kind31", "of_kind31": 1},
        ),
        "40 anyOf branches with an optional discriminator": (
            {
                "anyOf": [
                    {"properties": {"kind": {"const": kind}, f"of_{kind}": {"type": "integer"}}}
                    for kind in kinds[:40]
                ]
            },
            {"kind": "kind31", "of_kind31": 1},
        ),
        "oneOf in oneOf in oneOf, value before kind": (
            nested(3, "k"),
            {"value": {"value": {"value": 7, "kind": "k123"}, "kind": "k12"}, "kind": "k1"},
        ),
        "14 anyOf, a pattern before the kind": (
            {
                "anyOf": [
                    branch(f"k{i}", url={"type": "string", "pattern": f"^.*{letter}.*$"})
                    for i, letter in enumerate("abcdefghijklmn")
                ]
            },
            {"url": "https://example.org/n", "kind": "k13"},
        ),
        "14 oneOf, a pattern before the kind": (
            {
                "oneOf": [
                    branch(f"k{i}", url={"type": "string", "pattern": f"^.*{letter}.*$"})
                    for i, letter in enumerate("abcdefghijklmn")
                ]
            },
            {"url": "https://example.org/n", "kind": "k13"},
        ),
        "10 oneOf of patterns, no kind": (
            {
                "oneOf": [
                    {
                        "properties": {"url": {"pattern": letter}, f"p{i}": {"type": "integer"}},
                        "required": ["url", f"p{i}"],
                    }
                    for i, letter in enumerate("abcdefghij")
                ]
            },
            {"url": "https://xmpl.org/h", "p7": 1},
        ),
        "14 if url matches ...": (
            {
                "properties": {"url": {"type": "string"}},
                "allOf": [
                    {
                        "if": {"properties": {"url": {"pattern": letter}}, "required": ["url"]},
                        "then": {"required": [f"of_{letter}"]},
                    }
                    for letter in "abcdefghijklmn"
                ],
            },
            {"url": "ana", "of_a": 1, "of_n": 1},
        ),
    }


def patterns() -> dict[str, tuple[Any, Any]]:
    """Keys told apart by patterns."""
    letters = "abcdefghijkl"
    return {
        "8 overlapping patterns": (
            {
                "patternProperties": {
                    f"{letter}.*{letter}": {"minimum": i} for i, letter in enumerate("abcdefgh")
                }
            },
            {"abab": 3, "hhgg": 9},
        ),
        "12 one-letter patterns": (
            {"patternProperties": {letter: {"minimum": i} for i, letter in enumerate(letters)}},
            {"bad": 3, "kick": 10, "zz": -1},
        ),
        "12 one-letter patterns, 3 keys at least": (
            {
                "patternProperties": {letter: {"minimum": i} for i, letter in enumerate(letters)},
                "minProperties": 3,
            },
            {"bad": 3, "kick": 10, "zz": -1},
        ),
        "12 one-letter patterns under unevaluatedProperties": (
            {
                "patternProperties": {letter: {"minimum": i} for i, letter in enumerate(letters)},
                "unevaluatedProperties": False,
            },
            {"bad": 3, "kick": 10},
        ),
        "propertyNames with 10 patterns": (
            {
                "propertyNames": {
                    "anyOf": [{"pattern": f"^{letter}.*[0-9]$"} for letter in letters[:10]],
                    "not": {"pattern": "zz"},
                },
                "patternProperties": {"^[abc]": {"type": "integer"}, "9$": {"minimum": 9}},
            },
            {"abc9": 9, "foo1": "x"},
        ),
    }


def sizes() -> dict[str, tuple[Any, Any]]:
    """Many keys, and counts of keys."""
    names = [f"name{i}" for i in range(1_000)]
    return {
        "1000 keys without a name": ({"type": "object"}, {f"key {i}": i for i in range(1_000)}),
        "1000 declared properties": (
            {"properties": {name: {"type": "integer"} for name in names}},
            dict.fromkeys(names, 1),
        ),
        "1000 required properties, nothing else": (
            {
                "properties": {name: {"type": "integer"} for name in names},
                "required": names,
                "additionalProperties": False,
            },
            dict.fromkeys(names, 1),
        ),
        "50 optional names, 25 keys at least": (
            {
                "properties": {name: {"type": "integer"} for name in names[:50]},
                "additionalProperties": False,
                "minProperties": 25,
            },
            dict.fromkeys(names[:50:2], 1),
        ),
        "30 optional names, 10 keys at most, 8 of which required": (
            {
                "properties": {name: {"type": "integer"} for name in names[:30]},
                "required": names[10:18],
                "maxProperties": 10,
                "anyOf": [{"required": [name]} for name in names[20:30]],
            },
            dict.fromkeys([*names[9:18], names[25]], 1),
        ),
    }


def load_vocabulary() -> Vocabulary:
    """The tokens of DeepSeek."""
    return Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(SHARED / "tokenizers/deepseek"))


def read_bytes(acceptor: Acceptor, text: bytes) -> tuple[bool, int]:
    """Whether it is accepted, and the most configurations side by side."""
    reached = acceptor.begin()
    most = 0
    for byte in text:
        reached = advance(reached, bytes([byte]))
        most = max(most, len(reached))
    return accepts_end(reached), most


def read_tokens(acceptor: Acceptor, text: bytes, vocabulary: Vocabulary) -> tuple[bool, int]:
    """Whether the masks let the text through, and its tokens: the longest that they allow."""
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    ids = {token: number for number, token in enumerate(vocabulary.tokens) if token}
    position = count = 0
    while position < len(text):
        mask = driver.select_valid_tokens()
        sizes = range(min(16, len(text) - position), 0, -1)
        read = (ids.get(text[position : position + size]) for size in sizes)
        token = next(
            (each for each in read if each and int(mask[each >> 5]) >> (each & 31) & 1), None
        )
        if token is None:
            return False, count
        driver.advance_token(token)
        position += len(vocabulary.tokens[token] or b"")
        count += 1
    driver.select_valid_tokens()
    return driver.in_accepted_state(), count


def measure(schema: Any, document: Any, style: str, vocabulary: Vocabulary | None) -> str:
    """The columns of one style."""
    separators = (", ", ": ") if style == "spaced" else (",", ":")
    text = json.dumps(document, separators=separators).encode()
    begin = compiled = time.process_time()
    try:
        acceptor = compile_json_schema(schema, style=style)
        compiled = time.process_time()
        if vocabulary is None:
            accepted, most = read_bytes(acceptor, text)
        else:
            accepted, most = read_tokens(acceptor, text, vocabulary)
    except StructuredError as error:
        return f"{type(error).__name__ + ' ' + format(time.process_time() - begin, '.1f'):>30}"
    except TimeIsUpError:
        return f"{'more than ' + format(time.process_time() - begin, '.0f') + ' s':>30}"
    read = time.process_time()
    verdict = "" if accepted else "!"
    return (
        f"{(compiled - begin) * 1e3:>11.1f} {(read - compiled) * 1e3:>11.1f} {most:>5}{verdict:1}"
    )


def main() -> None:
    """Print one row a family."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="families whose name contains this")
    parser.add_argument("--seconds", type=int, default=20, help="the most for one style of a row")
    parser.add_argument("--masks", action="store_true", help="read token by token, with masks")
    options = parser.parse_args()
    vocabulary = load_vocabulary() if options.masks else None
    if vocabulary is not None:
        read_tokens(compile_json_schema({}), b'{"a": "b"}', vocabulary)
        read_tokens(compile_json_schema({}, style="any"), b'{"a": "b"}', vocabulary)

    def time_is_up(*_: object) -> NoReturn:
        raise TimeIsUpError

    signal.signal(signal.SIGVTALRM, time_is_up)
    columns = f"{'compile ms':>11} {'document ms':>11} {'states':>6}"
    print(f"{'family':<56}{'declared order':^30}   {'any order':^30}")
    print(f"{'':<56}{columns}   {columns}")
    for name, (schema, document) in families().items():
        if options.only not in name:
            continue
        cells = []
        for style in ("spaced", "any"):
            signal.setitimer(signal.ITIMER_VIRTUAL, options.seconds)
            cells.append(measure(schema, document, style, vocabulary))
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(f"{name:<56}{'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
