"""Arguments of a wrong type are refused by what is taken instead."""

from __future__ import annotations

from typing import Any

import pytest

from mlx_structured import (
    JsonSchemaAcceptorDriver,
    Vocabulary,
    compile_json_schema,
    compile_regex,
)
from mlx_structured.compiler import find_unsupported


@pytest.mark.parametrize(
    ("limit", "error"),
    [(-1, ValueError), ("9", TypeError), (9.0, TypeError), (True, TypeError)],
)
def test_a_driver_takes_a_number_of_tokens_or_none(limit: Any, error: type[Exception]) -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], [256])
    with pytest.raises(error, match="max_tokens"):
        JsonSchemaAcceptorDriver(compile_json_schema(True), vocabulary, max_tokens=limit)


def test_wrong_arguments_of_the_driver_are_named() -> None:
    vocabulary = Vocabulary([b"1", None], eos_token_ids=[1])
    with pytest.raises(TypeError, match="call compile_json_schema"):
        JsonSchemaAcceptorDriver({"type": "integer"}, vocabulary)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="from_tokenizer"):
        JsonSchemaAcceptorDriver(compile_json_schema(True), [b"1"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"formats": "no"},
        {"formats": 0},
        {"formats": None},
        {"default_dialect": 7},
        {"default_dialect": None},
        {"limits": 5},
        {"limits": None},
        {"style": 2},
        {"style": None},
        {"style": ["compact"]},
        {"registry": [{"$id": "http://x/"}]},
    ],
    ids=str,
)
def test_an_option_of_the_wrong_type_says_what_it_takes(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"(a|an|is|are) .*, not "):
        compile_json_schema(True, **options)
    if "style" not in options:
        with pytest.raises(TypeError, match=", not "):
            find_unsupported(True, **options)


def test_an_option_of_the_wrong_type_is_refused_before_the_schema_is_read() -> None:
    with pytest.raises(TypeError, match="formats"):
        compile_json_schema("not JSON", formats=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [5, b"a", None])
def test_what_is_no_pattern_is_refused_by_its_type(pattern: Any) -> None:
    with pytest.raises(TypeError, match="a pattern is a str"):
        compile_regex(pattern)
    with pytest.raises(TypeError, match="limits are a Limits"):
        compile_regex("a", limits=pattern)
