"""Schemas that explode when their alternatives are multiplied out: compile and first documents.

    python scratch/exploding_schemas.py

Each row compiles one family and reads a document of it byte by byte; ``states`` is the most
configurations that ran side by side.
"""

from __future__ import annotations

import json
import time
from typing import Any

from mlx_structured import compile_json_schema
from mlx_structured.automaton.acceptor import accepts_end, advance


def families() -> dict[str, tuple[Any, Any]]:
    """Name -> (schema, a valid document)."""
    kinds = [f"kind{i}" for i in range(60)]
    return {
        "30 dependentRequired": (
            {"dependentRequired": {f"a{i}": [f"b{i}"] for i in range(30)}},
            {f"{letter}{i}": i for i in range(0, 30, 2) for letter in "ab"},
        ),
        "14 anyOf branches under unevaluatedProperties": (
            {
                "anyOf": [{"properties": {f"p{i}": {"type": "integer"}}} for i in range(14)],
                "unevaluatedProperties": False,
            },
            {f"p{i}": i for i in range(14)},
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
        "8 overlapping patterns": (
            {
                "patternProperties": {
                    f"{letter}.*{letter}": {"minimum": i} for i, letter in enumerate("abcdefgh")
                }
            },
            {"abab": 3, "hhgg": 9},
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
    }


def main() -> None:
    """Print one row a family."""
    print(f"{'family':<48} {'compile ms':>10} {'document ms':>11} {'accepted':>8} {'states':>6}")
    for name, (schema, document) in families().items():
        begin = time.perf_counter()
        acceptor = compile_json_schema(schema, style="any")
        compiled = time.perf_counter()
        reached = acceptor.begin()
        most = 0
        for byte in json.dumps(document).encode():
            reached = advance(reached, bytes([byte]))
            most = max(most, len(reached))
        read = time.perf_counter()
        print(
            f"{name:<48} {(compiled - begin) * 1e3:>10.1f} {(read - compiled) * 1e3:>11.1f} "
            f"{accepts_end(reached)!s:>8} {most:>6}"
        )


if __name__ == "__main__":
    main()
