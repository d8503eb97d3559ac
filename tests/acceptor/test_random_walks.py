"""Whatever the masks let through, drawn at random, is a valid document; and no walk gets stuck.

The schemas are real ones; the judges are two other validators.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from shared_files import maskbench, shared
from transformers import AutoTokenizer
from walks import required_names, walk

from mlx_structured import (
    Acceptor,
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    Vocabulary,
    compile_json_schema,
)

STYLES = ("spaced", "flexible", "compact", "any", "pretty")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    folder = shared("tokenizers/deepseek")
    return Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(folder))


OTHER_LINE_ENDS = re.compile("[\\r\u2028\u2029]")
"""What ``.`` doesn't match in ECMA-262, but does in the judges' regular expressions."""


def judged(schema: Any) -> Callable[[str], bool]:
    """Whether a text's value is valid for both validators, with formats, as far as they can say."""
    is_valid = _judged_value(schema)
    if '"pattern' not in json.dumps(schema):
        return lambda text: is_valid(_loaded(text))
    return lambda text: is_valid(value := _loaded(text)) or _has_other_line_ends(value)


def _loaded(text: str) -> Any:
    return json.loads(text, parse_float=_number)


def _number(text: str) -> float | int:
    number = float(text)
    # Beyond the doubles only whole numbers are written in so few digits.
    return number if math.isfinite(number) else int(Decimal(text))


def _has_other_line_ends(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_other_line_ends, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_has_other_line_ends, value))
    return isinstance(value, str) and OTHER_LINE_ENDS.search(value) is not None


def _judged_value(schema: Any) -> Callable[[Any], bool]:
    validator = jsonschema.validators.validator_for(
        schema, default=jsonschema.Draft202012Validator
    )(schema)
    try:
        rust = jsonschema_rs.validator_for(schema, validate_formats=True)
    except jsonschema_rs.ValidationError:  # its check of the schema itself knows fewer patterns
        return lambda value: bool(validator.is_valid(value))
    if '"format"' in json.dumps(schema):
        return rust.is_valid  # jsonschema takes all formats for met, which counts below a oneOf
    return lambda value: validator.is_valid(value) and rust.is_valid(value)


def compiled(schema: Any, style: str) -> Acceptor | None:
    """The acceptor, if the schema has only enforced keywords, and a value."""
    try:
        return compile_json_schema(schema, style=style)
    except (UnsupportedSchemaError, SchemaError, UnsatisfiableSchemaError):
        return None


def walk_through(vocabulary: Vocabulary, every: int, walks: int) -> tuple[int, int]:
    """Walk on every so many of the schemas; how many walks there were, and how many had no end."""
    schemas = 0
    endless = 0
    for number, case in enumerate(maskbench()):
        style = STYLES[number // every % len(STYLES)]
        if style == "any" and "draft-04" in str(case["schema"].get("$schema")):
            style = "spaced"  # 1.0 is an integer here, in draft 4 too: one judge disagrees
        acceptor = compiled(case["schema"], style) if number % every == 0 else None
        if acceptor is None:
            continue
        schemas += 1
        is_valid = judged(case["schema"])
        required = required_names(case["schema"])
        rng = random.Random(number)
        for _ in range(walks):
            text = walk(acceptor, vocabulary, rng, required=required)
            if text is None:
                endless += 1
                continue
            assert is_valid(text.decode()), (case["name"], style, text)
            assert acceptor.accepts(text), (case["name"], style, text)
    return schemas, endless


def test_walks_on_real_schemas_end_in_valid_documents(vocabulary: Vocabulary) -> None:
    schemas, endless = walk_through(vocabulary, every=10, walks=1)
    assert schemas >= 400
    assert endless <= schemas * 0.01


@pytest.mark.slow
def test_walks_on_all_real_schemas_end_in_valid_documents(vocabulary: Vocabulary) -> None:
    schemas, endless = walk_through(vocabulary, every=1, walks=3)
    assert schemas >= 4_000
    assert endless <= schemas * 0.01
