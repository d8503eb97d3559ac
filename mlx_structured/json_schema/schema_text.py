"""A schema as the caller has it -> as JSON has it, with numbers that are exact."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias

from mlx_structured.errors import SchemaError
from mlx_structured.json_schema.pointers import join_pointer

Path: TypeAlias = "tuple[object, ...]"


def parse_schema(schema: object, uri: str | None = None) -> Any:
    """The schema as JSON has it: what the caller does to the dict later doesn't reach it.

    Arguments:
        schema: a mapping, a bool, or JSON text.
        uri: of a document of the registry, for messages.

    Raises:
        SchemaError: if it is something else, not JSON, or has a number that can't be kept exactly,
            with the place of that.
    """
    document = "" if uri is None else f"{uri}#"
    if not isinstance(schema, (str, Mapping, bool)):
        raise SchemaError(
            f"a schema is an object or a boolean, not a {type(schema).__name__}", document
        )
    try:
        text = schema if isinstance(schema, str) else _ENCODER.encode(_plain(schema))
        parsed = _DECODER.decode(text)
    except (TypeError, ValueError) as error:
        for path, reason in _refused(schema):
            raise SchemaError(reason, document + join_pointer(path)) from error
        raise SchemaError(f"not JSON: {error}", document) from error
    if not isinstance(parsed, (dict, bool)):
        raise SchemaError(
            f"a schema is an object or a boolean, not a {type(parsed).__name__}", document
        )
    return parsed


def _plain(schema: Mapping[str, Any] | bool) -> object:
    return schema if isinstance(schema, bool) else dict(schema)


def _exact(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"not JSON: the number {text} is out of range")
    if Decimal(text) != Decimal(repr(number)):
        raise ValueError(f"not JSON: the number {text} has more digits than a double keeps")
    return number


def _whole(text: str) -> int:
    """The number. Raises ``ValueError`` for one that Python doesn't read."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(_TOO_LONG.format(sys.get_int_max_str_digits())) from None


_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(parse_float=_exact, parse_constant=_exact)
_TOO_LONG = "a whole number of more than {} digits can't be read; use a shorter one"


class _Refused(str):
    """Why a number is refused, in place of it."""

    __slots__ = ()


def _refused(schema: object) -> Iterator[tuple[Path, str]]:
    """The values that are refused, with their places and why."""
    if isinstance(schema, str):
        schema = _parse_all(schema)
    seen: set[int] = set()
    stack: list[tuple[Path, object]] = [((), schema)]
    while stack:
        path, each = stack.pop()
        if isinstance(each, (Mapping, list, tuple)):
            if id(each) not in seen:
                seen.add(id(each))
                items = each.items() if isinstance(each, Mapping) else enumerate(each)
                stack += reversed([((*path, key), value) for key, value in items])
            continue
        reason = _why_refused(each)
        if reason is not None:
            yield path, reason


def _parse_all(text: str) -> object:
    """The schema with reasons in place of the numbers that are refused."""

    def marking(read: Callable[[str], object]) -> Callable[[str], object]:
        def mark(number: str) -> object:
            try:
                return read(number)
            except ValueError as error:
                return _Refused(error)

        return mark

    decoder = json.JSONDecoder(
        parse_float=marking(_exact), parse_int=marking(_whole), parse_constant=marking(_exact)
    )
    try:
        return decoder.decode(text)
    except ValueError:
        return None


def _why_refused(value: object) -> str | None:
    if isinstance(value, _Refused):
        return str(value)
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:
            return _TOO_LONG.format(sys.get_int_max_str_digits())
        return None
    if isinstance(value, float):
        return None if isfinite(value) else f"not JSON: the number {value} is out of range"
    if value is None or isinstance(value, str):
        return None
    return f"not JSON: JSON has no values of type {type(value).__name__}"
