"""Small schemas that mix keywords, values drawn for them by hypothesis-jsonschema, and judges."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import isfinite
from typing import Any

import jsonschema_rs
from generated_schemas import KEYS, KEYWORDS_OF, SCALARS, URIS, SchemaDrawer, random_value
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import InvalidArgument, Unsatisfiable
from hypothesis.internal.conjecture.utils import many
from hypothesis_jsonschema import from_schema
from jsonschema import Draft7Validator, SchemaError

from mlx_structured import UnsatisfiableSchemaError, UnsupportedSchemaError, compile_json_schema

CAN_DRAW = hasattr(many, "more")
"""Whether it can draw objects: it uses an inner part of hypothesis that 6.170 took away."""

DRAFT = "7"
"""The newest draft that hypothesis-jsonschema knows."""


def draw_schema(number: int, depth: int = 1) -> dict[str, Any]:
    """A small schema of many keywords; the same for the same number.

    It mostly asks for a type that the keywords speak of: what else is there would be valid.
    """
    rng = random.Random(number)
    drawn = SchemaDrawer(rng, DRAFT, unique=True).schema(depth)
    schema = {"$schema": URIS[DRAFT], **(drawn if isinstance(drawn, dict) else {"allOf": [drawn]})}
    spoken_of = [of for of, words in KEYWORDS_OF.items() if words & set(schema)]
    if "type" not in schema and spoken_of and rng.random() < 0.8:
        schema["type"] = rng.choice(spoken_of)
    return schema


def draw_values(schema: dict[str, Any], number: int, most: int) -> list[Any]:
    """Values that another library takes for valid; none if it finds none, or fails."""
    found: dict[str, Any] = {}

    @seed(number)
    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(from_schema(schema))
    def keep(value: Any) -> None:
        found[json.dumps(value)] = value

    try:
        keep()
    except (Unsatisfiable, InvalidArgument, AssertionError, SchemaError):
        # Its own assertions fail at times, or what it rewrites the schema to isn't one.
        return []
    return list(found.values())


def mutations(value: Any, rng: random.Random) -> Iterator[Any]:
    """The value with one thing changed, at each of its places."""
    yield rng.choice(SCALARS)
    yield [value]
    if isinstance(value, list):
        yield [*value, rng.choice(SCALARS)]
        yield [*value, *value]
        for i, item in enumerate(value):
            yield value[:i] + value[i + 1 :]
            for changed in mutations(item, rng):
                yield [*value[:i], changed, *value[i + 1 :]]
    elif isinstance(value, dict):
        yield {**value, rng.choice(KEYS): rng.choice(SCALARS)}
        for key, item in value.items():
            yield {name: each for name, each in value.items() if name != key}
            for changed in mutations(item, rng):
                yield {**value, key: changed}
    elif isinstance(value, str):
        yield value + rng.choice("ab1")
        yield value[1:]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value + rng.choice([1, -1, 0.5])


def has_rounded(value: Any) -> bool:
    """Whether a large number is another one as a double than as the text ``json.dumps`` writes.

    Validators count such a number's multiples by the double, where the text is what is generated.
    """
    if isinstance(value, float):
        return abs(value) > 2**53 and isfinite(value) and Fraction(repr(value)) != Fraction(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(has_rounded, parts))


def judged(schema: dict[str, Any]) -> Callable[[Any], bool | None]:
    """Whether a value is valid.

    ``None`` where two validators disagree, or one fails, or they look at rounded multiples.
    """
    one = Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)
    other = jsonschema_rs.Draft7Validator(schema, validate_formats=True)

    counts_multiples = '"multipleOf"' in json.dumps(schema)

    def judge(value: Any) -> bool | None:
        if counts_multiples and has_rounded(value):
            return None
        try:
            valid = bool(one.is_valid(value))
        except TypeError:  # jsonschema's additionalItems counts items, which may be a boolean
            return None
        return valid if valid == other.is_valid(value) else None

    return judge


class DisagreementError(AssertionError):
    """The acceptor judges a value otherwise than two validators."""


def compare_with_judges(
    number: int, values_each: int, counts: Counter[str], *, depth: int = 1
) -> None:
    """Compare the acceptor with two validators, on the schema of that number.

    Arguments:
        number: of the schema, see :func:`draw_schema`.
        values_each: the most values to draw for it; each is changed in up to eight ways.
        counts: where the values are counted, as valid or invalid, and what can't be compared.
        depth: of the schema.

    Raises:
        DisagreementError: with the number, the schema and the value.
    """
    schema = draw_schema(number, depth)
    acceptor = None
    try:
        acceptor = compile_json_schema(schema, style="any")
    except UnsatisfiableSchemaError:
        counts["unsatisfiable"] += 1
    except UnsupportedSchemaError as error:
        if error.keyword != "uniqueItems":  # below "not", and the like
            raise
        counts["unsupported"] += 1
        return
    is_valid = judged(schema)
    rng = random.Random(number)
    drawn_values = draw_values(schema, number, values_each) if acceptor is not None else []
    for drawn in drawn_values or [random_value(rng, 2) for _ in range(values_each)]:
        changed = list(mutations(drawn, rng))
        for value in [drawn, *rng.sample(changed, min(len(changed), 8))]:
            valid = is_valid(value)
            if valid is None:
                counts["judges disagree"] += 1
                continue
            text = json.dumps(value)
            accepted = acceptor is not None and acceptor.accepts(text)
            if accepted != valid:
                verdict = "accepted but invalid" if accepted else "valid but refused"
                raise DisagreementError(f"{verdict}: {text}; schema {number} is {schema}")
            counts["valid" if valid else "invalid"] += 1
